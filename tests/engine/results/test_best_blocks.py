from msgspec import structs

from engine.geometry.block import Block
from engine.work.columns import fastest_blocks, found_words
from tests.made_runs import PROBLEM, make_failure, make_result, make_simulated

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
