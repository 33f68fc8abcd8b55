"""A sample that nobody writes is seen, whatever the type of the result."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from engine.device.cpu import CpuBackend
from engine.mask.mask import Mask
from engine.run.job import filter_job
from engine.run.measure import Outcome, measure
from engine.run.poisoning import WHOLE_NUMBER_FILLS, run_on_poison
from engine.run.resolve import describe_problem
from engine.run.sampling import NO_SAMPLES
from engine.tasks.filtering.problem import Problem
from engine.variants.auto.planner import Choice
from engine.variants.registry import variant

IMAGE = np.random.default_rng(3).integers(0, 256, (5, 6, 3), np.uint8)
MASK = Mask([[1.0]])
SERIAL = variant("cpu-serial")


class Skipping:
    """`cpu-serial`, launched and counted; one sample of its result is put back."""

    def __init__(self, problem: Problem, at: tuple[int, int, int] | None = None) -> None:
        self._prepared, self._at = SERIAL.prepare(problem, MASK, SERIAL.default_block), at
        self.launches = 0

    def launch(self, image: Any, out: Any, stream: Any = None) -> None:
        self.launches += 1
        before = None if self._at is None else out[self._at]
        self._prepared.launch(image, out, stream)
        if self._at is not None:
            out[self._at] = before


def problem_of(image: np.ndarray) -> Problem:
    return describe_problem(image, MASK, "zero", 0.0, image.dtype.name)


def measured(image: np.ndarray, at: tuple[int, int, int]) -> Outcome:
    skipping = replace(SERIAL, prepare=lambda problem, mask, block: Skipping(problem, at))
    job = filter_job(Choice(skipping, SERIAL.default_block), problem_of(image), MASK, image)
    return measure(job, CpuBackend(), NO_SAMPLES)


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float32"])
def test_that_a_skipped_sample_has_no_speed(dtype):
    result = measured(IMAGE.astype(dtype), (3, 4, 1)).result
    assert (result.is_proven, result.timing) == (False, None)
    assert result.status.startswith("not verified: row 3, column 4, channel 1 is ")


@pytest.mark.parametrize("fill", WHOLE_NUMBER_FILLS)
def test_that_a_skipped_sample_is_seen_where_a_fill_happens_to_be_right(fill):
    assert measured(np.full_like(IMAGE, fill), (0, 0, 0)).result.status == (
        "not verified: row 0, column 0, channel 0 is 85 and, in a second run over another fill, 170: "
        "it is unwritten, or not always the same"
    )


@pytest.mark.parametrize(("dtype", "launches"), [("uint8", 2), ("uint16", 2), ("float32", 1)])
def test_that_a_whole_result_has_no_fault_and_float32_is_launched_once(dtype, launches):
    image, machine = IMAGE.astype(dtype), CpuBackend()
    counted = Skipping(problem_of(image))
    values, launch_ms, fault = run_on_poison(counted, machine.allocate(image, result_dtype=dtype), machine)
    assert (fault, counted.launches, launch_ms > 0, values.dtype) == ("", launches, True, dtype)
    assert np.array_equal(values, image)
