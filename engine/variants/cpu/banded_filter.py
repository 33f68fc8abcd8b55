"""What the filters that compute a picture band by band share: launches on several threads, buffers."""

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import numpy as np

from engine.tasks.filtering.problem import Problem
from engine.variants.cpu.edges import Halo, aligned_rows, holds
from engine.variants.cpu.thread_pool import Boards, compiled

Filter = TypeVar("Filter", bound="BandedFilter")
Buffers = tuple[np.ndarray, ...]
Cut = tuple[np.ndarray, ...]

_BOARDS = Boards()


class BandedFilter(ABC):
    """A filter ready for one problem and mask; all threads run its compiled code, which takes bands."""

    def __init__(self, problem: Problem, offset: float) -> None:
        self._problem = problem
        self._halo = halo = Halo(problem)
        self._samples = problem.width * problem.channels
        # The type that pictures are read in; others are converted first.
        self._dtype = np.dtype(problem.dtype if holds(problem.dtype, problem.ghost_value) else np.float32)
        # Arguments of every compiled function: the size of the picture, and what lies beyond it.
        self._size = (problem.height, self._samples, problem.channels)
        self._beyond = (
            *(problem.anchor[0], halo.before, halo.after, halo.outside_rows, halo.outside_samples),
            np.float32(offset),
        )
        self._kept: defaultdict[int, list[Buffers]] = defaultdict(list)
        self._cut: tuple[int, Cut]
        # Here, where a variant is prepared, and not within the first launch.
        compiled()

    def launch(self, image: np.ndarray, out: np.ndarray, stream: object = None) -> None:
        """Filter `image` into `out` on all cores; returns when it is done.

        Ctrl+C too is raised when nothing writes any more: compiled code has waited for all workers when it
        returns.
        """
        image = np.ascontiguousarray(image, self._dtype)
        workers, cut = self._cut_for(out)
        workers = min(workers, len(cut[0]))
        kept = self._kept[workers]
        try:
            buffers = kept.pop()
        except IndexError:
            buffers = self._new_buffers(workers)
        board = _BOARDS.take(workers)
        self._compute(image.ctypes.data, out.ctypes.data, cut, board, buffers)
        _BOARDS.give_back(board)
        kept.append(buffers)

    def _cut_for(self, out: np.ndarray) -> tuple[int, Cut]:
        """Return the most workers, and arrays of which the first one has the bands."""
        return self._cut

    @abstractmethod
    def _compute(self, source: int, target: int, cut: Cut, board: np.ndarray, buffers: Buffers) -> None:
        """Take bands until none is left, on all threads.

        `source` and `target` are the addresses of the picture and the result, `board` is that of the launch
        (`engine.variants.cpu.shared_call`), and of each of the buffers a worker has a row.
        """

    @abstractmethod
    def _new_buffers(self, workers: int) -> Buffers:
        """Make the buffers of so many workers; they are kept from launch to launch."""

    def _ghosts(self, count: int) -> np.ndarray:
        """Return so many ghost cells."""
        return np.full(count, self._problem.ghost_value, self._dtype)

    def _edges(self, workers: int, count: int) -> np.ndarray:
        """Return for each worker a buffer of so many samples, for rows that reach over the picture's edge."""
        edges = aligned_rows(workers, count, self._dtype)
        edges[:] = self._problem.ghost_value
        return edges


def prepared(make: Callable[[Problem], Filter], problem: Problem) -> Filter:
    """Return what `make` returns for a problem, its code compiled by filtering a picture of one pixel."""
    tiny = np.zeros((1, 1, problem.channels), problem.dtype)
    make(replace(problem, height=1, width=1)).launch(tiny, np.empty(tiny.shape, problem.result_dtype))
    return make(problem)
