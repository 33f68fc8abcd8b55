"""CUDA kernels on a device: loaded by cuda.core, launched by the driver as the passes of a variant.

An array in constant memory that the host fills is a variable of the compiled module: two masks of one kernel
would share it, and a graph captured with one would replay with the other. So each prepared kernel is the
compiled code loaded once more (no compiling; 0.6 ms on an H200's host). Loaded code takes 0.1 MB of device
memory, and masks are edited all day, so a copy that is no longer used is written anew for the next mask. Its
last launches may still be running: a prepared variant is dropped when they are enqueued. So the host first
waits for all work in the device's context (an event would have to be recorded by each launch, and none can be
for a replayed graph; between two edits of a mask the wait costs nothing). `CAPTURE_LOCK` guards both the wait
and the write.
"""

import ctypes
import functools
import math
import re
import threading
import weakref
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from copy import copy
from itertools import groupby
from typing import Any

import numpy as np
from cuda.core import ObjectCode
from numba import types

from engine.device.cuda_faults import cuda_errors_in_words
from engine.device.cuda_streams import NewestLaunch, check
from engine.device.device_memory import device_array, fill_bytes, freeing_stream, uploaded
from engine.device.kernel_code import resources_of, with_code
from engine.device.launches import (
    ADDRESS,
    CAPTURE_LOCK,
    Between,
    DeviceArray,
    DeviceView,
    Kernel,
    Launch,
    Operand,
    Pass,
    Placeholder,
    Prepared,
    Signature,
    Stream,
    address_of,
    array_parameters,
    view_of,
)
from engine.device.numba_cuda import cuda, driver
from engine.device_info import KernelResources

Sides = tuple[int, int, int]

MOST_LOADED = 256
# Each kernel of a file of machine code has a section with its parameters.
_PARAMETERS = re.compile(rb"\0\.nv\.constant0\.([^\0]+)\0")
_NUMBERS: dict[Any, type] = {
    types.int32: ctypes.c_int32,
    types.int64: ctypes.c_int64,
    types.float32: ctypes.c_float,
    types.float64: ctypes.c_double,
}
_loading = threading.RLock()


class LoadedKernel:
    """A kernel's machine code, loaded for the selected device.

    It is launched, again and again, as a `BoundLaunch` with arguments of its signature.
    """

    def __init__(self, code: bytes, signature: Signature) -> None:
        self.code, self._signature = code, signature
        self._library = ObjectCode.from_cubin(code)
        (name,) = set(_PARAMETERS.findall(code))
        self._kernel = self._library.get_kernel(name)
        self.attributes = self._kernel.attributes
        # Asking loads it: now, and not while launches are captured.
        _ = self.attributes.num_regs

    @property
    def resources(self) -> KernelResources:
        """What it takes: the driver's word on registers and memory, the machine code's on barriers."""
        stated, barriers = self.attributes, 0
        with suppress(ValueError):
            barriers = resources_of(self.code).barriers
        memory = stated.shared_size_bytes, stated.local_size_bytes, stated.const_size_bytes
        return KernelResources(stated.num_regs, *memory, barriers)

    def bound(self, grid: Sides, block: Sides, arguments: Sequence[object]) -> "BoundLaunch":
        """Return a launch with these arguments."""
        return BoundLaunch(
            driver.CUfunction(int(self._kernel.handle)), grid, block, self._signature, arguments
        )

    def write(self, name: str, contents: np.ndarray) -> None:
        """Write its constant array of that name; the host waits until it is written."""
        address, size = self._global(name)
        if contents.nbytes != size:
            raise ValueError(f"{name} has {size} bytes in the compiled kernel, not {contents.nbytes}")
        check(driver.cuMemcpyHtoD(address, contents.ctypes.data, size))
        # From memory that is not page-locked it returns before the values have arrived, and not every stream
        # waits.
        cuda.synchronize()

    def _global(self, name: str) -> tuple[object, int]:
        status, address, size = driver.cuLibraryGetGlobal(self._library.handle, name.encode())
        check((status,))
        return address, size


class BoundLaunch:
    """A launch of a kernel with its arguments where the driver reads them; enqueueing takes 4 us.

    Only addresses of arrays can be replaced afterwards, by arrays of the same shape. One thread at a time.
    """

    def __init__(
        self, function: object, grid: Sides, block: Sides, signature: Signature, arguments: Sequence[Any]
    ) -> None:
        self._function = function
        # NumPy's whole numbers are refused.
        self._sides = (*map(int, grid), *map(int, block))
        # What is passed has to live as long.
        self._arguments = arguments
        self._address_slots: dict[int, int] = {}
        values: list[Any] = []
        for number, (kind, argument) in enumerate(zip(signature, arguments, strict=True)):
            if isinstance(kind, types.Array):
                self._address_slots[number] = len(values) + ADDRESS
                values += map(ctypes.c_int64, array_parameters(address_of(argument), argument))
            else:
                values.append(_NUMBERS[kind](argument))
        self._values = values
        self._pointers = (ctypes.c_void_p * len(values))(*map(ctypes.addressof, values))
        self._parameters = ctypes.addressof(self._pointers)

    def enqueue(self, stream: int, addresses: Iterable[tuple[int, int]]) -> None:
        """Enqueue the launch on the stream of that handle; `addresses` has pairs of argument and address."""
        for number, address in addresses:
            self._values[self._address_slots[number]].value = address
        check(driver.cuLaunchKernel(self._function, *self._sides, 0, stream, self._parameters, 0))


def loaded_kernel(kernel: Kernel, signature: Signature) -> LoadedKernel:
    """Return a kernel of `cuda.jit` compiled for arguments of these Numba types, on the selected device.

    Devices of one kind share it: its code is loaded into each of them.
    """
    # Another thread may be compiling it.
    with _loading:
        return _loaded_kernel(kernel, signature, tuple(cuda.get_current_device().compute_capability))


@functools.lru_cache(maxsize=MOST_LOADED)
def _loaded_kernel(kernel: Kernel, signature: Signature, capability: tuple[int, int]) -> LoadedKernel:
    return with_code(kernel, signature, capability, lambda code: LoadedKernel(code, signature))


# Bands of a picture, and masks that are chosen again, need the same values.
MOST_WITH_CONSTANTS = 16
# Unused copies of each kernel, by signature and device.
_free: weakref.WeakKeyDictionary[Kernel, dict[Any, deque[LoadedKernel]]] = weakref.WeakKeyDictionary()


def with_constant(kernel: Kernel, signature: Signature, name: str, values: np.ndarray) -> LoadedKernel:
    """Return a kernel whose constant array holds these values.

    The array is called `name` in the compiled module, and has as many float32 as `values`, in C order. Keep
    the kernel as long as it is launched, or a graph of its launches is replayed. The same values soon
    afterwards give the same object.
    """
    contents = np.ascontiguousarray(values, np.float32).tobytes()
    # Another device has an array of its own.
    return _with_constant(kernel, signature, cuda.get_current_device().id, name, contents)


@functools.lru_cache(maxsize=MOST_WITH_CONSTANTS)
def _with_constant(
    kernel: Kernel, signature: Signature, device: int, name: str, contents: bytes
) -> LoadedKernel:
    """Return a copy that is used nowhere else, with these values."""
    free = _free.setdefault(kernel, defaultdict(deque))[signature, device]
    try:
        loaded, is_new = free.pop(), False
    except IndexError:
        loaded, is_new = _new_copy(kernel, signature), True
    with CAPTURE_LOCK:
        if not is_new:
            # Its last launches may still be under way.
            cuda.synchronize()
        loaded.write(name, np.frombuffer(contents, np.float32))
    # When this object is dropped, the loaded code is written anew for other values.
    lent = copy(loaded)
    # Its last user may be dropped at any line of any thread: a deque takes that without a lock.
    weakref.finalize(lent, free.append, loaded).atexit = False
    return lent


def _new_copy(kernel: Kernel, signature: Signature) -> LoadedKernel:
    """Return the compiled code of a kernel, loaded once more; its constant array holds zeros."""
    return LoadedKernel(loaded_kernel(kernel, signature).code, signature)


# Pictures of one shape come with rows some ways apart: with each a launch of its own, of some kB.
MOST_BOUND = 64
_Step = tuple[LoadedKernel, Launch, tuple[Any, ...]]
_ALL = slice(None)


class PreparedPasses:
    """The passes of a CUDA variant, compiled ahead, with their arrays on the device.

    They are launched with a picture, or with the tuple of all operands, and a result. `more` are arrays
    between passes that no argument of a pass names.
    """

    def __init__(self, passes: Sequence[Pass], more: Sequence[Between] = ()) -> None:
        with cuda_errors_in_words("compiling the kernel and uploading the mask"):
            self._steps = [(_loaded(step), step.launch, _on_device(step.arguments)) for step in passes]
        self._parts = [step.part or step.name for step in passes]
        arguments = [value for step in passes for value in step.arguments]
        # By identity: an array among the arguments compares cell by cell.
        self._needs_scratch = any(value is Operand.SCRATCH for value in arguments)
        # Each once; those of one name have the same number of values.
        named = (value for value in arguments if isinstance(value, Between))
        self._wanted = tuple(dict.fromkeys((*named, *more)))
        self._between: dict[object, object] | None = None
        # By the shape of the result: what only passes use, for pictures however far apart their rows are.
        self._memories: dict[object, dict[object, object]] = {}
        self._newest = NewestLaunch()
        self._bound: dict[tuple[object, ...], _BoundPasses] = {}
        self._launching = threading.RLock()
        if self._wanted or self._needs_scratch:
            # The last launches may still be under way when this is dropped.
            weakref.finalize(self, self._newest.hold, freeing_stream()).atexit = False

    @property
    def resources(self) -> tuple[KernelResources, ...]:
        """What the kernel of each launch takes."""
        return tuple(kernel.resources for kernel, _, _ in self._steps)

    def launch(self, image: DeviceArray, out: object, stream: object = 0) -> None:
        """Enqueue one filtering of a device array, or of several, into another; on any number of streams."""
        self.launch_part(_ALL, image, out, stream)

    def launch_part(self, part: slice, image: object, out: object, stream: Stream = 0) -> None:
        """Enqueue some of the passes, on the values that a whole launch left."""
        given = _given(image, out)
        with self._launching:
            bound = self._bound.get(tuple([array.shape for array in given])) or self.bind(image, out)
            addresses = [address_of(array) for array in given]
            bound.enqueue(part, addresses, int(stream.handle) if stream else 0)

    def bind(self, image: DeviceArray, out: DeviceArray) -> "_BoundPasses":
        """Return the launches for arrays of these shapes, and keep them: launching allocates no more."""
        given = _given(image, out)
        with self._launching:
            if out.shape not in self._memories:
                self._memories[out.shape] = self._memory(out.shape)
            if len(self._bound) == MOST_BOUND:
                self._bound.clear()
            memory = self._memories[out.shape]
            newest = self._newest if memory else None
            bound = _BoundPasses(self._steps, memory, newest, [view_of(array) for array in given])
            self._bound[tuple(array.shape for array in given)] = bound
            return bound

    def part_ms(
        self, image: DeviceArray, out: object, clock: Callable[[Prepared], float]
    ) -> dict[str, float]:
        """Return the time of each part by itself, ms by its name; `clock` times what can be launched.

        They work on the values that a whole launch left.
        """
        found: dict[str, float] = {}
        for name, group in groupby(range(len(self._steps)), key=self._parts.__getitem__):
            first, *rest = group
            found[name] = found.get(name, 0.0) + clock(_Part(self, slice(first, first + len(rest) + 1)))
        return found

    def _memory(self, out_shape: tuple[int, ...]) -> dict[object, Any]:
        """Return the arrays that only passes use."""
        found = dict(self.between()) if self._wanted else {}
        if self._needs_scratch:
            with cuda_errors_in_words("allocating the values between two passes"):
                found[Operand.SCRATCH] = scratch = device_array(out_shape, np.float32)
                # NaN: a first pass that skips a cell must not seem right with an earlier run's value.
                fill_bytes(scratch, 255)
        return found

    def between(self) -> dict[Any, Any]:
        """Return the arrays between passes, which are allocated when they are first needed."""
        if self._between is None:
            kinds = {value.name: (math.prod(value.shape), np.dtype(value.dtype)) for value in self._wanted}
            total = sum(size * dtype.itemsize for size, dtype in kinds.values())
            with cuda_errors_in_words(f"allocating {total / 1e6:,.1f} MB for the values between passes"):
                found = {name: device_array((size,), dtype) for name, (size, dtype) in kinds.items()}
                for array in found.values():
                    # NaN: a pass that skips a value must not seem right with an earlier run's.
                    fill_bytes(array, 255)
            self._between = {value: found[value.name].reshape(value.shape) for value in self._wanted}
        return self._between


class _Part:
    """Some of several passes, which can be launched by themselves."""

    def __init__(self, whole: PreparedPasses, part: slice) -> None:
        self._whole, self._part = whole, part

    def launch(self, image: object, out: object, stream: object = 0) -> None:
        """Enqueue the passes."""
        self._whole.launch_part(self._part, image, out, stream)


class _BoundPasses:
    """The launches of all passes for arrays of given shapes: the operands, and the result at the end.

    `memory` has the values between passes; where there are some, a launch waits for the `newest` one before,
    which may be on another stream.
    """

    def __init__(
        self,
        steps: Sequence[_Step],
        memory: dict[object, object],
        newest: NewestLaunch | None,
        given: Sequence[DeviceView],
    ) -> None:
        self._launches = []
        for kernel, launch, arguments in steps:
            values, changing = list(arguments), []
            for number, argument in enumerate(arguments):
                if isinstance(argument, Placeholder) and argument is not Operand.SCRATCH:
                    values[number] = given[argument.number]
                    changing.append((number, argument.number))
                elif isinstance(argument, Placeholder | Between):
                    values[number] = memory[argument]
            self._launches.append((kernel.bound(launch.grid, launch.block, values), changing))
        self._newest = newest

    def enqueue(self, part: slice, addresses: Sequence[int], stream: int) -> None:
        """Enqueue some passes for operands and a result at these addresses."""
        if self._newest is not None:
            self._newest.wait(stream)
        for bound, changing in self._launches[part]:
            bound.enqueue(stream, [(number, addresses[which]) for number, which in changing])
        if self._newest is not None:
            self._newest.record(stream)


def _given(image: object, out: object) -> tuple[Any, ...]:
    """Return the arrays of a launch; a `DeviceView` is a tuple too."""
    return (*image, out) if type(image) is tuple else (image, out)


def _on_device(arguments: tuple[object, ...]) -> tuple[object, ...]:
    """Return arguments with their arrays (weights) on the device."""
    return tuple(uploaded(value) if isinstance(value, np.ndarray) else value for value in arguments)


def _loaded(step: Pass) -> LoadedKernel:
    """Return the kernel of a pass for the selected device, with its values in constant memory."""
    if step.constant is not None:
        return with_constant(step.kernel, step.signature, *step.constant)
    return loaded_kernel(step.kernel, step.signature)
