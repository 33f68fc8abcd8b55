"""Products of matrices asked of the real host: counted at once, measured in order, simulated elsewhere."""

import threading

import pytest

from engine.errors import BadValue, Cancelled, UnknownName
from engine.host.messages import Progress
from engine.host.protocol import CountMatmul, RunMatmul
from engine.results.measurement import ProductResult
from engine.results.metrics import number_of
from engine.tasks.product.problem import MatrixProduct
from tests.engine.host.conftest import PATIENCE_S, Watched

SMALL = MatrixProduct(5, 7, 6)


def test_that_what_can_be_counted_is_answered_for_every_cell(calm: Watched) -> None:
    product = MatrixProduct(64, 64, 64)
    request = CountMatmul(product, (4, 16), "simulator")
    counted: tuple[ProductResult, ...] = calm.client.submit(request).result(PATIENCE_S)
    assert [(r.variant, r.tile, number_of(r, "cgma_flop_per_load")) for r in counted] == [
        ("matmul-naive", 4, 1.0),
        ("matmul-naive", 16, 1.0),
        ("matmul-tiled", 4, 4.0),
        ("matmul-tiled", 16, 16.0),
        ("numpy", None, None),
    ]
    assert {r.failure for r in counted} == {""}
    assert {r.verification for r in counted} == {None}


def test_that_what_cannot_run_is_counted_with_the_reason(calm: Watched) -> None:
    request = CountMatmul(MatrixProduct(65, 4, 4), (8,), "simulator")
    naive, tiled, numpy = calm.client.submit(request).result(PATIENCE_S)
    assert "sizes up to 64" in naive.failure
    assert "sizes up to 64" in tiled.failure
    assert number_of(tiled, "cgma_flop_per_load") is not None
    assert numpy.failure == ""


def test_that_a_product_is_verified_and_timed_with_progress_on_the_way(calm: Watched) -> None:
    stages: list[str] = []

    def note(progress: Progress) -> None:
        stages.append(progress.stage)

    request = RunMatmul(MatrixProduct(40, 30, 20), "numpy", budget_s=0.01, seed=3)
    result: ProductResult = calm.client.submit(request, note).result(PATIENCE_S)
    assert result.is_proven, result.status
    assert number_of(result, "gflops") is not None
    assert (result.seed, result.device, result.tile) == (3, "cpu", None)
    assert stages[0] == "making the matrices"
    assert "verifying against the float64 oracle" in stages


def test_that_the_simulators_process_multiplies_and_does_not_time(calm: Watched) -> None:
    request = RunMatmul(SMALL, "matmul-tiled", 4, "simulator")
    assert request.wants_simulator
    assert not RunMatmul(SMALL, "numpy").wants_simulator
    result: ProductResult = calm.client.submit(request).result(PATIENCE_S)
    assert result.is_proven, result.status
    assert (result.device, result.tile, result.timing) == ("simulator", 4, None)
    assert len(calm.hosts) == 1


def test_that_a_product_can_be_stopped(calm: Watched) -> None:
    begun = threading.Event()
    request = RunMatmul(MatrixProduct(300, 300, 300), "numpy", budget_s=60.0)
    future = calm.client.submit(request, lambda progress: begun.set())
    assert begun.wait(PATIENCE_S)
    calm.client.cancel(future)
    with pytest.raises(Cancelled):
        future.result(PATIENCE_S)


def test_that_what_cannot_be_is_told_in_words(calm: Watched) -> None:
    with pytest.raises(UnknownName, match="no way to multiply"):
        calm.client.submit(RunMatmul(SMALL, "fast")).result(PATIENCE_S)
    with pytest.raises(BadValue, match="the limit is"):
        calm.client.submit(RunMatmul(MatrixProduct(40_000, 40_000, 40_000), "numpy")).result(PATIENCE_S)
    assert calm.lost == []
