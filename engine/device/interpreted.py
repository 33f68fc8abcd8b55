"""CUDA kernels of Numba run by the interpreter of PTX: no device, no driver; only NVVM compiles."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numba import types

from engine.device.explained_code import explained_ptx
from engine.device.launches import Between, Operand, Pass, Placeholder
from engine.ptx import Array, Run, run

CAPABILITY = (9, 0)
"""The architecture whose PTX is interpreted."""


def kernel_arguments(signature: Sequence[Any], arguments: Sequence[Any]) -> list[Any]:
    """Return the parameters of a kernel as Numba passes them: of an array its size, address and strides."""
    found: list[Any] = []
    for kind, argument in zip(signature, arguments, strict=True):
        if isinstance(kind, types.Array):
            values = argument.values
            # No owner and no parent, as nothing counts references.
            found += [0, 0, values.size, values.itemsize, argument, *values.shape, *values.strides]
        else:
            found.append(argument)
    return found


def run_pass(
    step: Pass, arrays: dict[Any, Array], checkpoint: Callable[[float], None] = lambda done: None, **asked: Any
) -> Run:
    """Run one pass of a variant; `arrays` has an array for each placeholder; `asked` as of `engine.ptx.run`."""
    given = [
        arrays[one]
        if isinstance(one, Placeholder | Between)
        else Array("mask", np.ascontiguousarray(one))
        if isinstance(one, np.ndarray)
        else one
        for one in step.arguments
    ]
    constants = {step.constant[0]: step.constant[1]} if step.constant is not None else {}
    text = explained_ptx(step.kernel, step.signature, CAPABILITY)
    return run(
        text,
        None,
        step.launch.grid,
        step.launch.block,
        kernel_arguments(step.signature, given),
        constants=constants,
        checkpoint=checkpoint,
        **asked,
    )


def run_passes(
    passes: Sequence[Pass],
    arrays: dict[Any, Array],
    checkpoint: Callable[[float], None] = lambda done: None,
    **asked: Any,
) -> list[Run]:
    """Run the passes of a variant one after another; arrays between them are made and count as not written."""
    arrays = dict(arrays)
    for step in passes:
        for one in step.arguments:
            if one in arrays if isinstance(one, Placeholder | Between) else True:
                continue
            if isinstance(one, Between):
                same = next((known for known in arrays if isinstance(known, Between) and known.name == one.name), None)
                values = np.zeros(one.shape, one.dtype) if same is None else arrays[same].values.reshape(one.shape)
                arrays[one] = Array(one.name, values, is_output=same is None)
            elif one is Operand.SCRATCH:
                arrays[one] = Array("scratch", np.zeros(arrays[Operand.OUT].values.shape, np.float32), True)
    runs = []
    for number, step in enumerate(passes):
        runs.append(run_pass(step, arrays, checkpoint, **asked))
        for array in arrays.values():
            # What one pass wrote the next one may read; whether all was written is the last one's to say.
            array.is_output = array.is_output and array is arrays.get(Operand.OUT) and number == len(passes) - 1
    return runs
