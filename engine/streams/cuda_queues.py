"""The queues of a CUDA device: a stream each, events of one clock, memory for slots that is kept."""

import threading
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numba.cuda.cudadrv.devicearray import DeviceNDArray

from engine.device.backend import Buffers
from engine.device.cuda_graph import RepeatedLaunch, check
from engine.device.cuda_kernels import PreparedPasses
from engine.device.cuda_pool import device_pool, pinned_pool
from engine.device.cuda_rows import copy_rows
from engine.device.launches import Prepared
from engine.device.numba_cuda import cuda
from engine.geometry.layout import Layout
from engine.streams.chunk_jobs import ChunkJob
from engine.streams.timeline import Queue

SMALLEST_BYTES = 1 << 16
# Views of a slot's memory: pictures of a batch that differ in size could have one each.
MOST_VIEWS = 64
# A variant for each slot of the largest ring; each holds what its passes keep between them.
MOST_LAUNCHES = 16
NOWHERE = np.empty(0, np.float32)


@cache
def _streams(device: int) -> tuple[dict[Queue, Any], Any, Any]:
    """Return a stream for each queue of a device, one that reads the clock for copies out, and an idle one.

    They are made once, and two threads' pictures go through the same ones.
    """
    queues = {queue: cuda.stream() for queue in (Queue.COPY_IN, Queue.KERNEL, Queue.COPY_OUT)}
    return queues, cuda.stream(), cuda.stream()


@dataclass(frozen=True, slots=True)
class _Mark:
    """A point in a queue: the event there, and the one whose time counts.

    An event with a time keeps a copy engine from its next copy for 6 us, one without does not (H200). Copies
    out end last of all, so their queue has events without, and a stream beside it waits for these and has the
    time, some us later.
    """

    reached: Any
    timed: Any


class CudaQueues:
    """The selected device as the pipeline sees it: three queues, marks in them, arrays for slots.

    Everything but `wait` and the arrays returns at once; a queue works in order. A slot's pictures of all
    shapes lie in the same memory, and so do its results.
    """

    def __init__(self, layout: Layout) -> None:
        from cuda.bindings import driver

        self._driver = driver
        self._layout = layout
        self._streams, clock, idle = _streams(cuda.get_current_device().id)
        self._handles = {
            queue: driver.CUstream(int(stream.handle)) for queue, stream in self._streams.items()
        }
        self._clock = driver.CUstream(int(clock.handle))
        self._thread, self._context = threading.get_ident(), check(driver.cuCtxGetCurrent())
        # Memory that became too small may still be in use by a copy: the pool gets it back with the rest.
        self._memory: dict[tuple[int, str], Any] = {}
        self._pool = device_pool()
        self._views: dict[Any, Any] = {}
        self._launches: dict[tuple[int, int], RepeatedLaunch] = {}
        self._marks: list[_Mark] = []
        # By whether the queue has events without a time.
        self._free_marks: dict[bool, list[_Mark]] = {False: [], True: []}
        # Time 0 is now, also while another thread uses the queues.
        self._zero = self._new_mark(is_apart=False)
        check(driver.cuEventRecord(self._zero.timed, driver.CUstream(int(idle.handle))))
        self.wait(self._zero)

    def image(self, slot: int, job: ChunkJob) -> Any:
        """Return a slot's device memory for the chunk's picture."""
        return self._view((slot, "image"), job.shape, job.sources[0].dtype)

    def result(self, slot: int, job: ChunkJob) -> Any:
        """Return a slot's device memory for the result of that picture."""
        return self._view((slot, "out"), job.shape, job.target.dtype)

    def _view(self, name: tuple[int, str], shape: tuple[int, int, int], dtype: np.dtype) -> Any:
        key = name, shape, dtype
        if key not in self._views:
            if len(self._views) >= MOST_VIEWS:
                self._views.clear()
                self._forget_launches()
            height, width, channels = shape
            pitch = self._layout.row_pixels(width, channels, dtype.itemsize)
            self._views[key] = self._device_array(name, (height, pitch, channels), dtype)
        return self._views[key]

    def _device_array(self, name: tuple[int, str], shape: tuple[int, int, int], dtype: Any) -> Any:
        size = shape[0] * shape[1] * shape[2] * dtype.itemsize
        memory = self._memory.get(name)
        if memory is None or memory.size < size:
            memory = self._memory[name] = self._pool.take((_rounded(size),), np.uint8)
            self._pool.follow(self, memory)
            if name[1] == "image":
                # 16 bytes at once may be read past a row's end; they are never used, but must be initialised.
                # Not with `fill_bytes`, which waits for all queues.
                address = self._driver.CUdeviceptr(memory.__cuda_array_interface__["data"][0])
                check(self._driver.cuMemsetD8Async(address, 0, memory.size, self._handles[Queue.COPY_IN]))
        # `memory[:size].view(dtype).reshape(shape)` would make three arrays: 0.1 ms before the first copy.
        strides = shape[1] * shape[2] * dtype.itemsize, shape[2] * dtype.itemsize, dtype.itemsize
        return DeviceNDArray(shape, strides, dtype, gpu_data=memory.gpu_data)

    def pinned(self, slot: int, which: str, like: tuple[tuple[int, ...], np.dtype]) -> np.ndarray:
        """Return a slot's pinned array for the way "in" or "out", of that shape and type."""
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
        """Return whether the driver knows the first and the last byte as page-locked."""
        begin = array.ctypes.data
        return all(self._is_host_memory(address) for address in (begin, begin + array.nbytes - 1))

    def _is_host_memory(self, address: int) -> bool:
        kind = self._driver.CUpointer_attribute.CU_POINTER_ATTRIBUTE_MEMORY_TYPE
        status, found = self._driver.cuPointerGetAttribute(kind, self._driver.CUdeviceptr(address))
        known = status == self._driver.CUresult.CUDA_SUCCESS
        return known and int(found) == int(self._driver.CUmemorytype.CU_MEMORYTYPE_HOST)

    def copy_in(self, host: np.ndarray, on_device: Any, row: int) -> None:
        """Enqueue a copy to rows `row` and following."""
        copy_rows(host, on_device, self._streams[Queue.COPY_IN], to_device=True, first_row=row)

    def launch(self, prepared: Prepared, image: Any, out: Any) -> None:
        if not isinstance(prepared, PreparedPasses):
            # A library frees what it allocated for a launch, and a graph would write to it again.
            prepared.launch(image, out, self._streams[Queue.KERNEL])
            return
        key = id(prepared), id(image)
        launch = self._launches.pop(key, None)
        if launch is None:
            # It holds the variant and the arrays, so that their ids are not reused.
            launch = RepeatedLaunch(prepared, Buffers(image, out, NOWHERE), self._streams[Queue.KERNEL])
        self._launches[key] = launch
        if len(self._launches) > MOST_LAUNCHES:
            self._launches.pop(next(iter(self._launches))).close()
        launch.enqueue()

    def copy_out(self, on_device: Any, row: int, host: np.ndarray) -> None:
        """Enqueue a copy of rows `row` and following."""
        copy_rows(host, on_device, self._streams[Queue.COPY_OUT], to_device=False, first_row=row)

    def _forget_launches(self) -> None:
        for launch in self._launches.values():
            launch.close()
        self._launches.clear()

    def mark(self, queue: Queue) -> _Mark:
        """Return a mark at the end of a queue; it has a time once the queue has reached it."""
        driver, is_apart = self._driver, queue is Queue.COPY_OUT
        free = self._free_marks[is_apart]
        mark = free.pop() if free else self._new_mark(is_apart)
        check(driver.cuEventRecord(mark.reached, self._handles[queue]))
        if is_apart:
            check(driver.cuStreamWaitEvent(self._clock, mark.reached, 0))
            check(driver.cuEventRecord(mark.timed, self._clock))
        return mark

    def _new_mark(self, is_apart: bool) -> _Mark:
        timed = check(self._driver.cuEventCreate(0))
        untimed = self._driver.CUevent_flags.CU_EVENT_DISABLE_TIMING
        mark = _Mark(check(self._driver.cuEventCreate(untimed)) if is_apart else timed, timed)
        self._marks.append(mark)
        return mark

    def after(self, queue: Queue, mark: _Mark) -> None:
        """Let a queue continue only after a mark of another one."""
        check(self._driver.cuStreamWaitEvent(self._handles[queue], mark.reached, 0))

    def wait(self, mark: _Mark) -> None:
        """Wait for an event and its time. Called on: any thread."""
        if threading.get_ident() != self._thread:
            check(self._driver.cuCtxSetCurrent(self._context))
        check(self._driver.cuEventSynchronize(mark.timed))

    def ms(self, mark: _Mark) -> float:
        """Return when a mark was reached, ms since the queues were made."""
        return float(check(self._driver.cuEventElapsedTime(self._zero.timed, mark.timed)))

    def forget(self, marks: Iterable[_Mark]) -> None:
        """Reuse marks that were reached and that nothing waits for."""
        for mark in marks:
            self._free_marks[mark.reached is not mark.timed].append(mark)

    def drain(self) -> None:
        for handle in (*self._handles.values(), self._clock):
            check(self._driver.cuStreamSynchronize(handle))

    def close(self) -> None:
        """Free the events and graphs; the memory is kept for the next run."""
        self._forget_launches()
        for mark in self._marks:
            check(self._driver.cuEventDestroy(mark.timed))
            if mark.reached is not mark.timed:
                check(self._driver.cuEventDestroy(mark.reached))
        self._marks.clear()
        self._free_marks.clear()


def _rounded(size: int) -> int:
    """Round up by at most a quarter, so that chunks that differ a little reuse the same memory."""
    step = max(SMALLEST_BYTES, 1 << max(0, (size - 1).bit_length() - 3))
    return -(-size // step) * step
