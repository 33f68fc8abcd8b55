"""Rows on all cores: compiled code takes one band of them after another until none is left."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from engine.compiled.entry_point import entry_point
from engine.compiled.late_names import njit
from engine.compiled.machine_code import MachineFunction
from engine.device.thread_code import finish, share
from engine.device.thread_pool import TAKEN, TASK, SharedCall
from engine.process import launch_cores, workers_for
from engine.variants.emit.cpu_vectors import count_one
from engine.work.problem import PictureProblem

# What a worker does in one call, in steps of about a nanosecond: Python looks for Ctrl+C between calls.
STEPS_PER_CALL = 200_000_000
MOST_ROWS = 64
# Bands for each worker, so that a slow one leaves some to the others.
BANDS_PER_WORKER = 4
# The place of the arguments after picture, result, first row, last row, and rows of a band.
_ARGUMENTS = 5


def flat(array: np.ndarray) -> np.ndarray:
    """Return rows of samples, (H, W x C)."""
    return np.ascontiguousarray(array).reshape(len(array), -1)


@cache
def rows_function(
    module: str, factory: str, made_for: tuple[object, ...], contracts: bool
) -> MachineFunction:
    """Return what a factory of code makes for its arguments; `contracts`: a product and a sum round once."""
    fast: dict[str, object] = {"fastmath": {"contract": True}} if contracts else {}
    return MachineFunction(module, factory, made_for=made_for, error_model="numpy", **fast)


class Bands:
    """Rows by compiled code. Several threads may launch it at once: each call has buffers of its own.

    The function is made by `rows_function`. A row is work of so many `steps`, of about a nanosecond. The
    `arguments` are those after the worker; a function returns them for so many workers, buffers among them.
    So many `rows` are cut into bands, by default the picture's. `source_of` and `target_of` return the arrays
    that the function gets, of picture and result; `dtype` is the type of what is written, where it is not the
    result's.
    """

    def __init__(
        self,
        problem: PictureProblem,
        function: MachineFunction,
        steps: int,
        arguments: tuple[object, ...] | Callable[[int], tuple[object, ...]],
        *,
        rows: int | None = None,
        source_of: Callable[[np.ndarray], np.ndarray] = flat,
        target_of: Callable[[np.ndarray], np.ndarray] = flat,
        dtype: str | None = None,
    ) -> None:
        self._function, self._rows = function, problem.height if rows is None else rows
        self._source_of, self._target_of = source_of, target_of
        # Their types and axes; nothing of them is read.
        written = problem.result_dtype if dtype is None else dtype
        self._types = (source_of(np.empty((1, 1, 1), problem.dtype)), target_of(np.empty((1, 1, 1), written)))
        self.workers = workers_for(self._rows * steps, launch_cores())
        self._band = max(1, min(MOST_ROWS, self._rows // (self.workers * BANDS_PER_WORKER)))
        self._rows_per_call = max(self._band * self.workers, STEPS_PER_CALL * self.workers // max(1, steps))
        self._arguments = arguments
        self._calls = [self._new_call()]

    def launch(
        self,
        image: np.ndarray,
        out: np.ndarray,
        stream: object = None,
        *,
        arguments: tuple[object, ...] | None = None,
        collect: Callable[..., object] = lambda *arguments: None,
    ) -> None:
        """Compute on all cores; return when it is done.

        `arguments`, of the same types, take the place of the others this once. `collect` gets the others in
        the end, in which the function may have left something, and has to leave them as it found them first:
        another launch takes them over.
        """
        source, target = self._source_of(image), self._target_of(out)
        try:
            call, own = self._calls.pop()
        except IndexError:
            call, own = self._new_call()
        launch: Any = call.launch
        for first in range(0, self._rows, self._rows_per_call):
            call.call.put(2, first)
            call.call.put(3, min(self._rows, first + self._rows_per_call))
            if arguments is not None:
                call.call.put(_ARGUMENTS, arguments)
            # These functions have arrays as their first two arguments.
            launch(source, target)
        collect(*own)
        self._calls.append((call, own))

    def _new_call(self) -> tuple[SharedCall, tuple[object, ...]]:
        arguments = self._arguments(self.workers) if callable(self._arguments) else self._arguments
        everything = (*self._types, 0, 0, self._band, arguments, TASK)
        return SharedCall(self._function, everything, self.workers), arguments


def on_bands(write):
    """Return what Numba compiles: workers `write` one band of `rows` after another, until none is left.

    All workers count the bands that are taken in the task descriptor, so that each row is computed once.
    """
    write_rows = njit(write)

    def all_bands(image, out, first, last, rows, arguments, task):
        entry_point()
        worker = share(task)
        while True:
            top = first + count_one(task, TAKEN) * rows
            if top >= last:
                break
            write_rows(image, out, top, min(last, top + rows), worker, *arguments)
        finish(task, worker)

    return all_bands
