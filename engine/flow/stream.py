"""From pictures to chunks, and from chunks to results: pictures go through a device, or through several."""

import itertools
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cache, lru_cache, partial
from typing import Any

import numpy as np

from engine.device.devices import backend
from engine.device.launches import Prepared
from engine.device_info import DeviceInfo
from engine.errors import BadValue
from engine.flow.chunks import ChunkDevice, ChunkJob, InOrder
from engine.flow.loop import Loop
from engine.flow.timeline import Chunk, Timeline
from engine.geometry.cut import Span, bands
from engine.geometry.layout import Layout
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

Asked = tuple[Resolved, np.ndarray]
"""A picture with what is done with it, and the array for its result, in the shape of the picture."""


@dataclass(kw_only=True)
class Stream:
    """One call: turns pictures into chunks, and chunks into results.

    `receive` gets each result with its number, in order, once it is whole. Chunks are spread over `gpus`;
    none: they go to the device of the first picture. With `in_parts` those that have to be cut get variants
    whose results do not depend on where.
    """

    layout: Layout
    receive: Callable[[int, np.ndarray], None] = lambda number, values: None
    chunk_bytes: int | None = None
    ring: int = DEFAULT_RING
    checkpoint: Checkpoint = lambda step: None
    gpus: Sequence[DeviceInfo] = ()
    in_parts: bool = False
    _chunks: list[Chunk] = field(default_factory=list, init=False)
    _variants: dict[str, None] = field(default_factory=dict, init=False)
    # Results under way, and their rows that are not written yet.
    _unfinished: dict[int, tuple[np.ndarray, int]] = field(default_factory=dict, init=False)
    # When the last result was written.
    _end_s: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        self._activate: Callable[[], None] = lambda: None

    def run(self, pictures: Iterable[Asked | None], total: int = 0) -> Timeline:
        """Filter all pictures, `total` if it is known; return when each chunk was in which queue.

        None in place of a picture, never of the first, where the next one is not there yet, has an older one
        finished before it is asked for again.
        """
        begin_s, found = time.perf_counter(), iter(pictures)
        if (first := next(found, None)) is None:
            what, why = "The batch is empty", "there is nothing to filter"
            raise BadValue(what, why, "Pass at least one picture.")
        device = first[0].device
        gpus = self.gpus if device.is_usable_gpu and len(self.gpus) > 1 else (device,)
        self._preparing = Preparing(len(gpus))
        chunk_bytes = self.chunk_bytes or _chunk_bytes(first[0], total, len(gpus))
        jobs = self._jobs(itertools.chain((first,), found), chunk_bytes, total)
        machine, ring, clock = backend(device.key), 1, "host clock"
        # The pictures and the choice of a variant are for the first device.
        with machine.selected(), ExitStack() as stack:
            one: ChunkDevice = InOrder(machine, self.layout)
            if device.is_usable_gpu:
                # Numba's CUDA target and what drives it: the CPU needs neither.
                from engine.flow import on_gpus

                self._activate, ring, clock = machine.activate, self.ring, "device events"
                one = stack.enter_context(on_gpus.pipelines(gpus, self.layout, ring))
            Loop(one, self._finished).run(jobs)
        return Timeline(
            device=", ".join(gpu.key for gpu in gpus),
            variant=", ".join(self._variants),
            clock=clock,
            ring=ring,
            chunks=tuple(self._chunks),
            spans=tuple(one.spans()),
            end_to_end_ms=(self._end_s - begin_s) * 1e3,
        )

    def _jobs(
        self, pictures: Iterable[Asked | None], chunk_bytes: int, total: int
    ) -> Iterator[ChunkJob | None]:
        """Yield the chunks of all pictures; None where the next picture is not there yet."""
        picture, numbers = -1, itertools.count()
        for asked in pictures:
            # The generator of pictures may have selected another device.
            self._activate()
            if asked is None:
                yield None
                continue
            (request, result), picture = asked, picture + 1
            samples, target = request.samples, result.reshape(request.problem.result_shape)
            parts = self._bands(request, chunk_bytes)
            chosen: Callable[[], Resolved] = partial(self._chosen, request, parts)
            chosen = cache(chosen) if len(parts) > 1 else chosen
            self._unfinished[picture] = result, len(target)
            for number, band in enumerate(parts):
                done = (picture + number / len(parts)) / total if total else 0.0
                self.checkpoint(Progress("filtering in chunks", min(done, 1.0), 2.0))
                sources = [samples[first:last] for first, last in band.sources]
                rows = target if len(parts) == 1 else target[band.first : band.last]
                bytes_in = sum(source.nbytes for source in sources)
                place, key = (band.first, band.last), request.device.key
                chunk = Chunk(next(numbers), picture, *place, bytes_in, rows.nbytes, key)
                shape = band.length, *samples.shape[1:]
                written = shape if target.shape == samples.shape else target.shape
                prepare = partial(self._preparing.ready, chosen, shape)
                yield ChunkJob(chunk, sources, rows, band.skip, written, prepare)

    def _bands(self, request: Resolved, chunk_bytes: int) -> tuple[Span, ...]:
        """Return the bands of a picture: one, where it is small or cannot be cut."""
        problem = request.problem
        height, rows = problem.height, problem.rows_of(chunk_bytes)
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

    def _finished(self, job: ChunkJob) -> None:
        """Hand over the picture whose last chunk is finished; pictures finish in order."""
        number = job.chunk.picture
        self._chunks.append(job.chunk)
        self._end_s = time.perf_counter()
        values, rows_left = self._unfinished.pop(number)
        if rows_left > len(job.target):
            self._unfinished[number] = values, rows_left - len(job.target)
            return
        self.receive(number, values)
        self._activate()


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
