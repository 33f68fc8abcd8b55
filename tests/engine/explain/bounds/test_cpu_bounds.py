"""Bounds of the CPU variants: what the code does, over what the processor does per second at most."""

from dataclasses import asdict, replace

import numpy as np
import pytest

from engine.device.device_list import cpu_info
from engine.device.per_thread import launch_cores
from engine.explain.bounds import explained
from engine.explain.bounds.cpu_bounds import cpu_time
from engine.explain.bounds.explained import explained_by
from engine.explain.limits.device_limits import DeviceLimits, Limit
from engine.geometry.border import Border
from engine.mask.mask import Mask
from engine.run.task import Choice
from engine.variants.cpu.register_tiles import VECTOR
from engine.work.filter_task import describe_problem
from engine.work.filtering.variants import VARIANTS, MaskClass, variant
from tests.picture_jobs import filter_job

LIMITS = DeviceLimits(
    "CPU", Limit(3e10), Limit(2e11), Limit(1e11), core_multiply_adds_per_s=Limit(5e10),
    launches_per_s=Limit(1e6), scalar_multiply_adds_per_s=Limit(8e9),
    converted_multiply_adds_per_s=Limit(6e9), vector_operations_per_s=Limit(1e10),
    vector_loads_per_s=Limit(6e9), vector_stores_per_s=Limit(3e9),
    cores=launch_cores(), vector_bits=32 * VECTOR,
)  # fmt: skip
# A new one says in `loops` what its loops do.
COMPILED = tuple(one.key for one in VARIANTS.on("cpu") if not one.library)


def job_of(key, side=5, dtype="float32", result="float32", shape=(256, 320, 1)):
    """Return what is explained: a variant with a mask that it takes."""
    chosen = variant(key, takes_auto=False)
    weights = np.random.default_rng(1).random((side, side))
    if chosen.masks is MaskClass.PRODUCTS:
        # Symmetric, as most masks are.
        line = np.hanning(side + 2)[1:-1]
        weights = np.outer(line, line)
    elif chosen.masks is MaskClass.EQUAL_WEIGHTS:
        weights = np.full((side, side), 1 / side**2)
    mask = Mask(weights)
    samples = np.broadcast_to(np.zeros((), dtype), shape)
    problem = describe_problem(samples, mask, Border.ZERO, 0.0, result)
    return filter_job(Choice(chosen, chosen.default_block), problem, mask, samples)


def bound_of(job, key):
    """Return a bound by its key; None where there is none."""
    return next((one for one in cpu_time(job, LIMITS).bounds if one.key == key), None)


def made_by(found):
    """Return the multiply-adds of all loops for each result, one at a time or with vectors."""
    return sum(
        value for one in found.loops for name, value in asdict(one).items() if name.endswith("multiply_adds")
    )


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", "uint8", "uint16"])
@pytest.mark.parametrize("side", [3, 5, 9, 17])
@pytest.mark.parametrize("key", [key for key in COMPILED if key != "cpu-box"])
def test_that_loops_make_the_multiply_adds_of_the_model_of_work(key, side, dtype):
    # Rows that two bands share are taken twice.
    job = job_of(key, side, dtype)
    modelled = job.variant.work(job.problem, job.block).flops / 2 / job.problem.samples
    made = made_by(cpu_time(job, LIMITS))
    added_first = side // 2 if key == "cpu-separable" and dtype != "float32" else 0
    assert modelled - added_first <= made <= 1.5 * modelled


@pytest.mark.slow
@pytest.mark.parametrize("side", [3, 15, 63])
def test_that_sums_of_a_box_grow_with_the_digits_of_its_width_alone(side):
    found = cpu_time(job_of("cpu-box", side), LIMITS)
    # A weight and two additions for each sample, three for each digit to the base 4 and for its next sums.
    digits = {3: 1, 15: 2, 63: 3}[side]
    whole = sum(one.operations for one in found.loops)
    assert 3 + 3 * digits - 1 <= whole <= 1.6 * (4 + 6 * digits)


@pytest.mark.slow
def test_that_bounds_follow_from_amounts_and_rates_the_tallest_first_and_passes_take_no_less():
    for key in COMPILED:
        found = cpu_time(job_of(key), LIMITS)
        times = [one.ms for one in found.bounds]
        assert times == sorted(times, reverse=True)
        assert min(times) > 0
        assert times == pytest.approx([1e3 * one.amount / one.per_s for one in found.bounds], rel=1e-12)
        # Sums of the same terms in another order.
        assert found.least_ms >= times[0] * (1 - 1e-12)


@pytest.mark.slow
def test_that_a_variant_of_one_thread_has_the_rate_of_one_core():
    # Core rates of half of all cores, whatever number of them there is here.
    limits = replace(LIMITS, cores=2)
    found = {one.key: one for one in cpu_time(job_of("cpu-serial"), limits).bounds}
    assert found["scalar-multiply-adds"].per_s == LIMITS.scalar_multiply_adds_per_s.measured / 2
    assert found["scalar-multiply-adds"].amount == 256 * 320 * 25


@pytest.mark.slow
def test_that_a_call_comes_before_the_work():
    found = cpu_time(job_of("cpu-serial", 3, shape=(4, 4, 1)), LIMITS)
    assert found.bounds[0].key == "launch"
    assert found.least_ms > found.bounds[0].ms == 1e-3


@pytest.mark.slow
def test_that_a_limit_that_was_not_measured_gives_no_bound():
    limits = replace(LIMITS, scalar_multiply_adds_per_s=None, launches_per_s=None)
    assert {one.key for one in cpu_time(job_of("cpu-serial"), limits).bounds} == {"copy"}


def test_that_a_library_is_bounded_by_its_bytes_alone():
    assert [one.key for one in cpu_time(job_of("cpu-fft", 17), LIMITS).bounds] == ["copy"]


def test_that_bounds_that_reach_less_than_half_explain_nothing():
    explained, _ = explained_by(job_of("cpu-fft", 17), cpu_info(), LIMITS, 100.0)
    assert "at least 0.0" in explained.sentence
    assert explained.not_explained.code == "bounds-too-low"


@pytest.mark.slow
def test_that_textbook_loops_multiply_one_at_a_time_and_another_variant_removes_it():
    job = job_of("cpu-serial")
    explained, _ = explained_by(job, cpu_info(), LIMITS, cpu_time(job, LIMITS).least_ms / 0.6)
    assert explained.sentence.startswith("Bound by multiply-adds one at a time, 25 for each result. ")
    assert "60.0 % of the time" in explained.sentence
    assert explained.remedy == "cpu-parallel"


@pytest.mark.slow
def test_that_a_product_taken_as_any_mask_is_told_of_the_variant_with_fewer_multiply_adds():
    product = job_of("cpu-separable", 15, shape=(512, 512, 1))
    job = replace(product, variant=variant("cpu-parallel", takes_auto=False))
    explained, _ = explained_by(job, cpu_info(), LIMITS, None)
    assert explained.remedy == "cpu-separable"
    assert "`cpu-separable` makes 30 instead of 225 multiply-adds" in explained.sentence


@pytest.mark.slow
def test_that_the_best_variant_is_told_of_no_other():
    explained, _ = explained_by(job_of("cpu-parallel", 5), cpu_info(), LIMITS, None)
    assert explained.remedy == ""


@pytest.mark.slow
def test_that_a_limit_that_a_run_exceeded_is_measured_again_and_then_left_out(monkeypatch):
    job, kept = job_of("cpu-parallel", 5), []
    low = replace(LIMITS, multiply_adds_per_s=Limit(1.0))
    monkeypatch.setattr(explained, "limits_of", lambda device: low)
    monkeypatch.setattr(explained, "keep", lambda device, limits: kept.append(limits))
    measured_ms = 2 * cpu_time(job, LIMITS).least_ms
    # What is measured again is right: nothing is left out.
    monkeypatch.setattr(explained, "answer", lambda request, report: LIMITS)
    found = explained.explained_time(job, cpu_info(), measured_ms)
    assert found.bounds == cpu_time(job, LIMITS).bounds
    assert kept.pop() == LIMITS
    # It is as low as before.
    monkeypatch.setattr(explained, "answer", lambda request, report: low)
    found = explained.explained_time(job, cpu_info(), measured_ms)
    assert "multiply-adds" not in {bound.key for bound in found.bounds}
    assert found.share <= 1.03
    assert kept.pop().multiply_adds_per_s is None
