import json
from dataclasses import replace

import pytest
from msgspec import structs

from engine.errors import FileWriteError
from engine.geometry.block import Block
from engine.geometry.border import Border
from engine.results.export import FORMAT, VERSION
from engine.results.text_forms import json_text
from engine.work.filtering.best_blocks import (
    BestBlock,
    best_block_for,
    fastest_blocks,
    found_words,
    keep_best_blocks,
    load_best_blocks,
)
from tests.made_runs import ENVIRONMENT, PROBLEM, make_failure, make_result, make_simulated

DEVICE = ENVIRONMENT.device
LARGE = structs.replace(PROBLEM, width=2048, height=2048)


def runs(variant="tiled", *, problem=PROBLEM, layout="pitched", **times):
    """Return runs of a variant by its blocks: b8x8=0.2."""
    return [
        make_result(variant, time_ms, problem=problem, layout=layout, block=Block.parse(block[1:]))
        for block, time_ms in times.items()
    ]


def kept(path):
    known, note = load_best_blocks(path)
    assert note == ""
    return [one for one in known if one.device == DEVICE]


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


def test_that_the_newest_of_each_problem_is_kept_per_device(tmp_path):
    path = tmp_path / "not yet" / "best-runs.json"
    assert keep_best_blocks(path, fastest_blocks(runs(b8x8=0.4, b32x4=0.1))) == ""
    assert keep_best_blocks(path, fastest_blocks(runs(b8x8=0.4, b16x16=0.2, problem=LARGE))) == ""
    assert [str(one.block) for one in kept(path)] == ["32 × 4", "16 × 16"]
    assert keep_best_blocks(path, fastest_blocks(runs(b8x8=0.05, b32x4=0.1))) == ""
    assert [str(one.block) for one in kept(path)] == ["16 × 16", "8 × 8"]
    assert kept(path)[1] == BestBlock.of(runs(b8x8=0.05)[0])
    other = [
        replace(one, environment=replace(ENVIRONMENT, device="NVIDIA L4")) for one in runs(b8x8=1.0, b4x4=2.0)
    ]
    keep_best_blocks(path, fastest_blocks(other))
    assert {one.device for one in load_best_blocks(path)[0]} == {DEVICE, "NVIDIA L4"}
    assert load_best_blocks(tmp_path / "none.json") == ((), "")


def test_that_the_file_is_one_of_results_without_samples(tmp_path):
    path = tmp_path / "best-runs.json"
    best = fastest_blocks(runs(b8x8=0.4, b32x4=0.1))
    keep_best_blocks(path, best)
    document = json.loads(path.read_text())
    assert (document["format"], document["version"]) == (FORMAT, VERSION)
    (run,) = document["results"]
    assert run["problem"] == json.loads(json_text(best[0].as_json()))["problem"]
    assert run["timing"] == {"kernel": best[0].timing.kernel.statistics}


def changed(path, part, **fields):
    """Return the file's text with other fields of its run, or of a part of it."""
    document = json.loads(path.read_text())
    (run,) = document["results"]
    (run[part] if part else run).update(fields)
    return json.dumps(document)


DAMAGED = {
    "cut": lambda path: path.read_text()[:-30],
    "not JSON": lambda path: "hello",
    "not UTF-8": lambda path: b"\xff\xfe\x00",
    "too large": lambda path: " " * (2 << 20),
    "of another program": lambda path: '{"format": "best-runs", "version": 2, "results": []}',
    "of a later version": lambda path: '{"format": "haloscope-results", "version": 3, "results": []}',
    "no results": lambda path: '{"format": "haloscope-results", "version": 2}',
    "not a list": lambda path: '{"format": "haloscope-results", "version": 2, "results": 7}',
    "twice a key": lambda path: '{"format": "a", "format": "b"}',
    "a block of text": lambda path: changed(path, "block", x="32"),
    "no block": lambda path: changed(path, "", block=None),
    "an illegal block": lambda path: changed(path, "block", x=64, y=64),
    "a negative time": lambda path: changed(path, "timing", kernel={"median_ms": -0.1}),
    "an endless time": lambda path: changed(path, "timing", kernel={"median_ms": 10**400}),
    "an endless width": lambda path: changed(path, "problem", width=10**400),
    "a width of nothing": lambda path: changed(path, "problem", width=0),
    "another border": lambda path: changed(path, "problem", border="fog"),
    "another key": lambda path: changed(path, "problem", speed=3),
    "no device": lambda path: changed(path, "", environment={}),
}


def test_that_a_damaged_or_foreign_file_is_put_beside_the_new_one_with_a_note(tmp_path):
    for damage in DAMAGED.values():
        path = tmp_path / "best-runs.json"
        found = fastest_blocks(runs(b8x8=0.4, b32x4=0.1))
        keep_best_blocks(path, found)
        content = damage(path)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        known, note = load_best_blocks(path)
        assert known == ()
        assert str(path) in note
        assert note.endswith(".")
        assert "\n" not in note
        before = path.read_bytes()
        assert keep_best_blocks(path, found) == note
        assert [str(one.block) for one in kept(path)] == ["32 × 4"]
        assert path.with_name("best-runs.json.bak").read_bytes() == before


def test_that_a_folder_in_its_place_is_refused_in_words(tmp_path):
    (tmp_path / "file").write_text("in the way")
    found = fastest_blocks(runs(b8x8=0.4, b32x4=0.1))
    with pytest.raises(FileWriteError, match="cannot be written"):
        keep_best_blocks(tmp_path / "file" / "best-runs.json", found)
    assert load_best_blocks(tmp_path / "file" / "best-runs.json") == ((), "")


def test_that_only_a_size_may_differ_of_which_the_nearest_counts():
    known = [
        BestBlock.of(fastest_blocks(results)[0])
        for results in (
            runs(b8x8=0.4, b32x4=0.1),
            runs(b8x8=1.4, b64x4=0.9, problem=LARGE),
            runs(b8x8=0.4, b16x2=0.2, problem=structs.replace(PROBLEM, border=Border.WRAP)),
        )
    ]

    def best(problem, variant="tiled", layout="pitched"):
        found = best_block_for(known, DEVICE, variant, problem, layout)
        return found and found.words(problem)

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
