"""The queues of a CUDA device: a stream each, events of one clock, memory for slots that is kept."""

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import numpy as np

from engine.device.cuda_memory import (
    array_in,
    check,
    copy_in,
    copy_out,
    device_array,
    enqueue_fill,
    pinned_array,
)
from engine.device.launches import DeviceArray, Prepared, Stream
from engine.device.numba_cuda import cuda, driver
from engine.flow.chunks import ChunkJob, Queue
from engine.geometry.block import Layout

# Views of a slot's memory: pictures of a batch that differ in size could have one each.
MOST_VIEWS = 64


@cache
def _streams(device: int, number: int) -> tuple[dict[Queue, Stream], Stream, Stream]:
    """Return a stream for each queue of a device, one that reads the clock for copies out, an idle one."""
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
    shapes lie in the same memory, and so do its results. Queues of another `number` are others of the device.
    """

    def __init__(self, layout: Layout, number: int = 0) -> None:
        self._layout = layout
        self._streams, clock, idle = _streams(cuda.get_current_device().id, number)
        self._handles = {
            queue: driver.CUstream(int(stream.handle)) for queue, stream in self._streams.items()
        }
        self._clock = driver.CUstream(int(clock.handle))
        self._thread, self._context = threading.get_ident(), check(driver.cuCtxGetCurrent())
        self._memory: dict[tuple[int, str], Any] = {}
        # What became too small may still be in use by a copy.
        self._outgrown: list[Any] = []
        self._view = lru_cache(MOST_VIEWS)(self._new_view)
        self._marks: list[_Mark] = []
        # By whether the queue has events without a time.
        self._free_marks: dict[bool, list[_Mark]] = {False: [], True: []}
        # Time 0 is now, also while another thread uses the queues.
        self._zero = self._new_mark(is_apart=False)
        check(driver.cuEventRecord(self._zero.timed, driver.CUstream(int(idle.handle))))
        self.wait(self._zero)

    def image(self, slot: int, job: ChunkJob) -> DeviceArray:
        """Return a slot's device memory for the chunk's picture."""
        return self._view((slot, "image"), job.shape, job.sources[0].dtype)

    def result(self, slot: int, job: ChunkJob) -> DeviceArray:
        """Return a slot's device memory for the result of that picture."""
        return self._view((slot, "out"), job.result_shape, job.target.dtype)

    def _new_view(self, name: tuple[int, str], shape: tuple[int, int, int], dtype: np.dtype) -> DeviceArray:
        height, width, channels = shape
        pitch = self._layout.row_pixels(width, channels, dtype.itemsize)
        memory, is_new = self._memory_of(name, height * pitch * channels * dtype.itemsize, device_array)
        if is_new and name[1] == "image":
            # 16 bytes at once may be read past a row's end; they are never used, but must be initialised.
            # Not with `fill_bytes`, which waits for all queues.
            enqueue_fill(memory, 0, memory.size, self._streams[Queue.COPY_IN])
        return array_in(memory.gpu_data, (height, pitch, channels), dtype)

    def _memory_of(self, name: tuple[int, str], size: int, make: Callable[..., object]) -> tuple[Any, bool]:
        """Return a slot's array of so many bytes or more, and whether it was made just now."""
        memory = self._memory.get(name)
        if memory is not None and memory.size >= size:
            return memory, False
        if memory is not None:
            # Pictures that grow a little each time do not each need new memory.
            size = max(size, memory.size * 5 // 4)
            self._outgrown.append(memory)
        memory = self._memory[name] = make((size,), np.uint8)
        return memory, True

    def pinned(self, slot: int, which: str, like: tuple[tuple[int, ...], np.dtype]) -> np.ndarray:
        """Return a slot's pinned array for the way "in" or "out", of that shape and type."""
        shape, dtype = like
        size = int(np.prod(shape)) * dtype.itemsize
        memory, _ = self._memory_of((slot, "pinned " + which), size, pinned_array)
        view: np.ndarray = memory[:size].view(dtype).reshape(shape)
        return view

    def is_pinned(self, array: np.ndarray) -> bool:
        """Return whether the driver knows the first and the last byte as page-locked."""
        kind = driver.CUpointer_attribute.CU_POINTER_ATTRIBUTE_MEMORY_TYPE
        for address in (array.ctypes.data, array.ctypes.data + array.nbytes - 1):
            status, memory = driver.cuPointerGetAttribute(kind, driver.CUdeviceptr(address))
            is_known = status == driver.CUresult.CUDA_SUCCESS
            if not is_known or int(memory) != int(driver.CUmemorytype.CU_MEMORYTYPE_HOST):
                return False
        return True

    def copy_in(self, host: np.ndarray, on_device: object, row: int) -> None:
        """Enqueue a copy to rows `row` and following."""
        copy_in(host, on_device, self._streams[Queue.COPY_IN], row)

    def launch(self, prepared: Prepared, image: object, out: object) -> None:
        prepared.launch(image, out, self._streams[Queue.KERNEL])

    def copy_out(self, on_device: object, row: int, host: np.ndarray) -> None:
        """Enqueue a copy of rows `row` and following."""
        copy_out(on_device, host, self._streams[Queue.COPY_OUT], row)

    def mark(self, queue: Queue) -> _Mark:
        """Return a mark at the end of a queue; it has a time once the queue has reached it."""
        is_apart = queue is Queue.COPY_OUT
        free = self._free_marks[is_apart]
        mark = free.pop() if free else self._new_mark(is_apart)
        check(driver.cuEventRecord(mark.reached, self._handles[queue]))
        if is_apart:
            check(driver.cuStreamWaitEvent(self._clock, mark.reached, 0))
            check(driver.cuEventRecord(mark.timed, self._clock))
        return mark

    def _new_mark(self, is_apart: bool) -> _Mark:
        timed = check(driver.cuEventCreate(0))
        untimed = driver.CUevent_flags.CU_EVENT_DISABLE_TIMING
        mark = _Mark(check(driver.cuEventCreate(untimed)) if is_apart else timed, timed)
        self._marks.append(mark)
        return mark

    def after(self, queue: Queue, mark: _Mark) -> None:
        """Let a queue continue only after a mark of another one."""
        check(driver.cuStreamWaitEvent(self._handles[queue], mark.reached, 0))

    def wait(self, mark: _Mark) -> None:
        """Wait for an event and its time. Called on: any thread."""
        if threading.get_ident() != self._thread:
            check(driver.cuCtxSetCurrent(self._context))
        check(driver.cuEventSynchronize(mark.timed))

    def ms(self, mark: _Mark) -> float:
        """Return when a mark was reached, ms since the queues were made."""
        return float(check(driver.cuEventElapsedTime(self._zero.timed, mark.timed)))

    def forget(self, marks: Iterable[_Mark]) -> None:
        """Reuse marks that were reached and that nothing waits for."""
        for mark in marks:
            self._free_marks[mark.reached is not mark.timed].append(mark)

    def drain(self) -> None:
        for handle in (*self._handles.values(), self._clock):
            check(driver.cuStreamSynchronize(handle))

    def close(self) -> None:
        """Free the events and the memory."""
        self._view.cache_clear()
        self._memory.clear()
        self._outgrown.clear()
        for mark in self._marks:
            check(driver.cuEventDestroy(mark.timed))
            if mark.reached is not mark.timed:
                check(driver.cuEventDestroy(mark.reached))
        self._marks.clear()
        self._free_marks.clear()
