"""Operations on all cores: compiled code takes one band of rows after another until none is left."""

from collections.abc import Callable
from typing import Any

import numpy as np

from engine.compiled.machine_code import MachineFunction
from engine.device.core_count import launch_cores
from engine.device.launches import DeviceKind
from engine.device.threads.thread_pool import TASK, SharedCall, compiled, workers_for
from engine.geometry.block import Block
from engine.tasks.operation.contract import Patch
from engine.tasks.operation.problem import OperationProblem
from engine.tasks.operation.variants import OperationVariant

# What a worker does in one call, in steps of about a nanosecond: Python looks for Ctrl+C between calls.
STEPS_PER_CALL = 200_000_000
MOST_ROWS = 64
# Bands for each worker, so that a slow one leaves some to the others.
BANDS_PER_WORKER = 4

Arguments = Callable[[int], tuple[object, ...]]


class Bands:
    """A compiled function that takes (picture, out, first row, last row, rows of a band, ..., task).

    Several threads may launch it at once: each has a call with buffers of its own.

    Parameters
    ----------
    function : MachineFunction
    source, target : ndarray
        Of the types and axes that the function gets; nothing of them is read.
    rows : int
        Rows that are cut into bands.
    steps : int
        Work of one row, in steps of about a nanosecond.
    arguments : callable of int
        Returns the other arguments for so many workers, buffers among them.
    """

    def __init__(
        self,
        function: MachineFunction,
        source: np.ndarray,
        target: np.ndarray,
        rows: int,
        steps: int,
        arguments: Arguments = lambda workers: (),
    ) -> None:
        self._function, self._types, self._rows = function, (source, target), rows
        self.workers = workers_for(rows * steps, launch_cores())
        self._band = max(1, min(MOST_ROWS, rows // (self.workers * BANDS_PER_WORKER)))
        self._rows_per_call = max(self._band * self.workers, STEPS_PER_CALL * self.workers // max(1, steps))
        self._arguments = arguments
        if self.workers > 1:
            compiled()
        self._calls = [self._new_call()]

    def run(
        self,
        source: np.ndarray,
        target: np.ndarray,
        collect: Callable[..., object] = lambda *arguments: None,
        give: Callable[..., object] = lambda *arguments: None,
    ) -> None:
        """Compute; `collect` gets the other arguments then, in which the function may have left something.

        `give` gets them before, to put something in. `collect` has to leave them as it found them first:
        another launch takes them over.
        """
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


class FlatBands:
    """An operation on rows of samples, (H, W x C), whose result has as many rows."""

    def __init__(
        self,
        problem: OperationProblem,
        function: MachineFunction,
        steps: int,
        arguments: Arguments = lambda workers: (),
    ) -> None:
        source, target = (np.empty((1, 1), dtype) for dtype in (problem.dtype, problem.result_dtype))
        self._bands = Bands(function, source, target, problem.height, steps, arguments)

    def launch(
        self,
        image: np.ndarray,
        out: np.ndarray,
        stream: object = None,
        give: Callable[..., object] = lambda *arguments: None,
    ) -> None:
        """Compute on all cores; return when it is done. `give` puts something into the other arguments."""
        rows = np.ascontiguousarray(image)
        self._bands.run(rows.reshape(len(rows), -1), out.reshape(len(out), -1), give=give)


def cpu_variant(prepare: Callable[[OperationProblem, Patch | None], Any], **traits: Any) -> OperationVariant:
    """Return the variant of code for the CPU."""
    return OperationVariant(
        device=DeviceKind.CPU,
        prepare=lambda problem, constant, block: prepare(problem, constant),
        uses_block=False,
        default_block=Block(1, 1),
        **traits,
    )
