"""Copies between the host's dense rows and the device's rows, which may be padded."""

import math
from typing import Any

import numpy as np

from engine.device.capture_lock import CAPTURE_LOCK
from engine.device.cuda_graph import check
from engine.device.device_view import address_of
from engine.device.numba_cuda import driver


def copy_in(host: np.ndarray, device: Any, stream: Any, first_row: int = 0) -> None:
    """Enqueue a copy of a C-contiguous picture (H, W, C) to a device array (H or more, W or more, C).

    Both have the same type; other arrays are of the same shape.
    """
    _copy_rows(host, device, stream, first_row, to_device=True)


def copy_out(device: Any, host: np.ndarray, stream: Any, first_row: int = 0) -> None:
    """Enqueue a copy of as many rows of a device array as a picture has; arrays as for `copy_in`."""
    _copy_rows(host, device, stream, first_row, to_device=False)


def _copy_rows(host: np.ndarray, device: Any, stream: Any, first_row: int, *, to_device: bool) -> None:
    row_bytes = host[0].nbytes
    pitch_bytes = math.prod(device.shape[1:]) * host.itemsize
    address = address_of(device) + first_row * pitch_bytes
    handle = int(stream.handle) if stream else 0
    if row_bytes == pitch_bytes:
        # Takes 3 us of the host's time instead of 14.
        if to_device:
            check(driver.cuMemcpyHtoDAsync(address, host.ctypes.data, host.nbytes, handle))
        else:
            check(driver.cuMemcpyDtoHAsync(host.ctypes.data, address, host.nbytes, handle))
        return
    copy = driver.CUDA_MEMCPY2D()
    copy.WidthInBytes, copy.Height = row_bytes, host.shape[0]
    source, target = ("src", "dst") if to_device else ("dst", "src")
    facts = {
        f"{source}MemoryType": driver.CUmemorytype.CU_MEMORYTYPE_HOST,
        f"{source}Host": host.ctypes.data,
        f"{source}Pitch": row_bytes,
        f"{target}MemoryType": driver.CUmemorytype.CU_MEMORYTYPE_DEVICE,
        f"{target}Device": driver.CUdeviceptr(address),
        f"{target}Pitch": pitch_bytes,
    }
    for name, value in facts.items():
        setattr(copy, name, value)
    check(driver.cuMemcpy2DAsync(copy, driver.CUstream(handle)))


def fill_bytes(device: Any, byte: int) -> None:
    """Fill a device array with one byte and wait; 255 makes every float32 a NaN."""
    address = driver.CUdeviceptr(address_of(device))
    with CAPTURE_LOCK:
        check(driver.cuMemsetD8(address, byte, device.size * device.dtype.itemsize))
        check(driver.cuCtxSynchronize())


def enqueue_fill(device: Any, byte: int, size: int, stream: Any) -> None:
    """Enqueue filling the first `size` bytes of a device array."""
    address = driver.CUdeviceptr(address_of(device))
    check(driver.cuMemsetD8Async(address, byte, size, driver.CUstream(int(stream.handle))))
