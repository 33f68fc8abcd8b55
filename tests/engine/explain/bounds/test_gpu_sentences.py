"""What is said of a run on a GPU: its tallest limit, how much of the time that is, and what removes it."""

from dataclasses import replace

import numpy as np
import pytest

from engine.explain.bounds.explained import explained_subject
from engine.explain.counts.counting import buffers_of
from engine.explain.gpus import ABSENT_GPUS, DEFAULT
from engine.explain.limits.kept_limits import recorded_limits
from engine.explain.subject import Subject
from engine.geometry.border import Border
from engine.mask.resolve import resolve_mask
from engine.work.filter_task import describe_problem
from engine.work.filtering.variants import variant
from engine.work.operations.variants import OPERATION_VARIANTS
from tests.engine.explain.jobs import operation, product, zeros
from tests.engine.variants.emitted import NEEDS_NVVM

pytestmark = [*NEEDS_NVVM, pytest.mark.slow]

# Those of an H200, which came with the program.
LIMITS = recorded_limits()
GPU = ABSENT_GPUS[DEFAULT]


def subject_of(key, mask="gaussian:5", side=2048):
    """Return what is explained: a float32 picture in grey."""
    chosen, mask = variant(key), resolve_mask(mask)
    problem = describe_problem(zeros(side, side, 1), mask, Border.ZERO, 0.0, "float32")
    return Subject(chosen, problem, mask, chosen.default_block, GPU)


def explained(key, share=None, **asked):
    """Return what is said of a run whose time the bounds explain to some part, else of one without a time."""
    subject = subject_of(key, **asked)
    found = explained_subject(subject, LIMITS, None)
    return explained_subject(subject, LIMITS, found.least_ms / share) if share else found


def test_that_rows_read_across_are_bound_by_their_transactions_and_naive_removes_it():
    found = explained("naive-uncoalesced", mask="gaussian:15")
    assert found.sentence.startswith("Bound by L1: a request takes ")
    assert "neighbouring threads read lines far apart" in found.sentence
    assert found.remedy == "naive"


def test_that_naive_is_issue_bound_with_instructions_for_each_multiply_add():
    found = explained("naive", 0.85)
    assert found.sentence.startswith("Issue-bound: ")
    assert " instructions per multiply-add, " in found.sentence
    assert " of them on 64-bit integers. That takes at least 85.0 % of the time. `" in found.sentence


def test_that_the_variant_that_removes_it_is_named_with_what_it_does_less_of():
    found = explained("naive")
    assert found.sentence.endswith(" instead of 25 cells per result.")
    assert f" `{found.remedy}` reads " in found.sentence


@pytest.mark.parametrize("key", ["register-blocked", "separable-fused"])
def test_that_a_kernel_that_moves_every_sample_once_is_bound_by_memory(key):
    found = explained(key, mask="gaussian:3", side=4096)
    assert found.sentence.startswith("Memory-bound: ")
    assert found.remedy == ""


def test_that_a_small_picture_is_bound_by_its_launch():
    found = explained("tiled", mask="gaussian:3", side=32)
    assert found.tallest.key == "launch"
    assert "the picture is small" in found.sentence


def test_that_two_passes_take_two_launches():
    found = explained("separable-l0", mask="gaussian:3", side=32)
    assert found.sentence.startswith("Bound by 2 launches, each of ")


def test_that_bounds_that_reach_less_than_half_explain_nothing():
    found = explained("naive", 0.4)
    assert found.tallest.title in found.sentence
    assert "40.0 % of the time" in found.sentence
    assert (found.not_explained.code, found.remedy) == ("bounds-too-low", "")


def test_that_a_limit_that_the_run_exceeded_gives_no_bound():
    tallest = explained("naive").tallest
    found = explained("naive", 1.1)
    assert tallest.key not in {bound.key for bound in found.bounds}
    assert found.least_ms <= 1.03 * found.measured_ms
    assert "Left out: " in found.sentence


def test_that_bounds_a_little_above_the_time_are_all_of_it():
    assert "at least 100 % of the time" in explained("naive", 1.02).sentence


def test_that_a_kernel_whose_accesses_depend_on_samples_says_so():
    chosen = next(one for one in OPERATION_VARIANTS if one.key == "histogram-shared")
    job = operation(chosen, zeros(256, 256, 1, dtype="uint8"))
    subject = Subject(chosen, job.problem, None, job.block, GPU)
    found = explained_subject(subject, LIMITS, None, buffers_of(job))
    assert found.not_explained.code == "depends-on-samples"
    assert not found.remedy


def test_that_a_matrix_product_is_told_what_loads_less():
    job = product("matmul-naive", 16, (512, 512, 512))
    found = explained_subject(
        Subject(job.variant, job.problem, None, job.block, GPU), LIMITS, None, buffers_of(job)
    )
    assert found.remedy == "matmul-tiled"


def test_that_a_median_has_instructions_per_result():
    chosen = next(one for one in OPERATION_VARIANTS if one.key == "median-naive")
    random = np.random.default_rng(1).random((256, 256, 1), np.float32)
    job = operation(chosen, random)
    subject = Subject(chosen, job.problem, None, job.block, GPU)
    found = explained_subject(subject, LIMITS, None, buffers_of(job))
    assert " instructions per result" in found.sentence


def test_that_a_bound_is_positive_and_the_tallest_comes_first():
    times = [one.ms for one in explained("tiled").bounds]
    assert times == sorted(times, reverse=True)
    assert min(times) > 0


def test_that_amount_and_rate_give_no_more_than_the_time_of_a_bound():
    # The busiest multiprocessor may have more than the mean.
    for one in explained("tiled").bounds:
        assert 1e3 * one.amount / one.per_s <= one.ms * (1 + 1e-12)


def test_that_a_limit_that_was_not_measured_gives_no_bound():
    limits = replace(LIMITS, instructions_per_s=None)
    keys = {one.key for one in explained_subject(subject_of("naive"), limits, None).bounds}
    assert "instructions" not in keys
