"""What a whole call is estimated to take, and the words for it."""

import numpy as np
import pytest

from engine.device_info import DeviceInfo
from engine.mask.mask import Mask
from engine.work.filtering.planner import CPU_CALL_US, LEAST_GPU_CALL_US, cpu_call_us
from engine.work.problem import Problem

MASK = Mask(np.random.default_rng(1).normal(size=(5, 5)))


def cpu(cores):
    return DeviceInfo("cpu", "cpu", f"CPU, {cores} cores", facts={"cores": str(cores)})


def problem(height, width=None, mask=MASK):
    return Problem(height, width or height, mask_shape=mask.shape, anchor=mask.anchor)


def test_that_a_small_call_takes_less_than_any_of_a_gpu_and_grows_with_its_mask():
    assert CPU_CALL_US < cpu_call_us(problem(64), MASK, cpu(2)) < LEAST_GPU_CALL_US
    masks = [Mask(np.random.default_rng(side).normal(size=(side, side))) for side in (3, 9, 15, 31)]
    for shape in [(2048, 2048), (16, 100_000), (100_000, 16)]:
        times = [cpu_call_us(problem(*shape, mask), mask, cpu(2)) for mask in masks]
        assert times == sorted(times)


def test_that_slow_cores_take_as_much_longer():
    waits = cpu_call_us(problem(2048), MASK, cpu(4), 0.0)
    once, thrice = (cpu_call_us(problem(2048), MASK, cpu(4), slowness) - waits for slowness in (1.0, 3.0))
    assert thrice == pytest.approx(3 * once)


def test_that_more_cores_help_a_large_picture_and_not_a_strip_of_a_few_rows():
    assert cpu_call_us(problem(4096), MASK, cpu(16)) < cpu_call_us(problem(4096), MASK, cpu(2)) / 4
    assert cpu_call_us(problem(16, 2000), MASK, cpu(16)) == cpu_call_us(problem(16, 2000), MASK, cpu(1))
