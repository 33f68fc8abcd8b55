"""The threads that take bands: who waits for whom, what is raised when, Ctrl-C in the middle too."""

import threading
from functools import cache
from queue import SimpleQueue

import numpy as np
import pytest

from engine.border import Border
from engine.mask.mask import Mask
from engine.timing.request import describe_problem
from engine.variants.cpu import bands, serial
from tests.engine.variants.banded import BLOCK


def unfinished(number: int) -> bands.Progress:
    return bands.Progress.of(np.zeros((number, 3), np.int64))


def test_that_a_failure_on_another_thread_is_not_lost() -> None:
    first = threading.get_ident()

    def work(looks: int) -> None:
        if threading.get_ident() != first:
            raise ValueError("from the other thread")

    with pytest.raises(ValueError, match="other thread"):
        bands.run_together(work, 2, unfinished(1))


def test_that_a_failure_on_another_thread_waits_for_those_that_still_write(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Three threads, also where the machine has two cores.
    orders = [SimpleQueue[bands._Order]() for _ in range(2)]
    for one in orders:
        threading.Thread(target=bands._help, args=(-1, one), daemon=True).start()
    monkeypatch.setattr(bands, "_helpers", lambda: [(-1, one) for one in orders])
    first, progress, ended = threading.get_ident(), unfinished(9), []
    failing, failed = iter([True]), threading.Event()

    def work(looks: int) -> None:
        if threading.get_ident() == first:
            return
        if next(failing, False):
            failed.set()
            raise ValueError("from the other thread")
        failed.wait()
        ended.append(True)

    with pytest.raises(ValueError, match="other thread"):
        bands.run_together(work, 3, progress)
    assert ended == [True]


def test_that_a_failure_of_the_caller_waits_for_the_others() -> None:
    first, begun, progress = threading.get_ident(), threading.Event(), unfinished(5)
    ended = []

    def work(looks: int) -> None:
        if threading.get_ident() == first:
            begun.wait()
            raise MemoryError("no buffer")
        begun.set()
        # Bands are taken until none is left.
        while progress.counters[0] < progress.bands:
            threading.Event().wait(0.001)
        ended.append(True)

    with pytest.raises(MemoryError, match="no buffer"):
        bands.run_together(work, 2, progress)
    assert ended == [True]


def test_that_ctrl_c_reaches_the_caller_when_nobody_writes_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    first, progress, writing, released = (
        threading.get_ident(),
        unfinished(2),
        threading.Event(),
        threading.Event(),
    )
    ended = []

    def work(looks: int) -> None:
        if threading.get_ident() == first:
            writing.wait()
            return
        writing.set()
        released.wait()
        ended.append(True)

    def interrupted(*_: object) -> None:
        released.set()
        raise KeyboardInterrupt

    monkeypatch.setattr(bands, "_await_bands", interrupted)
    with pytest.raises(KeyboardInterrupt):
        bands.run_together(work, 2, progress)
    assert ended == [True]


def test_that_a_lock_is_waited_for_through_interruptions() -> None:
    interruptions = iter([KeyboardInterrupt, KeyboardInterrupt])

    class Lock:
        def acquire(self) -> None:
            for kind in interruptions:
                raise kind

    bands.await_lock(Lock())  # type: ignore[arg-type]
    assert next(interruptions, None) is None


def test_that_a_thread_that_took_no_band_fails_nothing() -> None:
    first, progress = threading.get_ident(), unfinished(1)

    def work(looks: int) -> None:
        if threading.get_ident() != first:
            progress.counters[bands.FINISHED] += 1
            raise MemoryError("no buffer for a further band")

    bands.run_together(work, 2, progress)


def test_that_threads_are_started_once_however_many_call_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bands, "_started", cache(bands._started.__wrapped__))
    begun = threading.Barrier(8)
    found = []

    def call() -> None:
        begun.wait()
        found.append(bands._helpers())

    callers = [threading.Thread(target=call) for _ in range(8)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert len(found) == 8
    assert all(one is found[0] for one in found)


def test_that_the_caller_waits_for_bands_and_not_for_threads() -> None:
    first, released, progress = threading.get_ident(), threading.Event(), unfinished(1)

    def work(looks: int) -> None:
        if threading.get_ident() == first:
            assert looks > 0
            progress.counters[bands.FINISHED] += 1
        else:
            released.wait()

    bands.run_together(work, 2, progress)
    assert progress.complete
    released.set()


def test_that_the_caller_goes_on_when_another_thread_has_finished_its_band() -> None:
    first, progress = threading.get_ident(), unfinished(1)

    def work(looks: int) -> None:
        if threading.get_ident() != first:
            progress.counters[bands.FINISHED] += 1

    bands.run_together(work, 2, progress)
    assert progress.complete


def test_that_the_plain_loops_let_other_threads_run() -> None:
    image = np.ones((700, 700, 1), np.float32)
    mask = Mask(np.ones((15, 15)))
    prepared = serial.prepare(describe_problem(image, mask, Border.WRAP, 0.0), mask, BLOCK)
    running, over = threading.Event(), threading.Event()

    def filter_picture() -> None:
        running.set()
        prepared.launch(image, np.empty_like(image))
        over.set()

    thread = threading.Thread(target=filter_picture)
    thread.start()
    running.wait()
    steps = 0
    # With the GIL held, this loop would get at most one turn before the loops are over.
    while not over.is_set():
        over.wait(0.002)
        steps += 1
    thread.join()
    assert steps > 20
