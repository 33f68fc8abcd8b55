from msgspec import structs

from engine.geometry.block import Block
from engine.geometry.border import Border
from engine.work.filtering.best_blocks import best_run_for, block_words, fastest_blocks, found_words
from tests.made_runs import ENVIRONMENT, PROBLEM, make_failure, make_result, make_simulated

DEVICE = ENVIRONMENT.device
LARGE = structs.replace(PROBLEM, width=2048, height=2048)


def runs(variant="tiled", *, problem=PROBLEM, layout="pitched", **times):
    """Return runs of a variant by its blocks: b8x8=0.2."""
    return [
        make_result(variant, time_ms, problem=problem, layout=layout, block=Block.parse(block[1:]))
        for block, time_ms in times.items()
    ]


def test_that_the_fastest_block_is_found_for_each_kernel_problem_and_layout():
    results = [
        *runs(b8x8=0.4, b32x4=0.1, b16x16=0.2),
        *runs(b8x8=0.05, b32x8=0.3, layout="packed"),
        *runs("cached", b8x8=0.6, b16x16=0.7, problem=LARGE),
        # One block alone is not the best of anything.
        *runs("naive", b16x16=0.1),
        make_failure("naive"),
        make_simulated("naive"),
        make_result("cpu-serial", 20.0),
    ]
    found = [(result.variant, str(result.block), result.layout) for result in fastest_blocks(results)]
    assert found == [
        ("tiled", "32 × 4", "pitched"),
        ("tiled", "8 × 8", "packed"),
        ("cached", "8 × 8", "pitched"),
    ]
    # The gain over the default, where that was run on the same problem.
    best = fastest_blocks(results)[0]
    assert (
        found_words(best, results, Block(16, 16)) == "32 × 4 (0.100 ms), 2.00× as fast as its default 16 × 16"
    )
    assert found_words(best, results, Block(64, 1)) == "32 × 4 (0.100 ms)"
    assert found_words(best, results, Block(32, 4)) == "32 × 4 (0.100 ms), which is its default"


def test_that_only_a_size_may_differ_of_which_the_nearest_counts():
    known = [
        *runs(b8x8=0.4, b32x4=0.1),
        *runs(b8x8=1.4, b64x4=0.9, problem=LARGE),
        *runs(b8x8=0.4, b16x2=0.2, problem=structs.replace(PROBLEM, border=Border.WRAP)),
    ]

    def best(problem, variant="tiled", layout="pitched"):
        found = best_run_for(known, DEVICE, variant, problem, layout)
        return found and block_words(found, problem)

    assert best(PROBLEM) == "32 × 4 (0.100 ms)"
    assert best(LARGE) == "64 × 4 (0.900 ms)"
    assert best(structs.replace(PROBLEM, border=Border.WRAP)) == "16 × 2 (0.200 ms)"
    assert best(structs.replace(PROBLEM, width=500)) == "32 × 4 (0.100 ms at 512 × 512)"
    for other in ("dtype", "channels", "mask_shape"):
        fields = {"dtype": "uint16", "channels": 1, "mask_shape": (5, 3)}
        changes = {other: fields[other]} | ({"anchor": (2, 1)} if other == "mask_shape" else {})
        assert best(structs.replace(PROBLEM, **changes)) is None, other
    assert best(structs.replace(PROBLEM, result_dtype="uint8")) is None
    assert best(PROBLEM, "naive") is best(PROBLEM, layout="packed") is None
