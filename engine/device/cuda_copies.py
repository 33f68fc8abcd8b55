"""Copies between the host and a GPU: rows that may be padded there, and arrays of other libraries."""

import math

import numpy as np
from numpy.typing import DTypeLike

from engine.device.capture_lock import CAPTURE_LOCK
from engine.device.cuda_faults import cuda_errors_in_words
from engine.device.cuda_streams import check, context_of
from engine.device.device_arrays import Given
from engine.device.device_memory import device_array
from engine.device.device_view import DeviceView, address_of
from engine.device.launches import DeviceArray, Stream
from engine.device.numba_cuda import driver
from engine.geometry.layout import Layout


def picture_array(
    shape: tuple[int, ...], dtype: DTypeLike, layout: Layout, *, is_read: bool = False
) -> DeviceArray:
    """Return an array for a picture (H, W, C), or a result, with its rows as a layout has them."""
    height, width, channels = shape
    pixels = layout.row_pixels(width, channels, np.dtype(dtype).itemsize)
    array = device_array((height, pixels, channels), dtype)
    if is_read and pixels != width:
        # 16 bytes at once may be read past a row's end: never used, but defined.
        fill_bytes(array, 0)
    return array


def copy_in(host: np.ndarray, device: object, stream: object, first_row: int = 0) -> None:
    """Enqueue a copy of a C-contiguous picture (H, W, C) to a device array (H or more, W or more, C).

    Both have the same type; other arrays are of the same shape.
    """
    _copy_rows(host, device, stream, first_row, to_device=True)


def copy_out(device: object, host: np.ndarray, stream: object, first_row: int = 0) -> None:
    """Enqueue a copy of as many rows of a device array as a picture has; arrays as for `copy_in`."""
    _copy_rows(host, device, stream, first_row, to_device=False)


def _copy_rows(
    host: np.ndarray, device: DeviceArray, stream: Stream, first_row: int, *, to_device: bool
) -> None:
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


def fill_bytes(device: DeviceArray, byte: int) -> None:
    """Fill a device array with one byte and wait; 255 makes every float32 a NaN."""
    address = driver.CUdeviceptr(address_of(device))
    with CAPTURE_LOCK:
        check(driver.cuMemsetD8(address, byte, device.size * device.dtype.itemsize))
        check(driver.cuCtxSynchronize())


def enqueue_fill(device: object, byte: int, size: int, stream: Stream) -> None:
    """Enqueue filling the first `size` bytes of a device array."""
    address = driver.CUdeviceptr(address_of(device))
    check(driver.cuMemsetD8Async(address, byte, size, driver.CUstream(int(stream.handle))))


def on_host(picture: Given) -> np.ndarray:
    """Return a copy of an array on the host, after all work on its stream."""
    address, shape, dtype, strides, device, _ = picture.found
    steps = DeviceView(address, shape, dtype).strides if strides is None else strides
    if 0 in shape:
        return np.empty(shape, dtype)
    spans = [(length - 1) * step for length, step in zip(shape, steps, strict=True)]
    # Of a view also what lies between its samples.
    before = -sum(span for span in spans if span < 0)
    memory = np.empty(sum(map(abs, spans)) + dtype.itemsize, np.uint8)
    with cuda_errors_in_words("copying to the host"), context_of(device).selected():
        check(driver.cuMemcpyDtoHAsync(memory.ctypes.data, address - before, memory.nbytes, picture.stream))
        check(driver.cuStreamSynchronize(picture.stream))
    return np.ndarray(shape, dtype, memory, before, steps)


def on_device(values: np.ndarray, like: Given) -> object:
    """Return a copy of an array of the host, of the kind and on the device of another array."""
    values = np.ascontiguousarray(values)
    out = like.library.empty(values.shape, values.dtype, like)
    address, stream = like.library.address(out), like.stream
    with cuda_errors_in_words("copying to the device"), context_of(like.found.device).selected():
        check(driver.cuMemcpyHtoDAsync(address, values.ctypes.data, values.nbytes, stream))
        check(driver.cuStreamSynchronize(stream))
    return out
