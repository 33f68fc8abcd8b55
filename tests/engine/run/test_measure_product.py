"""One product: what is refused, wrong or stopped has no speed; what has one is verified, warm and sampled."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from engine.device.cpu import cpu_info
from engine.device.cuda import simulator_info
from engine.device.devices import backend
from engine.errors import (
    BadValue,
    Cancelled,
    DeviceFault,
    DeviceUnavailable,
    OutOfDeviceMemory,
    UnsupportedVariant,
)
from engine.geometry.block import Block
from engine.results.metrics import number_of
from engine.results.strict_json import json_text
from engine.run.device_choice import device_for
from engine.run.job import Job
from engine.run.measure import Outcome, measure, unrun
from engine.run.plan import SamplingPlan
from engine.run.product import PRODUCT as TASK
from engine.run.product import ProductJob, product_job, product_jobs, refuse_unsuitable
from engine.run.sampling import Step
from engine.tasks.product.operands import random_matrices
from engine.tasks.product.problem import MatrixProduct
from engine.variants.matmul.contract import MatmulVariant
from engine.variants.registry import matmul_variant

PRODUCT = MatrixProduct(6, 9, 5)
A, B = random_matrices(PRODUCT, 1)
NAIVE, TILED, NUMPY = (matmul_variant(key) for key in ("matmul-naive", "matmul-tiled", "numpy"))
QUICK = SamplingPlan(warm_up_s=0.0, budget_s=0.0, fewest=3, most=3, fewest_copies=2)


class Writes:
    """A prepared product that writes what it is told to."""

    def __init__(self, value: float) -> None:
        self.value = value

    def launch(self, image: Any, out: np.ndarray, stream: object = None) -> None:
        out[...] = self.value


def measured(variant: MatmulVariant = NUMPY, *, seed: int = 0, **more: Any) -> Outcome:
    return measure(product_job(variant, 16, A, B, seed=seed), backend("cpu"), QUICK, **more)


def uncomputed(variant: MatmulVariant, product: MatrixProduct) -> ProductJob:
    operands: Any = None
    return Job(TASK, variant, Block(16, 16), product, operands)


def test_that_a_product_is_verified_timed_and_recorded() -> None:
    outcome = measured(seed=7)
    result = outcome.result
    assert outcome.values is not None
    assert np.array_equal(outcome.values, A @ B)
    assert result.is_proven
    assert result.verification is not None
    assert result.verification.checked_pixels == 30
    assert result.status.startswith("verified on every element")
    assert result.timing is not None
    assert len(result.timing.kernel.samples_ms) == 3
    assert result.kernel_ms == result.timing.kernel.median_ms > 0
    assert number_of(result, "gflops") == 2 * 6 * 9 * 5 / result.kernel_ms / 1e6
    assert (result.variant, result.title, result.device) == ("numpy", "numpy (BLAS)", "cpu")
    # Nobody can say what a BLAS loads.
    assert (result.tile, number_of(result, "cgma_flop_per_load"), result.work) == (None, None, None)
    assert result.seed == 7
    assert "numpy" in result.environment.versions


@pytest.mark.parametrize("value", [3.0, np.inf, np.nan])
def test_that_a_wrong_product_has_no_speed_and_says_where_it_is_wrong(value: float) -> None:
    result = measured(replace(NUMPY, prepare=lambda product, tile: Writes(value))).result
    assert not result.is_proven
    assert (result.timing, result.kernel_ms, number_of(result, "gflops")) == (None, None, None)
    assert result.status.startswith("not verified: row 0, column 0 is ")
    json_text(result.as_json())


def test_that_a_variant_that_fails_is_a_result_with_its_reason() -> None:
    def fail(product: MatrixProduct, tile: int) -> Any:
        raise OutOfDeviceMemory("Not enough", "full", "Use less")

    outcome = measured(replace(NUMPY, prepare=fail))
    assert outcome.values is None
    assert outcome.result.failure == outcome.result.status == "Not enough: full. Use less"
    assert isinstance(outcome.error, OutOfDeviceMemory)


@pytest.mark.parametrize("error", [Cancelled("stopped"), DeviceFault("lost")])
def test_that_a_stop_and_a_lost_device_are_passed_on(error: Exception) -> None:
    def fail(product: MatrixProduct, tile: int) -> Any:
        raise error

    with pytest.raises(type(error)):
        measured(replace(NUMPY, prepare=fail))


def test_that_what_runs_nowhere_here_is_refused_in_words() -> None:
    with pytest.raises(UnsupportedVariant, match="it is written for CUDA devices"):
        refuse_unsuitable(TILED, PRODUCT, 16, cpu_info())
    assert device_for(NUMPY, "cuda:3").key == "cpu"
    with pytest.raises(DeviceUnavailable):
        device_for(TILED, "cuda:99")
    with pytest.raises(BadValue, match=r"65 x 64 x 64 in the simulator.*sides up to 64"):
        refuse_unsuitable(TILED, MatrixProduct(65, 64, 64), 16, simulator_info())
    refuse_unsuitable(TILED, MatrixProduct(64, 64, 64), 16, simulator_info())
    with pytest.raises(UnsupportedVariant, match=r"nearest legal tile is 32") as caught:
        refuse_unsuitable(TILED, PRODUCT, 40, simulator_info())
    assert caught.value.nearest_block is not None
    assert caught.value.nearest_block.x == caught.value.nearest_block.y == 32


def test_that_inner_sizes_that_differ_are_refused() -> None:
    with pytest.raises(BadValue, match="these two must be equal"):
        product_job(NUMPY, 16, A, A)


def test_that_counting_needs_no_device() -> None:
    lecture = unrun(uncomputed(TILED, MatrixProduct(64, 64, 64)), None, "cuda:0", DeviceUnavailable("no GPU"))
    assert (lecture.tile, number_of(lecture, "cgma_flop_per_load"), lecture.status) == (16, 16.0, "no GPU")
    assert number_of(lecture, "lecture_limit_gflops") == pytest.approx(345.6, abs=1e-9)
    assert [number_of(lecture, key) for key in ("bandwidth_limit_gflops", "share_of_limit")] == [None, None]
    known = unrun(uncomputed(NAIVE, PRODUCT), replace(simulator_info(), bandwidth_gb_s=100.0))
    assert [number_of(known, key) for key in ("cgma_flop_per_load", "bandwidth_limit_gflops")] == [1.0, 25.0]
    assert (known.is_proven, known.status) == (False, "not run yet")


def test_that_zeros_that_fill_a_tile_do_not_count_as_work_done() -> None:
    result = unrun(uncomputed(TILED, MatrixProduct(16, 1, 16)), None)
    assert result.work is not None
    assert result.work.flops == 2 * 16 * 16 * 16
    assert number_of(result, "cgma_flop_per_load") == 2 * 16 * 16 / 32


def test_that_a_run_can_be_stopped_before_every_step() -> None:
    seen: list[str] = []

    def note(step: Step) -> None:
        seen.append(step.stage)

    measured(checkpoint=note)
    assert seen[:3] == ["compiling", "first launch", "verifying against the float64 oracle"]
    for stage in dict.fromkeys(seen):

        def stop(step: Step, stage: str = stage) -> None:
            if step.stage == stage:
                raise Cancelled("The request", "it was stopped")

        with pytest.raises(Cancelled):
            measured(checkpoint=stop)


def test_that_a_way_without_a_tile_is_one_job() -> None:
    products = [MatrixProduct(4, 4, 4), MatrixProduct(8, 8, 8)]
    jobs = list(product_jobs(products, [TILED, NUMPY], [4, 8], unmade=True))
    assert [(job.problem.rows, job.variant.key, job.block.x) for job in jobs] == [
        (4, "matmul-tiled", 4), (4, "matmul-tiled", 8), (4, "numpy", 16),
        (8, "matmul-tiled", 4), (8, "matmul-tiled", 8), (8, "numpy", 16),
    ]  # fmt: skip
