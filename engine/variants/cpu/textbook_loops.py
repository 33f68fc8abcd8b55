"""Textbook loops on one thread, called for some rows at a time: between two calls Python looks for Ctrl+C."""

from typing import Self

import numpy as np

from engine.compiled.machine_code import Call, MachineFunction
from engine.results.problem import LoopWork
from engine.work.filtering.problem import Problem

# 0.04 s, on a slow machine 0.2 s: the longest wait for Ctrl+C (one row of a very wide picture excepted).
MULTIPLY_ADDS_PER_CALL = 100_000_000


class TextbookLoops:
    """Loops, ready for one problem and mask: one pass, or two with float32 sums between them.

    Each compiled function takes the picture or the sums before, some rows of what it writes, the number of
    the first of these, and arguments of its own. `taps` are the most multiply-adds of a result in a pass.
    """

    workers = 1

    def __init__(
        self,
        problem: Problem,
        taps: int,
        passes: tuple[tuple[MachineFunction, tuple[object, ...]], ...],
        loops: tuple[LoopWork, ...],
    ) -> None:
        self.loops, self._passes = loops, passes
        sums = ["float32"] * (len(passes) - 1)
        self._types = (problem.dtype, *sums, problem.result_dtype)
        multiply_adds_per_row = problem.width * problem.channels * taps
        self._rows_per_call = max(1, MULTIPLY_ADDS_PER_CALL // multiply_adds_per_row)
        # Calls and sums, for each launch that is under way, as several threads may call a plan.
        self._kept: list[tuple[list[Call], tuple[np.ndarray, ...]]] = []

    def compiled(self) -> Self:
        """Return the loops compiled: not within the first launch."""
        self._kept.append((self._new_calls(), ()))
        return self

    def launch(self, image: np.ndarray, out: np.ndarray, stream: object = None) -> None:
        """Filter `image` into `out` on the calling thread."""
        samples, results = (rows.reshape(len(rows), -1) for rows in (image, out))
        try:
            calls, sums = self._kept.pop()
        except IndexError:
            calls, sums = self._new_calls(), ()
        sums = sums or tuple(np.empty(samples.shape, np.float32) for _ in calls[1:])
        for call, source, target in zip(calls, (samples, *sums), (*sums, results), strict=True):
            for first in range(0, len(target), self._rows_per_call):
                call.put(0, source)
                call.put(1, target[first : first + self._rows_per_call])
                call.put(2, first)
                call()
        self._kept.append((calls, sums))

    def _new_calls(self) -> list[Call]:
        pictures = [np.empty((0, 1), kind) for kind in self._types]
        return [
            function.call(source, target, 0, *arguments)
            for (function, arguments), source, target in zip(
                self._passes, pictures[:-1], pictures[1:], strict=True
            )
        ]
