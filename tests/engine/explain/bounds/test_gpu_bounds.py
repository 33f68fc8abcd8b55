"""What is said of a run on a GPU: its tallest limit, how much of the time that is, and what removes it.

And the claim of docs/bounds.md: bounds reach half of the time in most kept runs, and none is above it.
"""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bench.executed import executed
from bench.ncu import TEACHING
from engine.explain.bounds.explained import LEAST_SHARE, explained_by
from engine.explain.gpus import ABSENT_GPUS, DEFAULT
from engine.explain.limits.device_limits import MOST_SHARE, Limit
from engine.explain.limits.kept_limits import recorded_limits
from engine.geometry.block import Block
from engine.geometry.border import Border
from engine.mask.resolve import resolve_mask
from engine.run.task import Choice
from engine.work.filter_task import describe_problem
from engine.work.filtering.variants import variant
from engine.work.operations.table import OPERATION_VARIANTS
from tests.engine.explain.jobs import operation, product, zeros
from tests.engine.variants.emitted import needs_nvvm
from tests.picture_jobs import filter_job


def needs_ptx(test):
    """Mark a test of what is counted in PTX."""
    return pytest.mark.slow(needs_nvvm(test))


RESULTS = Path(__file__).parents[4] / "bench/results"
CELLS = {"bounds-cpu": 60, "bounds-gpu": 150}
# Those of an H200, which came with the program.
LIMITS = recorded_limits()
GPU = ABSENT_GPUS[DEFAULT]


def job_of(key, mask="gaussian:5", side=2048):
    """Return what is explained: a float32 picture in grey."""
    chosen, mask = variant(key), resolve_mask(mask)
    samples = zeros(side, side, 1)
    problem = describe_problem(samples, mask, Border.ZERO, 0.0, "float32")
    return filter_job(Choice(chosen, chosen.default_block), problem, mask, samples)


def explained(key, share=None, **asked):
    """Return what is said of a run whose time the bounds explain to some part, else of one without a time."""
    job = job_of(key, **asked)
    found, _ = explained_by(job, GPU, LIMITS, None)
    return explained_by(job, GPU, LIMITS, found.least_ms / share)[0] if share else found


def explained_job(job):
    return explained_by(job, GPU, LIMITS, None)[0]


def operation_job(key, samples):
    return operation(next(one for one in OPERATION_VARIANTS if one.key == key), samples)


@pytest.mark.parametrize("name", CELLS)
def test_that_kept_bounds_reach_half_of_the_time_in_four_of_five_cells_and_none_is_above_it(name):
    for run in json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))["runs"]:
        ratios = [one["ratio"] for one in run["cells"]]
        assert len(ratios) >= CELLS[name]
        assert sum(LEAST_SHARE <= one <= 1 for one in ratios) >= 0.8 * len(ratios)
        assert max(ratios) <= MOST_SHARE
        # Times are kept to 10 ns, ratios to three digits.
        assert ratios == pytest.approx([one["least_ms"] / one["ms"] for one in run["cells"]], abs=2e-3)


@needs_ptx
def test_that_no_kernel_is_counted_with_more_instructions_than_were_executed():
    for number, key in enumerate(TEACHING):
        # One of nine cells of a mask and a block, another one of each; `python -m bench.executed` has all.
        found = [*executed(key, lambda cell, one=number % 9: cell == one)]
        assert found
        assert all(0.65 <= one <= 1.0 for one in found), key


@pytest.mark.parametrize(
    ("key", "asked", "begin", "words", "remedy"),
    [
        ("naive-uncoalesced", {"mask": "gaussian:15"}, "Bound by L1: a request takes ",
         "neighbouring threads read lines far apart", "naive"),
        ("register-blocked", {"mask": "gaussian:3", "side": 4096}, "Memory-bound: ", "", ""),
        ("separable-fused", {"mask": "gaussian:3", "side": 4096}, "Memory-bound: ", "", ""),
        ("tiled", {"mask": "gaussian:3", "side": 32}, "Bound by a launch of ", "picture is small", ""),
        ("separable-l0", {"mask": "gaussian:3", "side": 32}, "Bound by 2 launches, each of ", "", ""),
    ],
)  # fmt: skip
@needs_ptx
def test_that_the_tallest_bound_is_named_with_what_removes_it(key, asked, begin, words, remedy):
    found = explained(key, **asked)
    assert found.sentence.startswith(begin)
    assert words in found.sentence
    assert found.remedy == remedy


@needs_ptx
def test_that_naive_is_issue_bound_and_what_does_less_of_it_is_named():
    found = explained("naive", 0.85)
    assert found.sentence.startswith("Issue-bound: ")
    assert " instructions per multiply-add, " in found.sentence
    assert " of them on 64-bit integers. That takes at least 85.0 % of the time. `" in found.sentence
    assert found.sentence.endswith(" instead of 25 cells per result.")
    assert f" `{found.remedy}` reads " in found.sentence


@needs_ptx
def test_that_a_kernel_says_what_it_saves_against_another_one():
    assert explained("cached", 1.0).saves.startswith("Against `tiled`: ")


def test_that_bounds_that_reach_less_than_half_explain_nothing():
    found = explained("naive", 0.4)
    assert found.tallest.title in found.sentence
    assert "40.0 % of the time" in found.sentence
    assert (found.not_explained.code, found.remedy) == ("bounds-too-low", "")


@needs_ptx
def test_that_a_limit_that_the_run_exceeded_gives_no_bound():
    tallest = explained("naive").tallest
    found = explained("naive", 1.1)
    assert tallest.key not in {bound.key for bound in found.bounds}
    assert found.least_ms <= 1.03 * found.measured_ms
    assert "Left out: " in found.sentence
    # A little above the time is all of it.
    assert "at least 100 % of the time" in explained("naive", 1.02).sentence


@needs_ptx
def test_that_other_tasks_are_explained_unless_their_accesses_depend_on_samples():
    found = explained_job(operation_job("histogram-shared", zeros(256, 256, 1, dtype="uint8")))
    assert (found.not_explained.code, found.remedy) == ("depends-on-samples", "")
    assert explained_job(product("matmul-naive", 16, (512, 512, 512))).remedy == "matmul-tiled"
    random = np.random.default_rng(1).random((256, 256, 1), np.float32)
    assert " instructions per result" in explained_job(operation_job("median-naive", random)).sentence


@pytest.mark.parametrize(
    ("key", "mask", "shape", "per_s", "found"),
    [
        # No tile of another kernel fits into the block of the run.
        ("naive-uncoalesced", "gaussian:9", (256, 256, 1), 1e13, ("l1", "naive")),
        ("cached", "gaussian:5", (256, 256, 3), 1e12, ("instructions", "tiled")),
    ],
)
@needs_ptx
def test_that_a_remedy_is_the_nearest_kernel_in_teaching_order(key, mask, shape, per_s, found):
    mask, samples = resolve_mask(mask), zeros(*shape, dtype="uint8" if shape[2] == 3 else "float32")
    problem = describe_problem(samples, mask, Border.ZERO, 0.0, "float32")
    job = filter_job(Choice(variant(key), Block(32, 8)), problem, mask, samples)
    # Near those of an H200; instructions may be issued so fast that L1 bounds.
    limits = replace(LIMITS, blocks_per_s=None, launches_per_s=None, instructions_per_s=Limit(per_s))
    explained, _ = explained_by(job, GPU, limits, None)
    assert (explained.tallest.key, explained.remedy) == found
