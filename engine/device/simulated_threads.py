"""Simulated CUDA threads that switch at barriers only: greenlets instead of Numba's operating-system threads.

Numba's simulator starts an operating-system thread per CUDA thread, and the launching thread polls them all the
time. Most of a simulated launch is that polling. Here each CUDA thread is a greenlet that runs to its next
barrier; the next one then goes on from where it stopped.
"""

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
from greenlet import getcurrent, greenlet
from numba.cuda.simulator import kernel as simulator
from numba.cuda.simulator.kernelapi import Dim3

__all__ = ["switch_at_barriers"]


class _Block:
    """Runs one block of a simulated launch; stands for Numba's `BlockManager`."""

    def __init__(self, kernel: Callable[..., None], _grid: Any, block: tuple[int, ...], _debug: bool) -> None:
        self._kernel = kernel
        self._block = block
        self._votes = np.zeros(block, np.bool_)

    def run(self, block_index: tuple[int, ...], *arguments: Any) -> None:
        """Run all threads of the block, from barrier to barrier."""
        # The simulator's `cuda` module asks the running Python thread for its place in the grid.
        place: Any = threading.current_thread()
        place.blockIdx = Dim3(*block_index)
        place.syncthreads = _wait
        place.syncthreads_count = self._count
        place.syncthreads_and = lambda value: int(self._count(value) == self._votes.size)
        place.syncthreads_or = lambda value: int(self._count(value) > 0)
        width, height = self._block[0], self._block[1] if len(self._block) > 1 else 1
        threads = []
        for index in np.ndindex(*self._block):
            at = Dim3(*index)
            threads.append((greenlet(self._kernel), at, at.x + width * (at.y + height * at.z)))
        place_of = place
        for thread, at, number in threads:
            place_of.threadIdx, place_of.thread_id = at, number
            thread.switch(*arguments)
        while threads := [entry for entry in threads if not entry[0].dead]:
            for thread, at, number in threads:
                place_of.threadIdx, place_of.thread_id = at, number
                thread.switch()

    def _count(self, value: Any) -> int:
        place: Any = threading.current_thread()
        self._votes[place.threadIdx.x, place.threadIdx.y, place.threadIdx.z] = value
        _wait()
        count = np.count_nonzero(self._votes)
        _wait()
        return int(count)


def _wait() -> None:
    getcurrent().parent.switch()


def switch_at_barriers() -> None:
    """Let simulated launches of this process run their threads as greenlets."""
    simulator.BlockManager = _Block
