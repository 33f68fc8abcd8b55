"""CUDA kernels on a device, loaded and launched by cuda.core."""

import ctypes
import functools
import re
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
from cuda.core import LaunchConfig, ObjectCode, Stream, launch
from numba import types

from engine.device.cuda_graph import check
from engine.device.kernel_code import with_code
from engine.device.launches import Kernel, Signature
from engine.device.launches import Stream as NumbaStream
from engine.device.numba_cuda import cuda, driver

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

    It is launched as `kernel[grid, block, stream](*arguments)`, with arguments of its signature.
    """

    def __init__(self, code: bytes, signature: Signature) -> None:
        self.code, self._signature = code, signature
        self._library = ObjectCode.from_cubin(code)
        (name,) = set(_PARAMETERS.findall(code))
        self._kernel = self._library.get_kernel(name)
        self.attributes = self._kernel.attributes
        # Asking loads it: now, and not while launches are captured.
        _ = self.attributes.num_regs

    def __getitem__(self, configuration: tuple[Sides, Sides, NumbaStream]) -> Callable[..., None]:
        grid, block, stream = configuration
        handle = int(stream.handle) if stream else 0
        return functools.partial(self._launch, Stream.from_handle(handle), _launch_config(grid, block))

    def _launch(self, stream: Stream, config: LaunchConfig, *arguments: Any) -> None:
        values: list[Any] = []
        for kind, argument in zip(self._signature, arguments, strict=True):
            if isinstance(kind, types.Array):
                # As Numba passes an array: no owner and no parent, as nothing counts references.
                address = argument.device_ctypes_pointer.value
                size, itemsize = argument.size, argument.dtype.itemsize
                values += (0, 0, size, itemsize, address, *argument.shape, *argument.strides)
            else:
                values.append(_NUMBERS[kind](argument))
        launch(stream, config, self._kernel, *values)

    def write(self, name: str, contents: np.ndarray) -> None:
        """Write its constant array of that name; the host waits until it is written."""
        address, size = self._global(name)
        if contents.nbytes != size:
            raise ValueError(f"{name} has {size} bytes in the compiled kernel, not {contents.nbytes}")
        check(driver.cuMemcpyHtoD(address, contents.ctypes.data, size))
        # From memory that is not page-locked it returns before the values have arrived, and not every stream
        # waits.
        cuda.synchronize()

    def _global(self, name: str) -> tuple[Any, int]:
        status, address, size = driver.cuLibraryGetGlobal(self._library.handle, name.encode())
        check((status,))
        return address, size


@functools.lru_cache(maxsize=MOST_LOADED)
def _launch_config(grid: Sides, block: Sides) -> LaunchConfig:
    # NumPy's whole numbers are refused.
    return LaunchConfig(grid=tuple(map(int, grid)), block=tuple(map(int, block)))


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
