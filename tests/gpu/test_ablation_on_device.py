"""Altered teaching kernels on a real device: all are timed, and the device is as well as before."""

import numpy as np
import pytest

from bench.ncu import TEACHING
from engine.device.backend import NAN_BYTE
from engine.device.cuda_kernels import PreparedPasses
from engine.explain.ablation_results import Cost
from engine.explain.ablation_runs import ablated, without
from engine.geometry.border import Border
from engine.mask.generators import gaussian
from engine.run.measure import NO_SAMPLES, measure
from engine.run.task import Choice
from engine.work.filter_task import describe_problem
from engine.work.filtering.variants import MaskClass, variant
from tests.picture_jobs import filter_job


def job_of(key, side=1024, *, mask_side=5, border=Border.ZERO, dtype="float32"):
    chosen = variant(key)
    samples = np.random.default_rng(7).integers(0, 256, (side, side, 1)).astype(dtype)
    mask = gaussian(1 if chosen.masks is MaskClass.ONE_ROW else mask_side, mask_side, 1.0)
    problem = describe_problem(samples, mask, border, 0.0)
    return filter_job(Choice(chosen, chosen.default_block), problem, mask, samples)


def result_of(gpu, job, passes):
    """Return what passes write over NaN."""
    with gpu.selected():
        prepared, buffers = PreparedPasses(passes), job.filled(gpu)
        gpu.fill_result(buffers, NAN_BYTE)
        gpu.run(prepared, buffers)
        return gpu.download(buffers).copy()


@pytest.mark.parametrize("border", [Border.ZERO, Border.MIRROR])
@pytest.mark.parametrize("key", TEACHING)
def test_that_the_kernel_and_each_altered_one_are_timed(gpu, device, key, border):
    found = ablated(job_of(key, border=border), device, 0.0)
    assert found.reason == ""
    timed = [found.whole, *(one for one in found.altered if not one.why_not)]
    assert len(timed) >= 5
    assert all(one.kernel.median_ms > 0 for one in timed)
    # Nothing was written where it does not belong, and no fault is left behind.
    assert measure(job_of(key, border=border), gpu, NO_SAMPLES).result.is_proven


@pytest.mark.parametrize("side", [1, 7, 33])
@pytest.mark.parametrize("key", TEACHING)
def test_that_altered_kernels_run_on_pictures_smaller_than_a_block_and_a_mask(device, key, side):
    assert ablated(job_of(key, side, mask_side=9, dtype="uint8"), device, 0.0).is_timed


@pytest.mark.parametrize("key", TEACHING)
def test_that_an_altered_kernel_without_stores_stores_nothing(gpu, key):
    job = job_of(key, 257)
    assert np.isnan(result_of(gpu, job, without(job.passes, Cost.STORES))).all()


@pytest.mark.alone
def test_that_naive_is_faster_without_any_of_its_large_costs(device):
    found = ablated(job_of("naive", 4096), device)
    saves = {step.altered.cost: step.amount for step in list(found.steps())[1:-1]}
    # A fifth of its instructions and more each: an estimate without a device says so, too.
    assert saves[Cost.BORDER_TEST] > 0
