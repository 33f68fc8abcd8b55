"""From pictures to chunks, and from chunks to results: pictures go through a device, or through several."""

import itertools
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cache, lru_cache, partial
from operator import attrgetter
from typing import Any, Self

import numpy as np

from engine.device.devices import backend
from engine.device.launches import Prepared
from engine.errors import BadValue
from engine.flow.chunks import ChunkDevice, ChunkJob, InOrder
from engine.flow.loop import in_order
from engine.flow.timeline import Chunk, Timeline
from engine.geometry.cut import Span, bands
from engine.results.progress import Checkpoint, Progress
from engine.work.resolve import Resolved

DEFAULT_RING = 4
# A chunk costs the host 0.1 to 0.35 ms to enqueue, and a copy in has two marks of 6 us; a copy of 32 MB takes
# 0.6 ms.
LARGEST_CHUNK_BYTES = 32 << 20
SMALLEST_CHUNK_BYTES = 8 << 20
# The first copy in and the last copy out overlap nothing, however the chunks grow or shrink between them. 64
# MB in chunks of 8, 16 and 32 MB took 3.1, 2.1 and 2.5 ms; 256 MB took 6.7, 6.4 and 6.4 ms (H200).
CHUNKS_WANTED = 4
# Where nothing overlaps, many chunks let progress be reported and the stream be cancelled.
CHUNKS_IN_ORDER = 32
SMALLEST_CHUNK_IN_ORDER_BYTES = 4 << 20


@dataclass(eq=False, slots=True)
class Asked:
    """A picture with what is done with it, and the array for its result, in the shape of the picture."""

    picture: int
    request: Resolved
    out: np.ndarray
    chunks_left: int = 0  # that are not finished yet


class _Driven(Future[Asked]):
    """A picture whose chunks the thread finishes that waits for it."""

    def __init__(self, finish: Callable[[], None]) -> None:
        super().__init__()
        self._finish = finish

    def result(self, timeout: float | None = None) -> Asked:
        """Finish its chunks, and return it."""
        while not self.done():
            self._finish()
        return super().result(timeout)


@dataclass(kw_only=True)
class Stream:
    """Turns pictures into chunks, and chunks into results. A context manager.

    Chunks are spread over the devices of the first picture, which are opened for it, with its layout. With
    `in_parts` those that have to be cut get variants whose results do not depend on where. `total` is the
    number of pictures, 0 where it is not known.
    """

    chunk_bytes: int | None = None
    ring: int = DEFAULT_RING
    checkpoint: Checkpoint = lambda step: None
    in_parts: bool = False
    total: int = 0
    _chunks: list[Chunk] = field(default_factory=list, init=False)
    _variants: dict[str, None] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self._stack, self._numbers = ExitStack(), itertools.count()
        self._device: ChunkDevice | None = None
        self._clock, self._keys, self._is_here = "host clock", "", False
        # One picture after the other is begun; chunks are finished on several threads.
        self._sending, self._counting = threading.Lock(), threading.Lock()
        # When it was asked for the first picture, and when the last result was written.
        self._begin_s = self._end_s = time.perf_counter()

    def run(
        self, pictures: Iterable[Asked], received: Callable[[Asked], None] = lambda asked: None
    ) -> Timeline:
        """Filter all pictures; return when each chunk was in which queue.

        `received` gets each picture in order, once its result is whole. Called on: the calling thread.
        """
        with self:
            left = iter(pictures)
            if (first := next(left, None)) is None:
                what, why = "The batch is empty", "there is nothing to filter"
                raise BadValue(what, why, "Pass at least one picture.")
            # One GPU is driven by this thread.
            self._is_here = len(first.request.devices) == 1
            device = self._device = self._opened(first.request)
            for asked in in_order(self.send, itertools.chain([first], left), 2 * device.most):
                received(asked)
        return Timeline(
            device=self._keys,
            variant=", ".join(self._variants),
            clock=self._clock,
            ring=self.ring if self._clock == "device events" else 1,
            chunks=tuple(sorted(self._chunks, key=attrgetter("number"))),
            spans=tuple(device.spans()),
            end_to_end_ms=(self._end_s - self._begin_s) * 1e3,
        )

    def _opened(self, first: Resolved) -> ChunkDevice:
        """Open the device, or several, for a first picture."""
        device, gpus, layout = first.device, first.devices, first.asked.layout
        self._preparing, self._keys = Preparing(len(gpus)), ", ".join(gpu.key for gpu in gpus)
        self._chunk_bytes = self.chunk_bytes or _chunk_bytes(first, self.total, len(gpus))
        opened: ChunkDevice
        if device.is_usable_gpu:
            # Numba's CUDA target and what drives it: the CPU needs neither.
            from engine.flow.on_gpus import Gpus

            self._clock = "device events"
            opened = self._stack.enter_context(Gpus(gpus, layout, self.ring, is_here=self._is_here))
        else:
            opened = InOrder(backend(device.key), layout)
        self._room = threading.Semaphore(opened.most)
        return opened

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the device: no array is read or written any more. What it has not begun is given up."""
        self._stack.close()

    def send(self, asked: Asked) -> Future[Asked]:
        """Send the chunks of a picture through the device, as there is room; return the future of its result.

        Called on: any thread.
        """
        with self._sending:
            device = self._device = self._device or self._opened(asked.request)
            done = _Driven(device.finish) if self._is_here else Future[Asked]()
            for job in self._chunks_of(asked):
                if not self._room.acquire(blocking=False):
                    device.finish()
                    self._room.acquire()
                device.send(job)
                job.finished.add_done_callback(partial(self._finished, asked, done, job.chunk))
                if done.done():
                    # One of them has failed.
                    break
            if not self._is_here:
                device.finish()
        return done

    def _finished(self, asked: Asked, done: Future[Asked], chunk: Chunk, finished: Future[None]) -> None:
        """Note that a chunk is finished, or has failed, and with it the picture. Called on: any thread."""
        self._room.release()
        with self._counting:
            self._chunks.append(chunk)
            asked.chunks_left -= 1
            if done.done():
                return
            if (error := finished.exception()) is not None:
                done.set_exception(error)
            elif not asked.chunks_left:
                self._end_s = time.perf_counter()
                done.set_result(asked)

    def _chunks_of(self, asked: Asked) -> Iterator[ChunkJob]:
        """Yield the chunks of a picture."""
        request, samples = asked.request, asked.request.samples
        target = asked.out.reshape(request.problem.result_shape)
        parts = self._bands(request)
        chosen: Callable[[], Resolved] = partial(self._chosen, request, parts)
        chosen = cache(chosen) if len(parts) > 1 else chosen
        asked.chunks_left = len(parts)
        for number, band in enumerate(parts):
            done = (asked.picture + number / len(parts)) / self.total if self.total else 0.0
            self.checkpoint(Progress("filtering in chunks", min(done, 1.0), 2.0))
            sources = [samples[first:last] for first, last in band.sources]
            rows = target if len(parts) == 1 else target[band.first : band.last]
            sizes = sum(source.nbytes for source in sources), rows.nbytes
            place, key = (band.first, band.last), request.device.key
            chunk = Chunk(next(self._numbers), asked.picture, *place, *sizes, key)
            shape = band.length, *samples.shape[1:]
            written = shape if target.shape == samples.shape else target.shape
            prepare = partial(self._preparing.ready, chosen, shape)
            yield ChunkJob(chunk, sources, rows, band.skip, written, prepare)

    def _bands(self, request: Resolved) -> tuple[Span, ...]:
        """Return the bands of a picture: one, where it is small or cannot be cut."""
        problem = request.problem
        height, rows = problem.height, problem.rows_of(self._chunk_bytes)
        if rows < height:
            # Of a mask, whose variant is chosen later, the cells under it.
            reach = problem.reach if self.in_parts and request.asked.filter else request.reach
            if reach.exact and not reach.whole:
                return bands(reach, height, rows)
        return (Span(0, height, ((0, height),), 0),)

    def _chosen(self, request: Resolved, parts: Sequence[Span]) -> Resolved:
        """Choose what computes a picture: called while its first band is copied.

        It refuses what cannot be cut, and samples that cannot be taken.
        """
        if len(parts) > 1:
            if self.in_parts:
                request = request.in_parts(max(part.length for part in parts))
            request.refuse_cut("a picture in bands", _RAISE_CHUNK, _RAISE_CHUNK)
        job = request.job()
        job.task.refuse_samples(job)
        self._variants[job.variant.key] = None
        return request


# A picture's bands have six shapes at most, and the variant is prepared for each of them.
MOST_PREPARED = 16


class Preparing:
    """Variants that are ready to be launched, for a few shapes and threads. Called on: any thread.

    What passes keep between them belongs to one thread, which has one device.
    """

    def __init__(self, devices: int = 1) -> None:
        self._lock = threading.Lock()
        self._kept = lru_cache(MOST_PREPARED * devices)(_prepared)

    def ready(self, chosen: Callable[[], Resolved], shape: tuple[int, ...]) -> Prepared:
        """Return the variant that is chosen, ready for a part of that shape."""
        # What one thread chooses and compiles, the next one finds.
        with self._lock:
            found = chosen()
            job, task = found.job(), found.task
            if shape != found.samples.shape:
                # The shape alone: it takes no memory.
                job = task.part(job, np.broadcast_to(found.samples[:1, :1], shape))
            constant = task.constant(job.operands)
            task.refuse(job.variant, job.problem, constant, job.block, found.device)
            return self._kept(threading.get_ident(), job.variant, job.problem, constant, job.block)


def _prepared(thread: int, variant: Any, problem: Any, constant: Any, block: Any) -> Prepared:
    prepared: Prepared = variant.prepare(problem, constant, block)
    return prepared


_RAISE_CHUNK = "Raise chunk_bytes until the picture is one chunk, or name a direct variant."


def _chunk_bytes(request: Resolved, pictures: int, gpus: int) -> int:
    """Return the size of a chunk; for a batch of unknown length, that for a long one."""
    if pictures == 0:
        return LARGEST_CHUNK_BYTES
    problem = request.problem
    whole = pictures * problem.samples * max(problem.itemsize, problem.result_itemsize)
    wanted, smallest = CHUNKS_WANTED * gpus, SMALLEST_CHUNK_BYTES
    if request.device.kind == "cpu":
        wanted, smallest = CHUNKS_IN_ORDER, SMALLEST_CHUNK_IN_ORDER_BYTES
    return int(min(max(whole // wanted, smallest), LARGEST_CHUNK_BYTES))
