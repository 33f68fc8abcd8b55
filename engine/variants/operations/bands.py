"""Operations on all cores: compiled code takes one band of rows after another until none is left."""

from collections.abc import Callable
from typing import Any

import numpy as np

from engine.compiled.machine_code import MachineFunction
from engine.device.core_count import launch_cores
from engine.device.launches import DeviceKind
from engine.device.threads.thread_pool import TASK, SharedCall, compiled, workers_for
from engine.geometry.block import Block
from engine.work.operations.contract import Patch
from engine.work.operations.problem import OperationProblem
from engine.work.operations.variants import OperationVariant

# What a worker does in one call, in steps of about a nanosecond: Python looks for Ctrl+C between calls.
STEPS_PER_CALL = 200_000_000
MOST_ROWS = 64
# Bands for each worker, so that a slow one leaves some to the others.
BANDS_PER_WORKER = 4

Arguments = Callable[[int], tuple[object, ...]]


def flat(array: np.ndarray) -> np.ndarray:
    """Return rows of samples, (H, W x C)."""
    return np.ascontiguousarray(array).reshape(len(array), -1)


class Bands:
    """A compiled function that takes (picture, out, first row, last row, rows of a band, ..., task).

    Several threads may launch it at once: each has a call with buffers of its own.

    Parameters
    ----------
    problem : OperationProblem
    function : MachineFunction
    steps : int
        Work of one row, in steps of about a nanosecond.
    arguments : callable of int
        Returns the other arguments for so many workers, buffers among them.
    rows : int, optional
        Rows that are cut into bands; by default the picture's.
    source_of, target_of : callable of ndarray
        Return the arrays that the function gets, of picture and result.
    dtype : str, optional
        The type of what is written, where it is not the result's.
    """

    def __init__(
        self,
        problem: OperationProblem,
        function: MachineFunction,
        steps: int,
        arguments: Arguments = lambda workers: (),
        *,
        rows: int | None = None,
        source_of: Callable[[np.ndarray], np.ndarray] = flat,
        target_of: Callable[[np.ndarray], np.ndarray] = flat,
        dtype: str | None = None,
    ) -> None:
        self._function, self._rows = function, problem.height if rows is None else rows
        self._source_of, self._target_of = source_of, target_of
        # Their types and axes; nothing of them is read.
        self._types = (
            source_of(np.empty((1, 1, 1), problem.dtype)),
            target_of(np.empty((1, 1, 1), dtype or problem.result_dtype)),
        )
        self.workers = workers_for(self._rows * steps, launch_cores())
        self._band = max(1, min(MOST_ROWS, self._rows // (self.workers * BANDS_PER_WORKER)))
        self._rows_per_call = max(self._band * self.workers, STEPS_PER_CALL * self.workers // max(1, steps))
        self._arguments = arguments
        if self.workers > 1:
            compiled()
        self._calls = [self._new_call()]

    def launch(
        self,
        image: np.ndarray,
        out: np.ndarray,
        stream: object = None,
        *,
        collect: Callable[..., object] = lambda *arguments: None,
        give: Callable[..., object] = lambda *arguments: None,
    ) -> None:
        """Compute on all cores; return when it is done.

        `collect` gets the other arguments then, in which the function may have left something, and has to
        leave them as it found them first: another launch takes them over. `give` gets them before, to put
        something in.
        """
        source, target = self._source_of(image), self._target_of(out)
        try:
            call, arguments = self._calls.pop()
        except IndexError:
            call, arguments = self._new_call()
        give(*arguments)
        launch: Any = call.launch
        for first in range(0, self._rows, self._rows_per_call):
            call.call.put(2, first)
            call.call.put(3, min(self._rows, first + self._rows_per_call))
            # These functions have arrays as their first two arguments.
            launch(source, target)
        collect(*arguments)
        self._calls.append((call, arguments))

    def _new_call(self) -> tuple[SharedCall, tuple[object, ...]]:
        arguments = self._arguments(self.workers)
        everything = (*self._types, 0, 0, self._band, *arguments, TASK)
        return SharedCall(self._function, everything, self.workers), arguments


def cpu_variant(prepare: Callable[[OperationProblem, Patch | None], Any], **traits: Any) -> OperationVariant:
    """Return the variant of code for the CPU."""
    return OperationVariant(
        device=DeviceKind.CPU,
        prepare=lambda problem, constant, block: prepare(problem, constant),
        uses_block=False,
        default_block=Block(1, 1),
        **traits,
    )
