"""A picture cut into bands, and the threads that work on them, one call of compiled code a thread."""

import math
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numpy as np

from engine.device.cpu import cores

# A band begins and ends with mask rows that are taken in part, and its workers meet at the end of a launch: with fewer
# rows the first costs more, with fewer bands the second.
LEAST_ROWS = 16
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


@cache
def _threads() -> ThreadPoolExecutor:
    free = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_setaffinity") else []
    return ThreadPoolExecutor(cores(), "cpu-band", initializer=_stay_on_a_core, initargs=(free,))


def _stay_on_a_core(free: list[int]) -> None:
    """Hold this thread to a core of its own, where the system lets us.

    Threads that are woken together for a millisecond often begin on one core, and the scheduler takes 4 ms to part them:
    without this, launches of 1 to 4 ms took up to twice as long as they needed (2 cores).
    """
    if free:
        os.sched_setaffinity(threading.get_native_id(), {free.pop()})


def run_together(work: Callable[[], None], workers: int) -> None:
    """Call `work` on so many threads and return when all are done; a single one is the caller's own."""
    if workers == 1:
        work()
        return
    for each in [_threads().submit(work) for _ in range(workers)]:
        each.result()
