"""A sample that nobody writes is seen, whatever the type of the result."""

from typing import Any

import numpy as np
import pytest

from engine.device.cpu import CpuBackend
from engine.mask.mask import Mask
from engine.run.job import filter_job
from engine.run.measure import measure
from engine.run.poisoning import WHOLE_NUMBER_FILLS, run_on_poison
from engine.run.resolve import describe_problem
from engine.run.sampling import NO_SAMPLES
from engine.variants.auto.planner import Choice
from engine.variants.registry import variant
from tests.engine.run.skipping import Skipping, skipping_serial

IMAGE = np.random.default_rng(3).integers(0, 256, (5, 6, 3), np.uint8)
MASK = Mask([[1.0]])
SERIAL = variant("cpu-serial")


def problem_of(image: np.ndarray) -> Any:
    return describe_problem(image, MASK, "zero", 0.0, image.dtype.name)


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float32"])
def test_that_a_skipped_sample_has_no_speed(dtype: str) -> None:
    image = IMAGE.astype(dtype)
    skipping = skipping_serial((3, 4, 1))
    job = filter_job(Choice(skipping, SERIAL.default_block), problem_of(image), MASK, image)
    outcome = measure(job, CpuBackend(), NO_SAMPLES)
    assert outcome.result.verification is not None
    assert not outcome.result.verification.passed
    assert outcome.result.timing is None
    assert outcome.result.status.startswith("not verified: row 3, column 4, channel 1 is ")


@pytest.mark.parametrize("fill", WHOLE_NUMBER_FILLS)
def test_that_a_skipped_sample_is_seen_where_a_fill_happens_to_be_right(fill: int) -> None:
    image = np.full_like(IMAGE, fill)
    choice = Choice(skipping_serial((0, 0, 0)), SERIAL.default_block)
    outcome = measure(filter_job(choice, problem_of(image), MASK, image), CpuBackend(), NO_SAMPLES)
    assert outcome.result.status == (
        "not verified: row 0, column 0, channel 0 is 85 and, in a second run over another fill, 170: "
        "it is unwritten, or not always the same"
    )


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float32"])
def test_that_a_whole_result_has_no_fault(dtype: str) -> None:
    image, machine = IMAGE.astype(dtype), CpuBackend()
    prepared = SERIAL.prepare(problem_of(image), MASK, SERIAL.default_block)
    values, launch_ms, fault = run_on_poison(prepared, machine.allocate(image, result_dtype=dtype), machine)
    assert fault == ""
    assert launch_ms > 0
    assert values.dtype == dtype
    assert np.array_equal(values, image)


def test_that_a_float32_result_is_launched_once() -> None:
    machine, counted = CpuBackend(), Skipping(SERIAL.prepare(problem_of(IMAGE), MASK, SERIAL.default_block))
    run_on_poison(counted, machine.allocate(IMAGE, result_dtype=np.uint8), machine)
    assert counted.launches == 2
    floats = IMAGE.astype(np.float32)
    counted = Skipping(SERIAL.prepare(problem_of(floats), MASK, SERIAL.default_block))
    run_on_poison(counted, machine.allocate(floats), machine)
    assert counted.launches == 1
