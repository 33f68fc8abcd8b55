"""A CUDA device: buffers, copies, launches, and launches captured as a graph, which is timed.

The queue cannot run empty between the launches of a graph: events around its replay time kernels, no host.
"""

import math
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from engine.device.backend import (
    NAN_BYTE,
    Backend,
    Buffers,
    LaunchClock,
    cuda_errors_in_words,
)
from engine.device.cuda_memory import (
    Context,
    Event,
    check,
    context_of,
    copy_in,
    copy_out,
    device_array,
    fill_bytes,
    picture_array,
    pinned_array,
)
from engine.device.launches import CAPTURE_LOCK, DeviceView, Handle, Prepared, Stream, view_of
from engine.device.numba_cuda import cuda, driver
from engine.device.thread_pool import copy_array
from engine.device_info import DeviceInfo
from engine.geometry.block import Layout
from engine.process import interprets


def _number(device: DeviceInfo) -> int:
    return int(device.key.partition(":")[2])


def start_gpu(gpu: DeviceInfo) -> None:
    """Ask a GPU for a context in this process; without one it cannot be used."""
    with cuda_errors_in_words(f"starting to use CUDA device {_number(gpu)}"), cuda.gpus[_number(gpu)]:
        cuda.current_context()


class CudaBackend(Backend):
    """Runs CUDA variants on one device that is available in this process."""

    def __init__(self, info: DeviceInfo) -> None:
        self.info = info
        with cuda_errors_in_words(f"starting to use {info.title}"):
            self._context = context_of(_number(info))
            with self.selected():
                self._stream: Stream = cuda.stream()

    def activate(self) -> None:
        """Select the device: Numba compiles, allocates and uploads on the one that was selected last."""
        interprets.choose(False)
        self._context.select()

    @contextmanager
    def selected(self) -> Iterator[None]:
        with interprets.within(False), self._context.selected():
            yield

    def _allocated(self, image: np.ndarray, host_out: np.ndarray, layout: Layout) -> Buffers:
        with cuda_errors_in_words(f"allocating {(image.nbytes + host_out.nbytes) / 1e6:,.1f} MB"):
            on_device = picture_array(image.shape, image.dtype, layout, is_read=True)
            return Buffers(on_device, picture_array(host_out.shape, host_out.dtype, layout), host_out)

    def upload(self, image: np.ndarray | Sequence[np.ndarray], buffers: Buffers) -> None:
        is_one = isinstance(image, np.ndarray)
        with CAPTURE_LOCK, cuda_errors_in_words("copying to the device"):
            for host, device in (
                [(image, buffers.image)] if is_one else zip(image, buffers.image, strict=True)
            ):
                # Pinned memory of the host.
                if isinstance(device, np.ndarray):
                    np.copyto(device, host)
                else:
                    copy_in(np.ascontiguousarray(host), device, self._stream)
            self._stream.synchronize()

    def allocate_arrays(
        self, inputs: Sequence[np.ndarray], out_shape: tuple[int, ...], *, pinned: bool = False
    ) -> Buffers:
        needed = 4 * (sum(array.size for array in inputs) + math.prod(out_shape))
        with cuda_errors_in_words(f"allocating {needed / 1e6:,.1f} MB"):
            operand = pinned_array if pinned else device_array
            arrays = tuple(operand(array.shape, np.float32) for array in inputs)
            return Buffers(arrays, device_array(out_shape, np.float32), np.empty(out_shape, np.float32))

    def fill_result(self, buffers: Buffers, byte: int = NAN_BYTE) -> None:
        with cuda_errors_in_words("filling the result"):
            # On the device: a copy of NaNs from the host took as long as the picture's.
            fill_bytes(buffers.out, byte)

    def run(self, prepared: Prepared, buffers: Buffers) -> None:
        with CAPTURE_LOCK, cuda_errors_in_words("running the kernel"):
            prepared.launch(buffers.image, buffers.out, self._stream)
            self._stream.synchronize()

    def download(self, buffers: Buffers) -> np.ndarray:
        wanted = buffers.host_out
        dense = wanted if wanted.flags.c_contiguous else np.empty(wanted.shape, wanted.dtype)
        with CAPTURE_LOCK, cuda_errors_in_words("copying the result to the host"):
            copy_out(buffers.out, dense, self._stream)
            self._stream.synchronize()
        if dense is not wanted:
            wanted[...] = dense
        return wanted

    def caller(
        self, prepared: Prepared, like: np.ndarray, result_dtype: DTypeLike, layout: Layout
    ) -> Callable[[np.ndarray, np.ndarray], None]:
        return HostCalls(self._context, prepared, like, np.dtype(result_dtype), layout)

    def clock(self, prepared: Prepared, buffers: Buffers) -> LaunchClock:
        """Return a clock of device events around a replayed graph.

        What waits for the device on its way cannot be captured: the host's clock times it.
        """
        if getattr(prepared, "waits_for_device", False):
            return super().clock(prepared, buffers)
        with cuda_errors_in_words("capturing launches"):
            return GraphClock(prepared, buffers, self._stream)


MOST_LAUNCHES = 256


class LaunchGraph:
    """`launches` launches of one prepared variant, captured once and replayed many times.

    It is freed when it is dropped.
    """

    def __init__(self, prepared: Prepared, buffers: Buffers, stream: Stream, launches: int) -> None:
        # Its weights and constant memory are read at each replay.
        self._prepared = prepared
        self._handle = driver.CUstream(int(stream.handle))
        mode = driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
        # Freeing any array would end the capture: that waits.
        with CAPTURE_LOCK, cuda.defer_cleanup():
            check(driver.cuStreamBeginCapture(self._handle, mode))
            try:
                for _ in range(launches):
                    prepared.launch(buffers.image, buffers.out, stream)
            except BaseException:
                driver.cuStreamEndCapture(self._handle)
                raise
            graph = check(driver.cuStreamEndCapture(self._handle))
        self._executable = check(driver.cuGraphInstantiate(graph, 0))
        check(driver.cuGraphDestroy(graph))
        # At the end of the program the context takes it along.
        weakref.finalize(self, driver.cuGraphExecDestroy, self._executable).atexit = False

    def replay(self) -> None:
        """Enqueue all launches, on the stream that they were captured on."""
        check(driver.cuGraphLaunch(self._executable, self._handle))


class GraphClock(LaunchClock):
    """Times launches between two device events around a replayed graph, of as many as make one sample."""

    name = "device events around a replayed graph"

    def __init__(self, prepared: Prepared, buffers: Buffers, stream: Stream) -> None:
        self._stream, self.launches, self._graph = stream, 1, LaunchGraph(prepared, buffers, stream, 1)
        self.sample_ms()
        super().__init__(prepared, buffers)
        self.launches = min(MOST_LAUNCHES, self.launches)
        self._graph = LaunchGraph(prepared, buffers, stream, self.launches)

    def sample_ms(self) -> float:
        with CAPTURE_LOCK, cuda_errors_in_words("timing the kernel"):
            begin, end = cuda.event(timing=True), cuda.event(timing=True)
            begin.record(self._stream)
            self._graph.replay()
            end.record(self._stream)
            end.synchronize()
            return float(begin.elapsed_time(end)) / self.launches


# Up to here arrays stay between calls: allocating takes 30 us of a call of 64 x 64, which takes 60.
KEPT_BYTES = 8 << 20
# Up to here a picture goes through page-locked memory whole; a larger one in chunks through a ring: threads
# of the host copy one while the device copies another.
WHOLE_BYTES = 256 << 10
RING = 3
# A chunk is a third of the picture, within these: 64 MB each way take 4.5 ms in chunks of 8 MB, 7.9 of 2 MB.
LEAST_CHUNK_BYTES, MOST_CHUNK_BYTES = 1 << 20, 8 << 20


class _Slot(NamedTuple):
    """Page-locked memory of a chunk, and the end of the newest copy from or to it."""

    memory: np.ndarray
    event: Event

    def of(self, rows: np.ndarray) -> np.ndarray:
        return self.memory[: rows.nbytes].view(rows.dtype).reshape(rows.shape)


class _Arrays(NamedTuple):
    stream: Handle
    held: tuple[object, ...]
    image: DeviceView
    out: DeviceView
    ring: list[_Slot]


class HostCalls:
    """A prepared variant that is called with pictures (H, W, C) of the shape and type of `like`.

    Any number of threads may call it.
    """

    def __init__(
        self, context: Context, prepared: Prepared, like: np.ndarray, result_dtype: np.dtype, layout: Layout
    ) -> None:
        self._context, self._prepared, self._like = context, prepared, like
        self._result_dtype, self._layout = result_dtype, layout
        self._is_kept = like.size * (like.itemsize + result_dtype.itemsize) <= KEPT_BYTES
        row_bytes = like[0].size * max(like.itemsize, result_dtype.itemsize)
        whole = len(like) * row_bytes
        chunk = whole if whole <= WHOLE_BYTES else min(max(whole // 3, LEAST_CHUNK_BYTES), MOST_CHUNK_BYTES)
        self._chunk_rows = max(1, min(len(like), chunk // row_bytes))
        self._slot_bytes = self._chunk_rows * row_bytes
        self._free: list[_Arrays] = []

    def __call__(self, samples: np.ndarray, out: np.ndarray) -> None:
        """Filter a picture of the host into an array of the host; return when it is there."""
        with self._context.selected(), cuda_errors_in_words("filtering on the device"):
            try:
                arrays = self._free.pop()
            except IndexError:
                arrays = self._new_arrays()
            try:
                self._copy_in(samples, arrays)
                self._prepared.launch(arrays.image, arrays.out, arrays.stream)
                self._copy_out(out, arrays)
            finally:
                # Also after an error: nothing may read or write the caller's arrays any more.
                check(driver.cuStreamSynchronize(arrays.stream.handle))
            if self._is_kept:
                self._free.append(arrays)

    def _copy_in(self, samples: np.ndarray, arrays: _Arrays) -> None:
        stream, _, image, _, ring = arrays
        if len(ring) == 1:
            staged = ring[0].of(samples)
            np.copyto(staged, samples)
            copy_in(staged, image, stream)
            return
        for number, (first, rows) in enumerate(self._chunks(samples)):
            slot = ring[number % RING]
            if number >= RING:
                slot.event.synchronize()
            staged = slot.of(rows)
            copy_array(rows, staged)
            copy_in(staged, image, stream, first)
            slot.event.record(stream.handle)

    def _copy_out(self, out: np.ndarray, arrays: _Arrays) -> None:
        stream, _, _, result, ring = arrays
        if len(ring) == 1:
            staged = ring[0].of(out)
            copy_out(result, staged, stream)
            check(driver.cuStreamSynchronize(stream.handle))
            np.copyto(out, staged)
            return
        chunks = list(self._chunks(out))
        for number in range(len(chunks) + RING):
            slot = ring[number % RING]
            if number >= RING and number - RING < len(chunks):
                _, rows = chunks[number - RING]
                slot.event.synchronize()
                copy_array(slot.of(rows), rows)
            if number < len(chunks):
                first, rows = chunks[number]
                copy_out(result, slot.of(rows), stream, first)
                slot.event.record(stream.handle)

    def _new_arrays(self) -> _Arrays:
        shape = self._like.shape
        image = picture_array(shape, self._like.dtype, self._layout, is_read=True)
        out = picture_array(shape, self._result_dtype, self._layout)
        stream = cuda.stream()
        count = 1 if self._chunk_rows == len(self._like) else RING
        ring = [_Slot(pinned_array((self._slot_bytes,), np.uint8), Event()) for _ in range(count)]
        return _Arrays(Handle(int(stream.handle)), (stream, image, out), view_of(image), view_of(out), ring)

    def _chunks(self, rows: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
        for first in range(0, len(rows), self._chunk_rows):
            yield first, rows[first : first + self._chunk_rows]
