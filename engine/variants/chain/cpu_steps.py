"""The steps of a chain on the CPU, each ready to be launched on arrays of its own."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from engine.compiled.machine_code import MachineFunction
from engine.device.anti_aliasing import reused_result
from engine.device.core_count import launch_cores
from engine.device.threads.thread_pool import TASK, SharedCall, compiled, workers_for
from engine.work.picture_problem import PictureProblem
from engine.work.planned import PlannedStep

_CODE = "engine.variants.chain.combine_code"
_SCALED, _WEIGHTED, _MAGNITUDE, _MAXIMUM = (
    MachineFunction(_CODE, name, error_model="numpy")
    for name in ("scaled", "weighted", "magnitude", "maximum")
)
_BANDS_PER_WORKER = 4

Launch = Callable[[Sequence[np.ndarray], np.ndarray], None]
"""Computes the result of a step from its inputs, all (H, W, C)."""


class RowsCall:
    """A compiled function over the rows of a picture of one form, on all cores; several threads may call it.

    `more` are the arguments after the rows of a band; those that are None are arrays of each call.
    """

    def __init__(
        self, function: MachineFunction, problem: PictureProblem, dtype: str, more: tuple[object, ...]
    ) -> None:
        self._function, self._rows = function, problem.height
        self._workers = workers_for(problem.samples, launch_cores())
        self._band = max(1, self._rows // (self._workers * _BANDS_PER_WORKER))
        source, floats = np.empty((1, 1), dtype), np.empty((1, 1), np.float32)
        self._arguments = (source, floats, 0, self._rows, self._band)
        self._more = tuple(floats if one is None else one for one in more)
        self._takes = [5 + at for at, one in enumerate(more) if one is None]
        if self._workers > 1:
            compiled()
        self._calls = [self._new()]

    def __call__(self, source: np.ndarray, out: np.ndarray, *others: np.ndarray) -> None:
        """Compute on all cores; return when it is done."""
        call = self._calls.pop() if self._calls else self._new()
        for at, other in zip(self._takes, others, strict=True):
            call.call.put(at, _flat(other))
        launch: Any = call.launch
        launch(_flat(source), _flat(out))
        self._calls.append(call)

    def _new(self) -> SharedCall:
        return SharedCall(self._function, (*self._arguments, *self._more, TASK), self._workers)


def _flat(array: np.ndarray) -> np.ndarray:
    return array.reshape(len(array), -1)


def converted(problem: PictureProblem, dtype: str) -> RowsCall:
    """Return what makes a picture of a type float32."""
    return RowsCall(_SCALED, problem, dtype, (np.float32(1.0),))


# A preview follows each edit: what did not change is ready.
@lru_cache(maxsize=128)
def step_launch(planned: PlannedStep, problem: PictureProblem) -> Launch:
    """Return a step, compiled; its inputs are of the type that it reads."""
    step: Any = planned.step
    if planned.problem is None:
        weights = step.weights
        function = _MAXIMUM if step.how == "maximum" else _MAGNITUDE if weights is None else _WEIGHTED
        factors = tuple(map(np.float32, weights or (1.0, 1.0)))
        combine = RowsCall(function, problem, "float32", (None, *factors))
        return lambda inputs, out: combine(inputs[0], out, inputs[1])
    variant: Any = planned.variant
    prepared = variant.prepare(planned.problem, planned.mask, planned.block or variant.default_block)
    if planned.white == 1.0:
        return lambda inputs, out: prepared.launch(inputs[0], out)
    floats = replace(problem, dtype="float32")
    down = RowsCall(_SCALED, floats, "float32", (np.float32(1.0 / planned.white),))
    up = RowsCall(_SCALED, floats, "float32", (np.float32(planned.white),))

    def scaled(inputs: Sequence[np.ndarray], out: np.ndarray) -> None:
        between = reused_result(out, out.shape, np.float32)
        down(inputs[0], between)
        prepared.launch(between, out)
        up(out, out)

    return scaled
