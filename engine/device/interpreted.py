"""The passes of a CUDA variant in the interpreter: their PTX, their arguments as Numba passes them, faults.

Numba's types and NVVM are needed, no driver.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from engine.device.explained_code import explained_ptx
from engine.device.launches import (
    Between,
    DeviceArray,
    HostStep,
    Operand,
    Pass,
    Placeholder,
    array_parameters,
)
from engine.device.per_thread import report_share
from engine.errors import EngineError
from engine.ptx import Array, Finding, Run, run

CAPABILITY = (9, 0)
"""The architecture whose PTX is interpreted."""
Arrays = dict[object, Array]


class KernelFault(EngineError):
    """A kernel of a variant has a fault that the interpreter found."""

    code = "kernel-fault"
    is_about_run = True


def ptx_of(step: Pass) -> str:
    """Return the code of a pass that is interpreted, compiled where it is not kept."""
    return explained_ptx(step.kernel, step.signature, CAPABILITY)


def parameters_of(step: Pass) -> tuple[str, ...]:
    """Return the names of a kernel's parameters."""
    return tuple(inspect.signature(step.kernel.py_func).parameters)


def memory_of(argument: Placeholder | Between, image: DeviceArray, out: np.ndarray) -> np.ndarray:
    """Return what a launch has for an argument: an operand, the result, or new values between passes, zeros.

    `image` is the picture, or all operands.
    """
    if isinstance(argument, Between):
        return np.zeros(argument.shape, argument.dtype)
    if argument is Operand.SCRATCH:
        return np.zeros(out.shape, np.float32)
    if argument is Operand.OUT:
        return out
    values: np.ndarray = image[argument.number] if isinstance(image, tuple | list) else image
    return values


def arrays_of(step: Pass, image: DeviceArray, out: np.ndarray) -> Arrays:
    """Return the arrays of a pass, by what stands for them among its arguments, named as its parameters."""
    pairs = zip(parameters_of(step), step.arguments, strict=True)
    return {
        argument: Array(name, memory_of(argument, image, out))
        for name, argument in pairs
        if isinstance(argument, Placeholder | Between)
    }


def run_pass(
    step: Pass,
    arrays: Mapping[object, Array],
    checkpoint: Callable[[float], None] | None = None,
    **asked: Any,
) -> Run:
    """Run one pass of a variant; `arrays` by placeholder; `asked` as of `engine.ptx.run`."""
    parameters: list[object] = []
    for name, argument in zip(parameters_of(step), step.arguments, strict=True):
        if isinstance(argument, Placeholder | Between):
            array = arrays[argument]
        elif isinstance(argument, np.ndarray):
            array = Array(name, np.ascontiguousarray(argument))
        else:
            parameters.append(argument)
            continue
        parameters += array_parameters(array, array.values)
    return run(
        ptx_of(step),
        None,
        step.launch.grid,
        step.launch.block,
        parameters,
        constants={} if step.constant is None else {step.constant[0]: step.constant[1]},
        checkpoint=checkpoint or report_share(),
        **asked,
    )


class InterpretedPasses:
    """The passes of a variant, with steps of the host between them where it has some."""

    def __init__(self, steps: Sequence[Pass | HostStep]) -> None:
        self._steps = steps
        # Compiled now, as for a device.
        for step in steps:
            if isinstance(step, Pass):
                ptx_of(step)
        self._between: dict[str, np.ndarray] = {}

    def launch(self, image: object, out: np.ndarray, stream: object = None) -> None:
        """Run all passes; raises KernelFault for the first that has a fault."""
        arrays: Arrays = {Operand.OUT: Array("the result", out, is_output=True)}
        self._between = {}
        for step in self._steps:
            if isinstance(step, HostStep):
                self._compute(step, arrays)
                continue
            for argument in step.arguments:
                if isinstance(argument, Placeholder | Between) and argument not in arrays:
                    arrays[argument] = self._array(argument, image, out)
            result = run_pass(step, arrays, counted=False)
            for array in arrays.values():
                # What one pass wrote the next one may read.
                array.is_output = False
            if faults := [one for one in result.findings if not _is_harmless(one)]:
                raise _fault(step, faults)

    def part_ms(self, image: object, out: object, clock: object) -> dict[str, float]:
        """Return no times: simulated ones mean nothing."""
        return {}

    def spans(self, image: object, out: object) -> tuple[object, ...]:
        """Return no spans of time, for the same reason."""
        return ()

    def _array(self, argument: Placeholder | Between, image: object, out: np.ndarray) -> Array:
        values = memory_of(argument, image, out)
        if isinstance(argument, Between):
            is_new = argument.name not in self._between
            values = self._between.setdefault(argument.name, values.reshape(-1))
            return Array(argument.name, values.reshape(argument.shape), is_output=is_new)
        if argument is Operand.SCRATCH:
            return Array("scratch memory", values, is_output=True)
        return Array(str(argument.value), values)

    def _compute(self, step: HostStep, arrays: Arrays) -> None:
        takes = arrays[step.takes].values if step.takes in arrays else self._between[step.takes.name]
        if step.gives not in arrays:
            arrays[step.gives] = self._array(step.gives, None, np.empty(0))
        arrays[step.gives].is_output = False
        shaped = takes.reshape(step.takes.shape)
        for values, results in zip(shaped, arrays[step.gives].values, strict=True):
            step.compute(values, results)


def _is_harmless(finding: Finding) -> bool:
    """Return whether the proof of the result says all of a finding.

    Some kernels leave out cells of a tile that only results past the picture need, and read them all the
    same. Shared memory is full of NaN before it is written: a result that depends on such a cell is wrong.
    """
    return finding.kind == "unwritten" and finding.array == "shared memory"


def _fault(step: Pass, findings: Sequence[Finding]) -> KernelFault:
    said = "; ".join(str(one) for one in findings[:3])
    return KernelFault(f"the kernel {step.name}", f"the interpreter found a fault: {said}")
