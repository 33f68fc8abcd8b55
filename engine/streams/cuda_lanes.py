"""The lanes of a CUDA device: three streams, events of one clock, and memory for the slots that is kept between runs."""

import threading
from collections.abc import Iterable
from functools import cache
from typing import Any

import numpy as np
from numba.cuda.cudadrv.devicearray import DeviceNDArray

from engine.device.backend import Buffers
from engine.device.cuda_graph import RepeatedLaunch, check
from engine.device.cuda_pool import device_pool, pinned_pool
from engine.device.cuda_rows import copy_rows
from engine.device.numba_cuda import cuda
from engine.layout import Layout
from engine.streams.lanes import Work
from engine.streams.timeline import Lane
from engine.variants.contract import Prepared

SMALLEST_BYTES = 1 << 16
# Views of a slot's memory: pictures of a batch that differ in size could have one each.
MOST_VIEWS = 64
NOWHERE = np.empty(0, np.float32)


@cache
def _streams(device: int) -> dict[Lane, Any]:
    """Return a stream for each lane of a device, made once."""
    return {lane: cuda.stream() for lane in (Lane.COPY_IN, Lane.KERNEL, Lane.COPY_OUT)}


class CudaLanes:
    """The selected device as the pipeline sees it.

    Parameters
    ----------
    layout : Layout
        Of the rows on the device.
    """

    def __init__(self, layout: Layout) -> None:
        from cuda.bindings import driver

        self._driver = driver
        self._layout = layout
        self._streams = _streams(cuda.get_current_device().id)
        self._handles = {lane: driver.CUstream(int(stream.handle)) for lane, stream in self._streams.items()}
        self._thread, self._context = threading.get_ident(), check(driver.cuCtxGetCurrent())
        # Memory that became too small may still be in use by a copy: the pool gets it back with the rest.
        self._memory: dict[tuple[int, str], Any] = {}
        self._pool = device_pool()
        self._views: dict[Any, Any] = {}
        self._launches: dict[tuple[int, int], RepeatedLaunch] = {}
        self._events: list[Any] = []
        self._free_events: list[Any] = []
        self._zero = self.mark(Lane.COPY_IN)
        self.wait(self._zero)

    def arrays(self, slot: int, work: Work) -> tuple[Any, Any]:
        """Return views of the slot's device memory, rows padded as the layout says."""
        height, width, channels = work.shape
        dtypes = work.sources[0].dtype, work.target.dtype
        key = slot, work.shape, dtypes
        if key not in self._views:
            if len(self._views) >= MOST_VIEWS:
                self._views.clear()
                self._forget_launches()
            self._views[key] = tuple(
                self._device_array(
                    (slot, which),
                    (height, self._layout.row_pixels(width, channels, dtype.itemsize), channels),
                    dtype,
                )
                for which, dtype in zip(("image", "out"), dtypes, strict=True)
            )
        image, out = self._views[key]
        return image, out

    def _device_array(self, name: tuple[int, str], shape: tuple[int, int, int], dtype: Any) -> Any:
        size = shape[0] * shape[1] * shape[2] * dtype.itemsize
        memory = self._memory.get(name)
        if memory is None or memory.size < size:
            memory = self._memory[name] = self._pool.take((_rounded(size),), np.uint8)
            self._pool.follow(self, memory)
            if name[1] == "image":
                # 16 bytes at once may be read past a row's end; what is there is never used, but it is written. Not
                # `fill_bytes`: that waits for all that is under way.
                address = self._driver.CUdeviceptr(memory.__cuda_array_interface__["data"][0])
                check(self._driver.cuMemsetD8Async(address, 0, memory.size, self._handles[Lane.COPY_IN]))
        # Not `memory[:size].view(dtype).reshape(shape)`: that makes three arrays, 0.1 ms before the first copy.
        strides = shape[1] * shape[2] * dtype.itemsize, shape[2] * dtype.itemsize, dtype.itemsize
        return DeviceNDArray(shape, strides, dtype, gpu_data=memory.gpu_data)

    def pinned(self, slot: int, which: str, like: tuple[tuple[int, ...], np.dtype[Any]]) -> np.ndarray:
        """Return a view of the slot's pinned memory."""
        shape, dtype = like
        size = int(np.prod(shape)) * dtype.itemsize
        name = slot, "pinned " + which
        memory = self._memory.get(name)
        if memory is None or memory.size < size:
            memory = self._memory[name] = pinned_pool().take((_rounded(size),), np.uint8)
            pinned_pool().follow(self, memory)
        view: np.ndarray = memory[:size].view(dtype).reshape(shape)
        return view

    def is_pinned(self, array: np.ndarray) -> bool:
        """Return whether the driver knows the first and the last byte as page-locked, whoever locked them."""
        begin = array.ctypes.data
        return all(self._is_host_memory(address) for address in (begin, begin + array.nbytes - 1))

    def _is_host_memory(self, address: int) -> bool:
        kind = self._driver.CUpointer_attribute.CU_POINTER_ATTRIBUTE_MEMORY_TYPE
        status, found = self._driver.cuPointerGetAttribute(kind, self._driver.CUdeviceptr(address))
        known = status == self._driver.CUresult.CUDA_SUCCESS
        return known and int(found) == int(self._driver.CUmemorytype.CU_MEMORYTYPE_HOST)

    def copy_in(self, host: np.ndarray, on_device: Any, row: int) -> None:
        """Enqueue a copy to the device."""
        copy_rows(host, on_device, self._streams[Lane.COPY_IN], to_device=True, first_row=row)

    def launch(self, prepared: Prepared, image: Any, out: Any) -> None:
        """Enqueue the kernels."""
        key = id(prepared), id(image)
        if key not in self._launches:
            # It holds the variant and the arrays, so that their ids are not given to others.
            buffers = Buffers(image, out, NOWHERE)
            self._launches[key] = RepeatedLaunch(prepared, buffers, self._streams[Lane.KERNEL])
        self._launches[key].enqueue()

    def copy_out(self, on_device: Any, row: int, host: np.ndarray) -> None:
        """Enqueue a copy to the host."""
        copy_rows(host, on_device, self._streams[Lane.COPY_OUT], to_device=False, first_row=row)

    def _forget_launches(self) -> None:
        for launch in self._launches.values():
            launch.close()
        self._launches.clear()

    def mark(self, lane: Lane) -> Any:
        """Record an event."""
        if self._free_events:
            event = self._free_events.pop()
        else:
            event = check(self._driver.cuEventCreate(0))
            self._events.append(event)
        check(self._driver.cuEventRecord(event, self._handles[lane]))
        return event

    def after(self, lane: Lane, mark: Any) -> None:
        """Let a stream wait for an event."""
        check(self._driver.cuStreamWaitEvent(self._handles[lane], mark, 0))

    def wait(self, mark: Any) -> None:
        """Wait for an event. Called on: any thread."""
        if threading.get_ident() != self._thread:
            check(self._driver.cuCtxSetCurrent(self._context))
        check(self._driver.cuEventSynchronize(mark))

    def is_reached(self, mark: Any) -> bool:
        """Return whether an event was reached."""
        (status,) = self._driver.cuEventQuery(mark)
        if status == self._driver.CUresult.CUDA_ERROR_NOT_READY:
            return False
        check((status,))
        return True

    def ms(self, mark: Any) -> float:
        """Return the time from the first event to this one."""
        return float(check(self._driver.cuEventElapsedTime(self._zero, mark)))

    def forget(self, marks: Iterable[Any]) -> None:
        """Take events back."""
        self._free_events += marks

    def drain(self) -> None:
        """Wait for all three streams."""
        for handle in self._handles.values():
            check(self._driver.cuStreamSynchronize(handle))

    def close(self) -> None:
        """Free the events and graphs; the memory is kept for the next run."""
        self._forget_launches()
        for event in self._events:
            check(self._driver.cuEventDestroy(event))
        self._events.clear()
        self._free_events.clear()


def _rounded(size: int) -> int:
    """Return up to a quarter more: chunks that differ a little use the same memory, also in the next run."""
    step = max(SMALLEST_BYTES, 1 << max(0, (size - 1).bit_length() - 3))
    return -(-size // step) * step
