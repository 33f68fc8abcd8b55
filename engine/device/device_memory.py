"""Memory of the selected device, from a pool of the driver, small arrays that kernels read, pinned memory.

A pool hands freed memory out again without asking the system: a preview or a repeated run costs no
allocation. An array is freed when nothing refers to it any more; no work on it may be under way then. The
contents of a new one are undefined.
"""

import atexit
import math
import weakref
from functools import cache, lru_cache, partial

import numpy as np
from numpy.typing import DTypeLike

from engine.device.capture_lock import CAPTURE_LOCK
from engine.device.cuda_streams import check
from engine.device.device_view import DeviceView
from engine.device.launches import DeviceArray
from engine.device.numba_cuda import cuda, driver
from engine.device.spares import Spares

# At most a quarter of a device's memory stays in the pool when it is free: the rest is for other programs.
KEPT_SHARE = 4
MOST_SPARES = 24
MOST_SPARE_BYTES = 1 << 30
# Bands of a picture, repeated runs with one mask, and undone edits need the same weights.
MOST_UPLOADS = 32


def device_array(shape: tuple[int, ...], dtype: DTypeLike) -> DeviceArray:
    """Return an uninitialised, C-contiguous array."""
    if not cuda.get_current_device().MEMORY_POOLS_SUPPORTED:
        return cuda.device_array(shape, dtype)
    size = math.prod(shape) * np.dtype(dtype).itemsize
    return array_in(_allocated(max(1, size)), shape, dtype)


def array_in(memory: object, shape: tuple[int, ...], dtype: DTypeLike) -> DeviceArray:
    """Return a C-contiguous array at the beginning of memory (the `gpu_data` of an array), which it holds."""
    # A slice of an array of bytes, its view and that one's shape would be three arrays: 0.1 ms.
    strides = DeviceView(0, shape, np.dtype(dtype)).strides
    return cuda.cudadrv.devicearray.DeviceNDArray(shape, strides, dtype, gpu_data=memory)


def _allocated(size: int) -> object:
    pool, stream = _pool(cuda.get_current_device().id)
    answer = driver.cuMemAllocFromPoolAsync(size, pool, stream)
    if answer[0] == driver.CUresult.CUDA_ERROR_OUT_OF_MEMORY:
        # What the pool keeps in pieces may be enough in one.
        check(driver.cuMemPoolTrimTo(pool, 0))
        answer = driver.cuMemAllocFromPoolAsync(size, pool, stream)
    address = check(answer)
    memory = cuda.MemoryPointer(
        cuda.current_context(), address, size, finalizer=partial(_free, address, stream)
    )
    # All streams may use it now.
    check(driver.cuStreamSynchronize(stream))
    return memory


def freeing_stream() -> object:
    """Return the stream on which memory of the selected device is freed; None where it has no pool."""
    if not cuda.get_current_device().MEMORY_POOLS_SUPPORTED:
        return None
    return _pool(cuda.get_current_device().id)[1]


def _free(address: object, stream: object) -> None:
    """Give memory back to its pool; a capture of launches that is under way on this thread goes on."""
    relaxed = driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
    _, mode = driver.cuThreadExchangeStreamCaptureMode(relaxed)
    driver.cuMemFreeAsync(address, stream)
    driver.cuThreadExchangeStreamCaptureMode(mode)


@cache
def _pool(device: int) -> tuple[object, object]:
    """Return the pool of a device, and a stream on which nothing but allocating and freeing is enqueued.

    That stream is never captured, and waits for no other one: memory may be freed on any thread, at any time.
    """
    properties = driver.CUmemPoolProps()
    properties.allocType = driver.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
    properties.location.type = driver.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
    properties.location.id = device
    pool = check(driver.cuMemPoolCreate(properties))
    kept = driver.CUmemPool_attribute.CU_MEMPOOL_ATTR_RELEASE_THRESHOLD
    total = cuda.current_context().get_memory_info().total
    check(driver.cuMemPoolSetAttribute(pool, kept, driver.cuuint64_t(total // KEPT_SHARE)))
    return pool, check(driver.cuStreamCreate(driver.CUstream_flags.CU_STREAM_NON_BLOCKING))


def uploaded(values: np.ndarray) -> DeviceArray:
    """Return an array on the device with a copy of these values, the same one for the same values.

    Kernels may only read it. The upload goes through the default stream, so it waits for all work under way
    on the device, and all other work waits for it.
    """
    device = cuda.get_current_device().id
    return _uploaded(device, values.shape, values.dtype.str, values.tobytes())


@lru_cache(maxsize=MOST_UPLOADS)
def _uploaded(device: int, shape: tuple[int, ...], dtype: str, contents: bytes) -> DeviceArray:
    array = device_array(shape, dtype)
    with CAPTURE_LOCK:
        array.copy_to_device(np.frombuffer(contents, dtype).reshape(shape))
    return array


# Page-locked memory of the host, which a device copies by itself; kept, as 2 MB take 1 ms to make.
_spares: Spares[np.ndarray] = Spares(lambda memory: memory.nbytes, MOST_SPARES)


def pinned_array(shape: tuple[int, ...], dtype: DTypeLike) -> np.ndarray:
    """Return an uninitialised array; once it is dropped its memory serves others, despite any views."""
    size = math.prod(shape) * np.dtype(dtype).itemsize
    memory = _spares.take(size)
    if memory is None:
        memory = _new_pinned(max(1, size))
    array: np.ndarray = memory[:size].view(dtype).reshape(shape)
    weakref.finalize(array, _spares.keep, [memory], MOST_SPARE_BYTES).atexit = False
    return array


def _new_pinned(size: int) -> np.ndarray:
    try:
        memory: np.ndarray = cuda.pinned_array(size, np.uint8)
    except Exception:  # noqa: BLE001 - "out of memory" has many types
        _spares.trim(0)
        memory = cuda.pinned_array(size, np.uint8)
    return memory


# While the driver still works.
atexit.register(_uploaded.cache_clear)
