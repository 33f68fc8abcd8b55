"""`engine.matmul`, as scripts use it."""

import numpy as np
import pytest

import engine
from engine.errors import BadValue, DeviceUnavailable, UnknownName
from engine.host.executor import SimulatorExecutor

RANDOM = np.random.default_rng(8)
A, B = RANDOM.integers(-9, 10, (7, 5)), RANDOM.integers(-9, 10, (5, 6))


def test_that_numpy_and_the_cpu_multiply():
    assert np.array_equal(engine.matmul(A, B, variant="numpy"), A @ B)
    assert np.array_equal(engine.matmul(A, B, device="cpu"), A @ B)
    assert engine.matmul(A, B, variant="numpy").dtype == np.float32


@pytest.mark.slow
@pytest.mark.parametrize("variant", ["matmul-naive", "matmul-tiled", "auto"])
def test_that_the_simulator_multiplies(variant):
    assert np.array_equal(engine.matmul(A, B, variant=variant, tile=4, device="simulator"), A @ B)


@pytest.mark.parametrize(
    ("b", "options", "error", "says"),
    [
        (A, {}, BadValue, "A has 5 columns and B has 7 rows"),
        (B, {"tile": 33}, BadValue, "nearest legal tile is 32"),
        (B, {"tile": 99, "variant": "numpy"}, BadValue, "nearest legal tile is 32"),
        (B, {"tile": 2.5}, BadValue, "not a whole number from 2 to 32"),
        (B, {"variant": "tiled"}, UnknownName, "Did you mean matmul-tiled"),
        (B, {"device": "cuda:77"}, DeviceUnavailable, "no such device"),
        (B, {"device": 3}, BadValue, "a device is called by its key"),
        (B[0], {}, BadValue, "matrix B has 1 axis:"),
        (np.ones((5, 65)), {"device": "simulator"}, BadValue, "sizes up to 64"),
    ],
)
def test_that_what_cannot_be_is_refused_in_words(b, options, error, says, monkeypatch):
    monkeypatch.setattr(SimulatorExecutor, "submit", None)  # nothing is started
    with pytest.raises(error, match=says):
        engine.matmul(A, b, **options)  # type: ignore[arg-type]
