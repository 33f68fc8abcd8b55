"""The simulator: CUDA variants run by the interpreter of PTX, as a device of this process.

NVVM compiles each kernel as for a GPU, the interpreter runs it, checks every access and finds races. A fault
of a kernel fails the run with its words. Its times mean nothing.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from engine.device.backend import Backend, Buffers
from engine.device.device_list import simulator_info
from engine.device.kernel_code import explained_ptx
from engine.device.launches import (
    Between,
    DeviceArray,
    HostStep,
    Operand,
    Pass,
    Placeholder,
    array_parameters,
)
from engine.errors import EngineError
from engine.geometry.block import Layout
from engine.process import interprets, report_share
from engine.ptx import Array, InterpretedRun, run

CAPABILITY = (9, 0)
"""The architecture whose PTX is interpreted."""
Arrays = dict[object, Array]


class KernelFault(EngineError, code="kernel-fault", is_about_run=True):
    """A kernel of a variant has a fault that the interpreter found."""


def ptx_of(step: Pass) -> str:
    """Return the code of a pass that is interpreted, compiled where it is not kept."""
    return explained_ptx(step.kernel, step.signature, CAPABILITY)


def _arguments_of(step: Pass) -> Iterator[tuple[str, Any]]:
    return zip(inspect.signature(step.kernel.py_func).parameters, step.arguments, strict=True)


def memory_of(argument: Placeholder | Between, image: DeviceArray, out: np.ndarray) -> np.ndarray:
    """Return what a launch has for an argument: of `image` all or an operand, the result, or new zeros."""
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
    return {
        argument: Array(name, memory_of(argument, image, out))
        for name, argument in _arguments_of(step)
        if isinstance(argument, Placeholder | Between)
    }


def run_pass(
    step: Pass,
    arrays: Mapping[object, Array],
    checkpoint: Callable[[float], None] | None = None,
    **settings: Any,
) -> InterpretedRun:
    """Run one pass of a variant; `arrays` by placeholder; `settings` as of `engine.ptx.run`."""
    parameters: list[object] = []
    for name, argument in _arguments_of(step):
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
        **settings,
    )


class InterpretedPasses:
    """The passes of a variant, with steps of the host between them where it has some."""

    def __init__(self, steps: Sequence[Pass | HostStep]) -> None:
        self._steps = steps
        # Compiled now, as for a device.
        for step in steps:
            if isinstance(step, Pass):
                ptx_of(step)

    def launch(self, image: object, out: np.ndarray, stream: object = None) -> None:
        """Run all passes; raises KernelFault for the first that has a fault."""
        arrays: Arrays = {Operand.OUT: Array("the result", out, is_output=True)}
        between: dict[str, np.ndarray] = {}

        def array_of(argument: Placeholder | Between) -> Array:
            if argument not in arrays:
                values = memory_of(argument, image, out)
                if isinstance(argument, Between):
                    name, is_output = argument.name, argument.name not in between
                    values = between.setdefault(name, values.reshape(-1)).reshape(argument.shape)
                else:
                    is_output = argument is Operand.SCRATCH
                    name = "scratch memory" if is_output else str(argument.value)
                arrays[argument] = Array(name, values, is_output)
            return arrays[argument]

        for step in self._steps:
            if isinstance(step, HostStep):
                takes, gives = array_of(step.takes), array_of(step.gives)
                gives.is_output = False
                for values, results in zip(takes.values, gives.values, strict=True):
                    step.compute(values, results)
                continue
            for argument in step.arguments:
                if isinstance(argument, Placeholder | Between):
                    array_of(argument)
            result = run_pass(step, arrays, counted=False)
            for array in arrays.values():
                # What one pass wrote the next one may read.
                array.is_output = False
            # Some kernels leave out cells of a tile that only results past the picture need, and read them.
            # All bits of shared memory are set before: a result that depends on such a cell fails its proof.
            harmless = ("unwritten", "shared memory")
            if faults := [str(one) for one in result.findings if (one.kind, one.array) != harmless]:
                why = f"the interpreter found a fault: {'; '.join(faults[:3])}"
                raise KernelFault(f"the kernel {step.name}", why)

    def part_ms(self, image: object, out: object, clock: object) -> dict[str, float]:
        return {}  # simulated times mean nothing

    def spans(self, image: object, out: object) -> tuple[object, ...]:
        return ()


class InterpreterBackend(Backend):
    """Runs CUDA variants in the interpreter; buffers are the host's own, with rows as on a device."""

    def __init__(self) -> None:
        self.info = simulator_info()

    def activate(self) -> None:
        """Let the calling thread prepare variants for the interpreter."""
        interprets.choose(True)

    def selected(self) -> AbstractContextManager[None]:
        return interprets.within(True)

    def _allocated(self, image: np.ndarray, host_out: np.ndarray, layout: Layout) -> Buffers:
        def rows_of(like: np.ndarray) -> np.ndarray:
            rows, width, channels = like.shape
            # 16 bytes at once may be read past a row's end: never used, but defined.
            return np.zeros((rows, layout.row_pixels(width, channels, like.itemsize), channels), like.dtype)

        return Buffers(rows_of(image), rows_of(host_out), host_out)

    def upload(self, image: np.ndarray | Sequence[np.ndarray], buffers: Buffers) -> None:
        is_one = isinstance(image, np.ndarray)
        for host, own in [(image, buffers.image)] if is_one else zip(image, buffers.image, strict=True):
            own[tuple(map(slice, np.shape(host)))] = host

    def allocate_arrays(
        self, inputs: Sequence[np.ndarray], out_shape: tuple[int, ...], *, pinned: bool = False
    ) -> Buffers:
        arrays = tuple(np.empty(array.shape, np.float32) for array in inputs)
        return Buffers(arrays, np.empty(out_shape, np.float32), np.empty(out_shape, np.float32))

    def download(self, buffers: Buffers) -> np.ndarray:
        wanted = buffers.host_out
        wanted[...] = buffers.out[:, : wanted.shape[1]] if wanted.ndim == 3 else buffers.out
        return wanted
