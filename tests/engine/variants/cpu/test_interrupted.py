"""Ctrl+C in the middle of a long launch on the CPU: it is seen, and nothing is written afterwards."""

import _thread
import signal
import threading
from unittest.mock import Mock

import numpy as np
import pytest

from engine.errors import EngineError
from engine.geometry.block import Block
from engine.mask.mask import Mask
from engine.variants import matmul
from engine.variants.cpu import serial
from engine.variants.fast import fft
from engine.variants.fast.fft import SpectralFilter
from engine.work.filter_task import describe_problem
from engine.work.problem import Problem

RANDOM = np.random.default_rng(7)


def then_interrupted(call, after):
    """Return a call that sends Ctrl+C once it was called so often, as the system does."""
    calls = []

    def called(*arguments, **named):
        answer = call(*arguments, **named)
        calls.append(1)
        if len(calls) == after:
            _thread.interrupt_main()
        return answer

    return called


def interrupt(monkeypatch, loops, name, after):
    """Let a compiled function of these loops send Ctrl+C once it was called so often."""
    function = getattr(loops, name)

    def call(*arguments):
        real = function.call(*arguments)
        return Mock(wraps=real, side_effect=then_interrupted(real, after))

    monkeypatch.setattr(loops, name, Mock(call=call))


COLUMN, ROW = RANDOM.standard_normal(6), RANDOM.standard_normal(5)


@pytest.mark.parametrize(
    ("loops", "weights", "multiply_adds"),
    [(serial.VARIANT, RANDOM.standard_normal((6, 5)), 30), (serial.SEPARABLE, np.outer(COLUMN, ROW), 6)],
    ids=["plain loops", "two passes"],
)
@pytest.mark.parametrize("border", ["zero", "mirror", "wrap"])
def test_that_serial_loops_give_the_same_however_many_rows_a_call_has(
    border, loops, weights, multiply_adds, monkeypatch
):
    image, mask = RANDOM.standard_normal((23, 9, 3)).astype(np.float32), Mask(weights, anchor=(1, 4))
    problem = describe_problem(image, mask, border, 0.0)
    results = []
    for rows in (23, 5, 1):
        monkeypatch.setattr(serial, "MULTIPLY_ADDS_PER_CALL", rows * 9 * 3 * multiply_adds)
        results.append(np.full(image.shape, np.nan, np.float32))
        loops.prepare(problem, mask, Block(1, 1)).launch(image, results[-1])
    assert np.isfinite(results[0]).all()
    assert all(one.tobytes() == results[0].tobytes() for one in results)


def test_that_the_serial_loops_are_left_after_the_rows_of_one_call(monkeypatch):
    # 4 ns is ten times what a multiply-add takes here; with the 7 s mask of the largest preset size.
    problem = Problem(1500, 2000, 1, "uint8", (63, 63), (31, 31))
    rows = serial.prepare(problem, Mask(np.ones((63, 63))), Block(1, 1))._rows_per_call
    assert rows >= 1
    assert rows * 2000 * 63 * 63 * 4e-9 < 0.5
    image, mask = np.ones((40, 8, 1), np.float32), Mask(np.ones((3, 3)))
    monkeypatch.setattr(serial, "MULTIPLY_ADDS_PER_CALL", 10 * 8 * mask.taps)
    interrupt(monkeypatch, serial, "CORRELATE", 2)
    loops = serial.prepare(describe_problem(image, mask, "zero", 0.0), mask, Block(1, 1))
    out = np.full(image.shape, np.nan, np.float32)
    with pytest.raises(KeyboardInterrupt):
        loops.launch(image, out)
    assert np.isfinite(out[:20]).all()
    assert np.isnan(out[20:]).all()


@pytest.fixture
def tiles(monkeypatch):
    """Return a transform of sixteen tiles."""
    monkeypatch.setattr(fft, "TILE_RESULTS", 2)
    mask = Mask(np.ones((3, 3)))
    problem = describe_problem(np.ones((8, 8, 1), np.float32), mask, "zero", 0.0)
    return fft.CPU_FFT.prepare(problem, mask, Block(1, 1))


def launch(tiles):
    tiles.launch(np.ones((8, 8, 1), np.float32), np.empty((8, 8, 1), np.float32))


def all_threads_done():
    """Return when what was left in the queue of the transform's threads is done."""
    others = threading.Barrier(fft._threads()._max_workers)
    list(fft._threads().map(lambda _: others.wait(60), range(others.parties)))


@pytest.mark.slow
def test_that_an_interrupted_transform_writes_no_more(tiles, monkeypatch):
    is_awaited, began, ended = threading.Event(), [], []

    def slow(self, *arguments):
        began.append(1)
        if len(began) == 1:
            # A real signal wakes the main thread, which waits for a lock.
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        is_awaited.wait(60)
        ended.append(1)

    def await_lock(lock):
        is_awaited.set()
        lock.acquire()

    monkeypatch.setattr(SpectralFilter, "filter", slow)
    monkeypatch.setattr(fft, "await_lock", await_lock)
    with pytest.raises(KeyboardInterrupt):
        launch(tiles)
    written = len(ended)
    assert 1 <= written == len(began) < 16
    all_threads_done()
    assert len(began) == len(ended) == written


def test_that_a_failure_in_a_tile_ends_the_others_first(tiles, monkeypatch):
    began = []

    def fail(self, *arguments):
        began.append(1)
        raise EngineError("no tile")

    monkeypatch.setattr(SpectralFilter, "filter", fail)
    with pytest.raises(EngineError, match="no tile"):
        launch(tiles)
    known = len(began)
    all_threads_done()
    assert len(began) == known


def test_that_a_long_product_is_left_between_two_blocks(monkeypatch):
    a = RANDOM.integers(-9, 9, (11, 7)).astype(np.float32)
    b = RANDOM.integers(-9, 9, (7, 13)).astype(np.float32)
    monkeypatch.setattr(matmul, "MULTIPLY_ADDS_PER_CALL", 4 * 4 * 7)
    out = np.full((11, 13), np.nan, np.float32)
    matmul.NumpyProduct().launch((a, b), out)
    assert np.array_equal(out, a @ b)
    out[...] = np.nan
    monkeypatch.setattr(np, "matmul", then_interrupted(np.matmul, 2))
    with pytest.raises(KeyboardInterrupt):
        matmul.NumpyProduct().launch((a, b), out)
    assert np.isfinite(out[:4, :8]).all()
    assert np.isnan(out[4:]).all()
    assert np.isnan(out[:, 8:]).all()
