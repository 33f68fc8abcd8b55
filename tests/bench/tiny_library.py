"""A library of a few lines for the tests of the benchmark: served by a real process, needs NumPy alone."""

import os
import sys

import numpy as np

from bench.peers.cells import Cell
from bench.peers.library import About, Job, Ready, Refused, host_ready


class Tiny:
    def __init__(self, methods: tuple[str, ...]) -> None:
        self._methods = methods

    def about(self) -> About:
        sys.stdout.write("what a library prints is no answer\n")
        return About({"tiny": "1.0"}, 1)

    def methods(self, cell: Cell) -> tuple[str, ...]:
        return self._methods

    def prepare(self, job: Job, method: str) -> Ready:
        if method == "refuses":
            raise Refused("it has no such mask")
        if method == "dies":
            os._exit(7)
        weights = job.mask.weights32[::-1, ::-1] if method == "convolves" else job.mask.weights32

        def correlate(picture: np.ndarray, result: np.ndarray) -> None:
            if method == "raises":
                raise ValueError("a bad day")
            reach = job.cell.mask_side // 2
            cells = np.pad(picture, reach)
            windows = np.lib.stride_tricks.sliding_window_view(cells, weights.shape)
            result[...] = (windows * weights.astype(np.float64)).sum((2, 3))

        return host_ready(job, correlate, note="windows")


def open_library(threads: int, methods: tuple[str, ...]) -> Tiny:
    if "absent" in methods:
        raise Refused("not built for this machine")
    return Tiny(methods or ("auto",))
