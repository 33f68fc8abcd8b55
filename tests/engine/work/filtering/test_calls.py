"""What a whole call is estimated to take, and the words for it."""

import numpy as np
import pytest

from engine.device_info import DeviceInfo
from engine.mask.mask import Mask
from engine.work.filtering.planner import (
    CPU_CALL_US,
    LAUNCH_US,
    LEAST_GPU_CALL_US,
    cpu_call_us,
    gpu_call_us,
    kernel_us,
)
from engine.work.problem import Problem

MASK = Mask(np.random.default_rng(1).normal(size=(5, 5)))
GPU = DeviceInfo("cuda:0", "cuda", "a GPU")


def cpu(cores):
    return DeviceInfo("cpu", "cpu", f"CPU, {cores} cores", facts={"cores": str(cores)})


def problem(height, width=None, mask=MASK):
    return Problem(height, width or height, mask_shape=mask.shape, anchor=mask.anchor)


def test_that_a_call_of_a_gpu_takes_copies_a_launch_and_its_kernel():
    kernel = kernel_us(problem(512), MASK, GPU)
    assert gpu_call_us(problem(512), MASK, GPU, 300.0) == 300.0 + LAUNCH_US + kernel


def test_that_a_small_call_takes_less_than_any_call_of_a_gpu():
    assert CPU_CALL_US < cpu_call_us(problem(64), MASK, cpu(2)) < LEAST_GPU_CALL_US


@pytest.mark.parametrize("shape", [(2048, 2048), (16, 100_000), (100_000, 16)])
def test_that_a_call_grows_with_its_mask(shape):
    times = [
        cpu_call_us(problem(*shape, mask), mask, cpu(2))
        for mask in (Mask(np.random.default_rng(side).normal(size=(side, side))) for side in (3, 9, 15, 31))
    ]
    assert times == sorted(times)


def test_that_slow_cores_take_as_much_longer():
    waits = cpu_call_us(problem(2048), MASK, cpu(4), 0.0)
    once, thrice = (cpu_call_us(problem(2048), MASK, cpu(4), slowness) - waits for slowness in (1.0, 3.0))
    assert thrice == pytest.approx(3 * once)


def test_that_more_cores_help_a_large_picture():
    assert cpu_call_us(problem(4096), MASK, cpu(16)) < cpu_call_us(problem(4096), MASK, cpu(2)) / 4


def test_that_a_strip_of_a_few_rows_has_no_work_for_many_cores():
    assert cpu_call_us(problem(16, 2000), MASK, cpu(16)) == cpu_call_us(problem(16, 2000), MASK, cpu(1))
