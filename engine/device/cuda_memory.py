"""The GPU of a thread, the order of its streams, and its memory: from a pool, pinned, copied to and fro.

A GPU is selected for a call and given back: CuPy and torch use the current one. A pool hands freed memory out
again without asking the system: a preview or a repeated run costs no allocation. An array is freed when
nothing refers to it any more; no work on it may be under way then. The contents of a new one are undefined.
"""

import atexit
import math
import weakref
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache, lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from engine.device.host_memory import UnusedBuffers
from engine.device.launches import CAPTURE_LOCK, DeviceArray, DeviceView, Stream, address_of
from engine.device.numba_cuda import cuda, driver
from engine.geometry.block import Layout


def check(answer: tuple[Any, ...]) -> Any:
    """Return what a driver call answers, raising what Numba raises if it failed."""
    if answer[0]:
        raise cuda.cudadrv.driver.CudaAPIError(int(answer[0]), answer[0].name)
    return answer[1] if len(answer) > 1 else None


class Context:
    """The primary context of a GPU, which all libraries share."""

    def __init__(self, device: int) -> None:
        # Numba makes it ready for its own use as well.
        with cuda.gpus[device]:
            self._own = check(driver.cuCtxGetCurrent())
        self._address, self._is_first = int(self._own), device == 0

    def select(self) -> None:
        """Make it the calling thread's."""
        check(driver.cuCtxSetCurrent(self._own))

    def selected(self) -> AbstractContextManager[None]:
        """Make it the calling thread's for the while; afterwards the thread has the one that it had.

        Where no context is current CUDA takes GPU 0: a thread that had none keeps that one.
        """
        # Asking takes 1 us, making it current 5.
        before = int(check(driver.cuCtxGetCurrent()))
        if before == self._address:
            return nullcontext()
        if not before and self._is_first:
            self.select()
            return nullcontext()
        return self._pushed()

    @contextmanager
    def _pushed(self) -> Iterator[None]:
        check(driver.cuCtxPushCurrent(self._own))
        try:
            yield
        finally:
            # After a fault of the device the driver refuses this too, and the fault is what is raised.
            driver.cuCtxPopCurrent()


@cache
def context_of(device: int) -> Context:
    """Return the context of the GPU of that number, started by the first call."""
    return Context(device)


class Event:
    """A point in a stream, without a time."""

    def __init__(self) -> None:
        self.handle = check(driver.cuEventCreate(driver.CUevent_flags.CU_EVENT_DISABLE_TIMING))
        weakref.finalize(self, driver.cuEventDestroy, self.handle).atexit = False

    def record(self, stream: int) -> None:
        """Put it behind what is on a stream now."""
        check(driver.cuEventRecord(self.handle, stream))

    def synchronize(self) -> None:
        """Return when the device has reached it."""
        check(driver.cuEventSynchronize(self.handle))


class NewestLaunch:
    """The end of the newest launch that uses some memory; the next one waits for it, whatever its stream."""

    def __init__(self) -> None:
        self._event: Event | None = None

    def wait(self, stream: int) -> None:
        """Have what is enqueued on a stream from now on wait for it."""
        # Also on a stream of the same handle: that may be a new one, made when the other was destroyed.
        if self._event is not None and not is_captured(stream):
            check(driver.cuStreamWaitEvent(stream, self._event.handle, 0))

    def hold(self, stream: object) -> None:
        """Do the same in a finalizer, for a stream that is never captured, whatever the driver answers."""
        if self._event is not None and stream is not None:
            driver.cuStreamWaitEvent(stream, self._event.handle, 0)

    def record(self, stream: int) -> None:
        """Say that the newest launch is the last work on a stream so far."""
        if is_captured(stream):
            # A replay is ordered by whoever replays it.
            return
        self._event = self._event or Event()
        self._event.record(stream)


def is_captured(stream: int) -> bool:
    """Return whether launches on a stream go into a graph, or would spoil one that is being captured."""
    status, *answer = driver.cuStreamIsCapturing(stream)
    if status == driver.CUresult.CUDA_ERROR_STREAM_CAPTURE_IMPLICIT:
        # The default stream, while a stream that waits for it is captured.
        return True
    return bool(check((status, *answer)))


def order_after(stream: int, other: int) -> None:
    """Have what is enqueued on a stream from now on wait for what is on another one now."""
    newest = NewestLaunch()
    newest.record(other)
    newest.wait(stream)


# At most a quarter of a device's memory stays in the pool when it is free: the rest is for other programs.
KEPT_SHARE = 4
MOST_UNUSED, MOST_UNUSED_BYTES = 24, 1 << 30
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
    free = partial(_free, address, stream)
    memory = cuda.MemoryPointer(cuda.current_context(), address, size, finalizer=free)
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
    return _uploaded(cuda.get_current_device().id, values.shape, values.dtype.str, values.tobytes())


@lru_cache(maxsize=MOST_UPLOADS)
def _uploaded(device: int, shape: tuple[int, ...], dtype: str, contents: bytes) -> DeviceArray:
    array = device_array(shape, dtype)
    with CAPTURE_LOCK:
        array.copy_to_device(np.frombuffer(contents, dtype).reshape(shape))
    return array


# Page-locked memory of the host, which a device copies by itself; kept, as 2 MB take 1 ms to make.
_unused: UnusedBuffers[np.ndarray] = UnusedBuffers(lambda memory: memory.nbytes, MOST_UNUSED)


def pinned_array(shape: tuple[int, ...], dtype: DTypeLike) -> np.ndarray:
    """Return an uninitialised array; once it is dropped its memory serves others, despite any views."""
    size = math.prod(shape) * np.dtype(dtype).itemsize
    memory = _unused.take(size)
    if memory is None:
        memory = _new_pinned(max(1, size))
    array: np.ndarray = memory[:size].view(dtype).reshape(shape)
    weakref.finalize(array, _unused.keep, [memory], MOST_UNUSED_BYTES).atexit = False
    return array


def _new_pinned(size: int) -> np.ndarray:
    try:
        memory: np.ndarray = cuda.pinned_array(size, np.uint8)
    except Exception:  # noqa: BLE001 - "out of memory" has many types
        _unused.trim(0)
        memory = cuda.pinned_array(size, np.uint8)
    return memory


# While the driver still works.
atexit.register(_uploaded.cache_clear)


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
    row_bytes, pitch_bytes = host[0].nbytes, math.prod(device.shape[1:]) * host.itemsize
    address, there = address_of(device) + first_row * pitch_bytes, host.ctypes.data
    handle = int(stream.handle) if stream else 0
    if row_bytes == pitch_bytes:
        # Takes 3 us of the host's time instead of 14.
        if to_device:
            check(driver.cuMemcpyHtoDAsync(address, there, host.nbytes, handle))
        else:
            check(driver.cuMemcpyDtoHAsync(there, address, host.nbytes, handle))
        return
    copy, kinds = driver.CUDA_MEMCPY2D(), driver.CUmemorytype
    copy.WidthInBytes, copy.Height = row_bytes, host.shape[0]
    of_host, of_device = ("src", "dst") if to_device else ("dst", "src")
    for name, value in (
        (f"{of_host}MemoryType", kinds.CU_MEMORYTYPE_HOST),
        (f"{of_host}Host", there),
        (f"{of_host}Pitch", row_bytes),
        (f"{of_device}MemoryType", kinds.CU_MEMORYTYPE_DEVICE),
        (f"{of_device}Device", driver.CUdeviceptr(address)),
        (f"{of_device}Pitch", pitch_bytes),
    ):
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
