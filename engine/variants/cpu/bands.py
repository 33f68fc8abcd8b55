"""A picture cut into bands, and the threads that take them, one after another, until none is left."""

import contextlib
import ctypes
import math
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from queue import SimpleQueue

import numpy as np

from engine.device.cpu import cores

# A band begins and ends with mask rows that are taken in part, and its workers meet at the end of a launch: with fewer
# rows the first costs more, with fewer bands the second.
LEAST_ROWS = 16
# How often the caller looks whether the others' bands are finished before it sleeps: 0.1 to 0.2 ms. Being woken takes 25
# to 60 us, of the 700 us that a small mask takes on 2048 x 2048.
LOOKS = 200_000
# Element of the counters: in another line of the cache than the first one, which all threads write.
FINISHED = 8
# Another thread begins 20 to 50 us later; by then a core has made some 2 million multiply-adds.
LEAST_MULTIPLY_ADDS = 2_000_000


def workers_for(multiply_adds: int, most: int) -> int:
    """Return how many threads so much work is worth, at most as many as there are cores."""
    return max(1, min(most, multiply_adds // LEAST_MULTIPLY_ADDS))


def cut(height: int, tiles: int, workers: int, mask_rows: int) -> np.ndarray:
    """Cut a picture of `height` rows and `tiles` tiles across into about four bands of a tile a worker, at most.

    Four are enough that a core that is held up costs little.

    Returns
    -------
    ndarray of shape (bands, 3), int64
        First and past-the-last row, tile.
    """
    least = max(LEAST_ROWS, 4 * (mask_rows - 1))
    down = min(4 * workers // tiles, height // least)
    # As many bands for each worker, if they are not too low; one each even then.
    share = workers // math.gcd(workers, tiles)
    wanted = -(-max(down, 1) // share) * share
    if wanted * LEAST_ROWS <= height or down * tiles < workers:
        down = min(wanted, height // LEAST_ROWS)
    rows = height if workers == 1 else -(-height // max(down, 1))
    return np.array(
        [(top, min(top + rows, height), tile) for top in range(0, height, rows) for tile in range(tiles)],
        np.int64,
    )


Work = Callable[[int], None]
"""Takes bands until none is left, then looks so many times whether those that others have taken are finished."""


@dataclass(frozen=True)
class Progress:
    """How far the bands of a launch are; compiled code counts.

    Attributes
    ----------
    counters : ndarray of int64
        How many bands are taken (element 0) and how many are finished (element FINISHED).
    bands : int
    """

    counters: np.ndarray
    bands: int

    @staticmethod
    def of(bands: np.ndarray) -> "Progress":
        """Return the progress of bands of which none is taken yet."""
        return Progress(np.zeros(FINISHED + 1, np.int64), len(bands))

    @property
    def complete(self) -> bool:
        """Whether all bands are finished."""
        return bool(self.counters[FINISHED] >= self.bands)

    def stop(self) -> None:
        """Leave no band to take."""
        self.counters[0] = self.bands


def _held_lock() -> threading.Lock:
    lock = threading.Lock()
    lock.acquire()
    return lock


@dataclass(frozen=True)
class _Order:
    """Work for another thread, and where it says that it has ended, and with what failure.

    `under_way` is locked until then.
    """

    work: Work
    ended: "SimpleQueue[Exception | None]"
    under_way: threading.Lock = field(default_factory=_held_lock)


def run_together(work: Work, workers: int, progress: Progress) -> None:
    """Call `work` on so many threads, the caller's own among them, and return when all bands are finished.

    The caller begins at once; the others take their share as they wake. One that wakes too late finds no band left and
    does nothing, so nobody waits for it: `work` refers to the picture and the result by address only, else it would hold
    them after the launch. Whatever is raised here, Ctrl-C in the middle too, is raised when nobody writes any more.

    Raises
    ------
    Exception
        What `work` raised here, or on another thread if a band is missing for it.
    """
    if workers == 1:
        work(0)
        return
    ended: SimpleQueue[Exception | None] = SimpleQueue()
    here = _current_core()
    others = [orders for core, orders in _helpers() if core != here][: workers - 1]
    given = [_Order(work, ended) for _ in others]
    try:
        for orders, order in zip(others, given, strict=True):
            orders.put(order)
        work(LOOKS)
        _await_bands(progress, ended, len(given))
    except BaseException:
        # The others may be writing to the result, which the caller is about to lose.
        progress.stop()
        for orders, order in zip(others, given, strict=True):
            # Nobody knows whether the last one was given when this was raised.
            orders.put(order)
        for order in given:
            await_lock(order.under_way)
        raise


def _await_bands(progress: Progress, ended: "SimpleQueue[Exception | None]", threads: int) -> None:
    """Wait until all bands are finished, or all other threads have ended; raise what one of these met if a band is missing."""
    failure: Exception | None = None
    for _ in range(threads):
        if progress.complete:
            return
        failure = ended.get() or failure
    if not progress.complete and failure is not None:
        raise failure


def await_lock(lock: threading.Lock) -> None:
    """Wait for a lock, through any number of interruptions: the first one is raised when nobody writes any more."""
    while True:
        try:
            lock.acquire()
        except BaseException:  # noqa: BLE001 - see above
            continue
        return


def _helpers() -> "list[tuple[int, SimpleQueue[_Order]]]":
    """Return for each core the one that a thread is held to (-1: none), and the queue of its orders; started once."""
    with _starting:
        return _started()


@cache
def _started() -> "list[tuple[int, SimpleQueue[_Order]]]":
    """Start a thread for each core.

    Threads that are woken together for a millisecond often begin on one core, and the scheduler takes 4 ms to part them:
    not held to cores, launches of 1 to 4 ms took up to twice as long as they needed (2 cores). For the same reason the
    thread of the caller's own core is left asleep.
    """
    free = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_setaffinity") else [-1] * (cores() - 1)
    helpers: list[tuple[int, SimpleQueue[_Order]]] = [(core, SimpleQueue()) for core in free]
    for core, orders in helpers:
        threading.Thread(target=_help, args=(core, orders), name="cpu-band", daemon=True).start()
    return helpers


_starting = threading.Lock()


def _begin_anew() -> None:
    """Forget the threads, which a child process has none of; its copy of the lock may be held by one of them."""
    global _starting
    _starting = threading.Lock()
    _started.cache_clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)


def _help(core: int, orders: "SimpleQueue[_Order]") -> None:
    """Do one order after another, for as long as the process lives."""
    if core >= 0:
        with contextlib.suppress(OSError):
            os.sched_setaffinity(threading.get_native_id(), {core})
    while True:
        order = orders.get()
        if not order.under_way.locked():
            # Given twice (`run_together`).
            continue
        failure: Exception | None = None
        try:
            order.work(0)
        except Exception as raised:  # noqa: BLE001 - whoever gave the order raises it
            failure = raised
        order.ended.put(failure)
        order.under_way.release()
        del order, failure


def _current_core() -> int:
    """Return the core that this thread runs on, or -2 where the system does not say."""
    ask = _core_question()
    return -2 if ask is None else int(ask())


@cache
def _core_question() -> Callable[[], int] | None:
    try:
        question: Callable[[], int] = ctypes.CDLL(None).sched_getcpu
    except (AttributeError, OSError, TypeError):
        return None
    return question
