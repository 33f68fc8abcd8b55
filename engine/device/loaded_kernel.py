"""CUDA kernels on a device: loaded by cuda.core, launched by the driver.

An array in constant memory that the host fills is a variable of the compiled module: two masks of one kernel
would share it, and a graph captured with one would replay with the other. So each prepared kernel is the
compiled code loaded once more (0.6 ms on an H200's host). Loaded code takes 0.1 MB of device memory, and
masks are edited all day, so a copy that is no longer used is written anew for the next mask. Its last
launches may still be running: the host first waits for all work in the device's context (no event can be
recorded for a replayed graph; between two edits the wait costs nothing). `CAPTURE_LOCK` guards both.
"""

import ctypes
import functools
import re
import threading
import weakref
from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from contextlib import suppress
from copy import copy
from typing import Any

import numpy as np
from numba import types

from engine.compiled.late_names import late
from engine.device.cuda_memory import check
from engine.device.kernel_code import resources_of, with_code
from engine.device.launches import ADDRESS, CAPTURE_LOCK, Kernel, Signature, address_of, array_parameters
from engine.device.numba_cuda import cuda, driver
from engine.results.occupancy import KernelResources

# What only knows what passes are needs no package of CUDA.
(core,) = late("cuda", "core")
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
        self._library = core.ObjectCode.from_cubin(code)
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
        status, address, size = driver.cuLibraryGetGlobal(self._library.handle, name.encode())
        check((status,))
        if contents.nbytes != size:
            raise ValueError(f"{name} has {size} bytes in the compiled kernel, not {contents.nbytes}")
        check(driver.cuMemcpyHtoD(address, contents.ctypes.data, size))
        # From memory that is not page-locked it returns before the values have come; not every stream waits.
        cuda.synchronize()


class BoundLaunch:
    """A launch of a kernel with its arguments where the driver reads them; enqueueing takes 4 us.

    Only addresses of arrays can be replaced afterwards, by arrays of the same shape. One thread at a time.
    """

    def __init__(
        self, function: object, grid: Sides, block: Sides, signature: Signature, arguments: Sequence[Any]
    ) -> None:
        # What is passed has to live as long. NumPy's whole numbers are refused as sides.
        self._function, self._arguments = function, arguments
        self._sides = (*map(int, grid), *map(int, block))
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
    the kernel while it is launched, or a graph of it replayed. The same values soon give the same object.
    """
    contents = np.ascontiguousarray(values, np.float32).tobytes()
    # Another device has an array of its own.
    return _with_constant(kernel, signature, cuda.get_current_device().id, name, contents)


@functools.lru_cache(maxsize=MOST_WITH_CONSTANTS)
def _with_constant(
    kernel: Kernel, signature: Signature, device: int, name: str, contents: bytes
) -> LoadedKernel:
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
    return LoadedKernel(loaded_kernel(kernel, signature).code, signature)
