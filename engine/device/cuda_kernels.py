"""What all CUDA variants share: compiling ahead, uploading the mask, launching."""

import math
import threading
import weakref
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from itertools import groupby
from types import SimpleNamespace
from typing import Any

import numpy as np

from engine.device.backend import cuda_errors_in_words
from engine.device.cuda_memory import NewestLaunch, device_array, fill_bytes, freeing_stream, uploaded
from engine.device.launches import (
    Between,
    DeviceArray,
    Operand,
    Pass,
    Placeholder,
    Prepared,
    Stream,
    address_of,
    view_of,
)
from engine.device.loaded_kernel import LoadedKernel, loaded_kernel, with_constant
from engine.results.occupancy import KernelResources

# Pictures of one shape come with rows some ways apart: with each a launch of its own, of some kB.
MOST_BOUND = 64


class PreparedPasses:
    """The passes of a CUDA variant, compiled ahead, with their arrays on the device.

    They are launched with a picture, or with the tuple of all operands, and a result. `more` are arrays
    between passes that no argument of a pass names.
    """

    def __init__(self, passes: Sequence[Pass], more: Sequence[Between] = ()) -> None:
        with cuda_errors_in_words("compiling the kernel and uploading the mask"):
            self._steps = [(_loaded(one), one.launch, [*map(_on_device, one.arguments)]) for one in passes]
        self._parts = [step.part or step.name for step in passes]
        arguments = [value for step in passes for value in step.arguments]
        # By identity: an array among the arguments compares cell by cell.
        self._needs_scratch = any(value is Operand.SCRATCH for value in arguments)
        # Each once; those of one name have the same number of values.
        named = (value for value in arguments if isinstance(value, Between))
        self._wanted = tuple(dict.fromkeys((*named, *more)))
        # By the shape of the result: what only passes use, for pictures however far apart their rows are.
        self._memories: dict[object, dict[object, object]] = {}
        # Launches for arrays of some shapes: each with the arguments that change, and which array each is.
        self._bound: dict[tuple[object, ...], list[tuple[Any, list[tuple[int, int]]]]] = {}
        self._launching = threading.RLock()
        self._newest: NewestLaunch | None = None
        if self._wanted or self._needs_scratch:
            # A launch waits for the newest one before, which may be on another stream. The last ones may
            # still be under way when this is dropped.
            self._newest = NewestLaunch()
            weakref.finalize(self, self._newest.hold, freeing_stream()).atexit = False

    @property
    def resources(self) -> tuple[KernelResources, ...]:
        """What the kernel of each launch takes."""
        return tuple(kernel.resources for kernel, _, _ in self._steps)

    def launch(self, image: DeviceArray, out: object, stream: object = 0) -> None:
        """Enqueue one filtering of a device array, or of several, into another; on any number of streams."""
        self.launch_part(slice(None), image, out, stream)

    def launch_part(self, part: slice, image: object, out: object, stream: Stream = 0) -> None:
        """Enqueue some of the passes, on the values that a whole launch left."""
        arrays = _arrays_of(image, out)
        with self._launching:
            launches = self._bound.get(tuple([array.shape for array in arrays])) or self.bind(image, out)
            addresses, handle = [address_of(array) for array in arrays], int(stream.handle) if stream else 0
            if self._newest is not None:
                self._newest.wait(handle)
            for bound, changing in launches[part]:
                bound.enqueue(handle, [(number, addresses[which]) for number, which in changing])
            if self._newest is not None:
                self._newest.record(handle)

    def bind(self, image: DeviceArray, out: DeviceArray) -> list[tuple[Any, list[tuple[int, int]]]]:
        """Return the launches for arrays of these shapes, and keep them: launching allocates no more."""
        views, launches = [view_of(array) for array in _arrays_of(image, out)], []
        with self._launching:
            if out.shape not in self._memories:
                self._memories[out.shape] = self._memory(out.shape)
            if len(self._bound) == MOST_BOUND:
                self._bound.clear()
            memory = self._memories[out.shape]
            for kernel, launch, arguments in self._steps:
                values, changing = list(arguments), []
                for number, argument in enumerate(arguments):
                    if isinstance(argument, Placeholder) and argument is not Operand.SCRATCH:
                        values[number] = views[argument.number]
                        changing.append((number, argument.number))
                    elif isinstance(argument, Placeholder | Between):
                        values[number] = memory[argument]
                launches.append((kernel.bound(launch.grid, launch.block, values), changing))
            self._bound[tuple(array.shape for array in views)] = launches
            return launches

    def part_ms(
        self, image: DeviceArray, out: object, clock: Callable[[Prepared], float]
    ) -> dict[str, float]:
        """Return the time of each part by itself, ms by its name; `clock` times what can be launched.

        They work on the values that a whole launch left.
        """
        times: dict[str, float] = {}
        for name, group in groupby(range(len(self._steps)), key=self._parts.__getitem__):
            first, *rest = group
            launch: Any = partial(self.launch_part, slice(first, first + len(rest) + 1))
            times[name] = times.get(name, 0.0) + clock(SimpleNamespace(launch=launch))
        return times

    def _memory(self, out_shape: tuple[int, ...]) -> dict[object, Any]:
        memory = dict(self.between)
        if self._needs_scratch:
            with cuda_errors_in_words("allocating the values between two passes"):
                memory[Operand.SCRATCH] = scratch = device_array(out_shape, np.float32)
                # NaN: a first pass that skips a cell must not seem right with an earlier run's value.
                fill_bytes(scratch, 255)
        return memory

    @cached_property
    def between(self) -> dict[Any, Any]:
        """The arrays between passes, which are allocated when they are first needed."""
        kinds = {value.name: (math.prod(value.shape), np.dtype(value.dtype)) for value in self._wanted}
        total = sum(size * dtype.itemsize for size, dtype in kinds.values())
        with cuda_errors_in_words(f"allocating {total / 1e6:,.1f} MB for the values between passes"):
            arrays = {name: device_array((size,), dtype) for name, (size, dtype) in kinds.items()}
            for array in arrays.values():
                # NaN: a pass that skips a value must not seem right with an earlier run's.
                fill_bytes(array, 255)
        return {value: arrays[value.name].reshape(value.shape) for value in self._wanted}


def _arrays_of(image: object, out: object) -> tuple[Any, ...]:
    # A `DeviceView` is a tuple too.
    return (*image, out) if type(image) is tuple else (image, out)


def _on_device(argument: object) -> object:
    return uploaded(argument) if isinstance(argument, np.ndarray) else argument


def _loaded(step: Pass) -> LoadedKernel:
    if step.constant is not None:
        return with_constant(step.kernel, step.signature, *step.constant)
    return loaded_kernel(step.kernel, step.signature)
