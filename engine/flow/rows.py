"""A picture larger than memory through a stream: rows are read ahead, filtered in bands, and handed over.

Three things happen at once: a thread reads and decodes the rows of the next step, the calling thread has the
bands of this one filtered by `Stream` as a batch of small pictures, and another thread takes the results. A
step ends where strips or tiles end, so that each is decoded once: results stop as many rows before as the
mask reaches below, and those rows, with the halo, are carried over to the next step.
"""

import queue
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.device.anti_aliasing import trim_reused
from engine.device_info import DeviceInfo
from engine.flow.memory import GPU_CHUNK_BYTES, GPU_RING, MemoryPlan
from engine.flow.outputs import Outputs
from engine.flow.plan import Plan
from engine.flow.stream import Stream
from engine.geometry.cut import Reach, Span, bands_between
from engine.image.large.source import LargePicture

Received = Callable[[int, np.ndarray], None]
RunBands = Callable[[Iterator[np.ndarray], Iterator[np.ndarray], Received], object]


def by_stream(plan: Plan, gpus: Sequence[DeviceInfo]) -> RunBands:
    """Return what computes images by a stream, on the plan's device or on several GPUs."""

    def run(images: Iterator[np.ndarray], outputs: Iterator[np.ndarray], receive: Received) -> None:
        # On the CPU an image is not cut again.
        chunk_bytes = GPU_CHUNK_BYTES if plan.device.is_usable_gpu else 1 << 62
        Stream(
            layout=plan.job.operands.layout,
            resolve=plan.at,
            outputs=Outputs(outputs),
            chunk_bytes=chunk_bytes,
            ring=GPU_RING,
            receive=receive,
            gpus=gpus,
        ).run(_with_memory(images))

    return run


def _with_memory(images: Iterator[np.ndarray]) -> Iterator[np.ndarray]:
    """Yield images; what lay between the steps of lower ones, those at an edge, serves no other."""
    rows = 0
    for image in images:
        if len(image) > rows:
            trim_reused()
            rows = len(image)
        yield image


@dataclass(eq=False, slots=True)
class Part:
    """Some rows of the result: from row `top` on; `image` is what they were computed from.

    `rows` are those of the picture that belong to the results, with its alpha.
    """

    top: int
    image: NDArray[Any]
    rows: NDArray[Any]
    values: NDArray[Any]
    all_values: NDArray[Any]  # of all rows of `image`


def steps(
    reach: Reach, height: int, step_rows: int, segment_rows: int, first_row: int = 0
) -> tuple[Span, ...]:
    """Return the rows of the results from `first_row` on, cut so that each step ends where segments do."""
    step_rows = max(segment_rows, step_rows // segment_rows * segment_rows)
    edges = [first_row]
    for read in range(step_rows, height, step_rows):
        edge = read - reach.rows[1]
        if edge - edges[-1] >= 2 * reach.height and height - edge >= 2 * reach.height:
            edges.append(edge)
    return bands_between(reach, height, (*edges, height))


class _Buffers:
    """Arrays of bytes that are used again, at most so many. Called on: any thread."""

    def __init__(self, most: int, *, waits: bool) -> None:
        self._free: queue.LifoQueue[NDArray[np.uint8]] = queue.LifoQueue()
        self._left, self._waits = most, waits
        self._lock = threading.Lock()

    def take(self, size: int) -> NDArray[np.uint8]:
        """Return a buffer of so many bytes at least; wait for one where as many exist as may."""
        with self._lock:
            is_new = self._left > 0 and self._free.empty()
            self._left -= is_new
        if is_new or (not self._waits and self._free.empty()):
            return np.empty(size, np.uint8)
        found = self._free.get()
        return found if found.nbytes >= size else np.empty(size, np.uint8)

    def give(self, buffer: NDArray[np.uint8]) -> None:
        """Let a buffer be used again."""
        self._free.put(buffer)


def _array(buffer: NDArray[np.uint8], shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
    size = int(np.prod(shape)) * dtype.itemsize
    return buffer[:size].view(dtype).reshape(shape)


@dataclass(eq=False)
class _Step:
    """Rows of the picture in a buffer; it is given back when all parts of it are done with."""

    band: Span
    buffer: NDArray[np.uint8]
    rows: NDArray[Any]
    parts: int = 1


class RowStream:
    """Filters a large picture.

    Parameters
    ----------
    picture : LargePicture
    plan : Plan
        What computes the picture; where its own has fewer channels, they are the first ones.
    run_bands : callable of (images, arrays for the results, receive)
        Filters images, one by one, and calls `receive` with the number and the result of each, in order.
    memory : MemoryPlan
    take : callable of Part
        Gets the results from top to bottom. Called on: a thread of its own.
    """

    def __init__(
        self,
        picture: LargePicture,
        plan: Plan,
        run_bands: RunBands,
        memory: MemoryPlan,
        take: Callable[[Part], None],
    ) -> None:
        self._picture, self._reach, self._run_bands, self._memory = picture, plan.reach, run_bands, memory
        self._take = take
        self._buffers = _Buffers(memory.buffers, waits=True)
        self._values = _Buffers(memory.values, waits=False)
        self._under_way: deque[tuple[Part, NDArray[np.uint8], _Step]] = deque()
        self._results: queue.Queue[tuple[Part, NDArray[np.uint8], _Step] | None] = queue.Queue(1)
        self._lock = threading.Lock()
        self._error: BaseException | None = None
        problem = plan.problem
        self._channels: int = problem.channels
        self._dtype, self._result_dtype = np.dtype(problem.dtype), np.dtype(problem.result_dtype)

    def run(self, first_row: int = 0) -> None:
        """Filter all rows from `first_row` on; errors of every thread are raised here."""
        taker = threading.Thread(target=self._take_all, name="large-results")
        picture = self._picture
        bands = steps(self._reach, picture.height, self._memory.step_rows, picture.chunk[0], first_row)
        taker.start()
        try:
            with ThreadPoolExecutor(1, thread_name_prefix="large-read") as reader:
                try:
                    self._run_bands(self._images(bands, reader), self._outputs(), self._received)
                except BaseException:
                    # The reader may wait for a buffer.
                    self._error = self._error or RuntimeError("stopped")
                    for _ in range(2):
                        self._buffers.give(np.empty(0, np.uint8))
                    raise
        finally:
            self._results.put(None)
            taker.join()
        if self._error is not None:
            raise self._error

    def _images(self, bands: tuple[Span, ...], reader: ThreadPoolExecutor) -> Iterator[NDArray[Any]]:
        """Yield the images of all bands, with their halos."""
        before: _Step | None = None
        pending: Future[_Step] = reader.submit(self._read, bands[0], None)
        for number in range(len(bands)):
            step = pending.result()
            if before is not None:
                self._leave(before)
            if number + 1 < len(bands):
                with self._lock:
                    step.parts += 1  # until the next one has its rows
                pending = reader.submit(self._read, bands[number + 1], step)
                before = step
            yield from self._bands_of(step)

    def _read(self, band: Span, before: _Step | None) -> _Step:
        """Return the rows of a step: the first ones from the step before, the others from the file.

        Called on: the reading thread.
        """
        width, channels = self._picture.width, self._picture.channels
        shape = band.length, width, channels
        buffer = self._buffers.take(int(np.prod(shape)) * self._dtype.itemsize)
        if self._error is not None:
            raise self._error
        rows = _array(buffer, shape, self._dtype)
        at = 0
        for first, last in band.sources:
            taken = 0
            if before is not None:
                row = 0
                for begin, end in before.band.sources:
                    if begin <= first < end:
                        taken = min(end, last) - first
                        begin_row = row + first - begin
                        rows[at : at + taken] = before.rows[begin_row : begin_row + taken]
                        break
                    row += end - begin
            if first + taken < last:
                target = rows[at + taken : at + last - first]
                self._picture.read_into(0, slice(first + taken, last), slice(0, width), target)
            at += last - first
        return _Step(band, buffer, rows)

    def _bands_of(self, step: _Step) -> Iterator[NDArray[Any]]:
        """Yield the images of the bands of a step."""
        begin, count = step.band.skip, step.band.last - step.band.first
        # None is higher than planned, or lower than a band may be.
        parts = max(1, min(-(-count // self._memory.band_rows), count // (2 * self._reach.height)))
        edges = [begin + count * number // parts for number in range(parts + 1)]
        bands = bands_between(self._reach, step.band.length, edges)
        with self._lock:
            step.parts += len(bands) - 1
        for band in bands:
            sources = [step.rows[first:last] for first, last in band.sources]
            samples = sources[0] if len(sources) == 1 else np.concatenate(sources)
            image = samples
            if self._channels < samples.shape[2]:
                image = np.ascontiguousarray(samples[..., : self._channels])
            buffer = self._values.take(image.size * self._result_dtype.itemsize)
            values = _array(buffer, image.shape, self._result_dtype)
            top = step.band.first + band.first - begin
            part = Part(top, image, samples[band.inside], values[band.inside], values)
            self._next = values
            self._under_way.append((part, buffer, step))
            if self._error is not None:
                raise self._error
            yield image

    def _outputs(self) -> Iterator[NDArray[Any]]:
        while True:
            yield self._next

    def _received(self, number: int, values: NDArray[Any]) -> None:
        """Hand results over. Called on: the calling thread."""
        self._results.put(self._under_way.popleft())
        if self._error is not None:
            raise self._error

    def _take_all(self) -> None:
        """Pass all results on, from top to bottom. Called on: a thread of its own."""
        while (found := self._results.get()) is not None:
            part, buffer, step = found
            if self._error is None:
                try:
                    self._take(part)
                except BaseException as error:  # noqa: BLE001 - raised on the calling thread
                    self._error = error
            self._values.give(buffer)
            self._leave(step)

    def _leave(self, step: _Step) -> None:
        with self._lock:
            step.parts -= 1
            is_done = step.parts == 0
        if is_done:
            self._buffers.give(step.buffer)
