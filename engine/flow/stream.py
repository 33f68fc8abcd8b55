"""From pictures to chunks, and from chunks to results: pictures go through a device, or through several."""

import itertools
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cache, lru_cache, partial
from operator import attrgetter

import numpy as np

from engine.device.devices import backend
from engine.device.launches import Prepared
from engine.errors import BadValue
from engine.flow.chunks import Chunk, ChunkJob, Flow, InOrder, Timeline
from engine.flow.pipeline import Pipeline, Several, pipelines
from engine.geometry.border import Span, bands
from engine.results.problem import Checkpoint, Progress
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
class StreamPicture:
    """A picture with what is done with it, and the array for its result, in the shape of the picture."""

    request: Resolved
    out: np.ndarray
    picture: int = 0  # its number in the stream, once it is sent
    rows_left: int = 0  # that are not written yet


@dataclass(kw_only=True)
class Stream:
    """Turns pictures into chunks, and chunks into results: a device of pictures, to be closed.

    Chunks are spread over the devices of the first picture, which are opened for it, with its layout.
    """

    chunk_bytes: int | None = None
    ring: int = DEFAULT_RING
    checkpoint: Checkpoint = lambda step: None
    in_parts: bool = False  # those that have to be cut get variants whose results do not depend on where
    total: int = 0  # pictures; 0 where it is not known
    most: int = field(default=1, init=False)

    def __post_init__(self) -> None:
        self._chunks: list[Chunk] = []
        self._variants: dict[str, None] = {}
        self._finished: list[StreamPicture] = []
        self._activate: Callable[[], None] = lambda: None
        self._stack, self._numbers, self._pictures = ExitStack(), itertools.count(), itertools.count()
        self._device: InOrder | Pipeline | Several | None = None
        # The chunks of the last picture that are not sent yet.
        self._left: Iterator[ChunkJob] | None = None
        self._clock, self._keys = "host clock", ""
        # When the first picture was requested, and when the last result was written.
        self._begin_s = self._end_s = time.perf_counter()

    def run(
        self,
        pictures: Iterable[StreamPicture],
        received: Callable[[StreamPicture], None] = lambda work: None,
    ) -> Timeline:
        """Return when each chunk was in which queue; `received` gets each picture in order, once whole."""
        Flow[StreamPicture](stream=lambda: self).run(pictures, received)
        if self._device is None:
            what, why = "The batch is empty", "there is nothing to filter"
            raise BadValue(what, why, "Pass at least one picture.")
        return Timeline(
            device=self._keys,
            variant=", ".join(self._variants),
            clock=self._clock,
            ring=self.ring if self._clock == "device events" else 1,
            chunks=tuple(sorted(self._chunks, key=attrgetter("number"))),
            spans=tuple(self._device.spans),
            end_to_end_ms=(self._end_s - self._begin_s) * 1e3,
        )

    def _opened(self, first: Resolved) -> InOrder | Pipeline | Several:
        device, gpus, layout = first.device, first.devices, first.request.layout
        self._preparing, self._keys = Preparing(len(gpus)), ", ".join(gpu.key for gpu in gpus)
        self._chunk_bytes = self.chunk_bytes or _chunk_bytes(first, self.total, len(gpus))
        machine = backend(device.key)
        # The pictures and the choice of a variant are for the first device.
        self._stack.enter_context(machine.selected())
        if not device.is_usable_gpu:
            return InOrder(machine, layout)
        self._activate, self._clock = machine.activate, "device events"
        opened = self._stack.enter_context(pipelines(gpus, layout, self.ring))
        self.most = opened.most
        return opened

    def close(self) -> None:
        """Close the device: no array is read or written any more."""
        self._stack.close()

    @property
    def has_room(self) -> bool:
        """Whether the chunks of another picture can be begun."""
        return self._device is None or (self._left is None and self._device.has_room)

    def send(self, work: StreamPicture) -> None:
        """Send the chunks of a picture through the device, as it has room."""
        self._device = self._device or self._opened(work.request)
        # The generator of pictures may have selected another device.
        self._activate()
        work.picture = next(self._pictures)
        self._left = self._chunks_of(work)
        self._send_on()

    def wait(self) -> list[StreamPicture]:
        """Wait until pictures are finished, and return them."""
        assert self._device is not None
        self._activate()
        while not self._finished:
            for job in self._device.wait():
                self._chunks.append(job.chunk)
                job.picture.rows_left -= len(job.target)
                if not job.picture.rows_left:
                    self._finished.append(job.picture)
                    self._end_s = time.perf_counter()
            self._send_on()
        finished, self._finished = self._finished, []
        return finished

    def _send_on(self) -> None:
        while self._device is not None and self._left is not None and self._device.has_room:
            if (job := next(self._left, None)) is None:
                self._left = None
            else:
                self._device.send(job)

    def _chunks_of(self, work: StreamPicture) -> Iterator[ChunkJob]:
        request, samples = work.request, work.request.samples
        target = work.out.reshape(request.problem.result_shape)
        spans = self._bands(request)
        chosen: Callable[[], Resolved] = partial(self._chosen, request, spans)
        # Making a cache takes 10 us.
        chosen = cache(chosen) if len(spans) > 1 else chosen
        work.rows_left = len(target)
        for number, band in enumerate(spans):
            done = (work.picture + number / len(spans)) / self.total if self.total else 0.0
            self.checkpoint(Progress("filtering in chunks", min(done, 1.0), 2.0))
            sources = [samples[first:last] for first, last in band.sources]
            rows = target if len(spans) == 1 else target[band.first : band.last]
            sizes = sum(source.nbytes for source in sources), rows.nbytes
            place, key = (band.first, band.last), request.device.key
            chunk = Chunk(next(self._numbers), work.picture, *place, *sizes, key)
            shape = band.length, *samples.shape[1:]
            written = shape if target.shape == samples.shape else target.shape
            prepare = partial(self._preparing.ready, chosen, shape)
            yield ChunkJob(chunk, sources, rows, band.skip, written, prepare, work)

    def _bands(self, request: Resolved) -> tuple[Span, ...]:
        """Return the bands of a picture: one, where it is small or cannot be cut."""
        problem = request.problem
        height, rows = problem.height, problem.rows_of(self._chunk_bytes)
        if rows < height:
            # Of a mask, whose variant is chosen later, the cells under it.
            reach = problem.reach if self.in_parts and request.request.filter else request.reach
            if reach.exact and not reach.whole:
                return bands(reach, height, rows)
        return (Span(0, height, ((0, height),), 0),)

    def _chosen(self, request: Resolved, spans: Sequence[Span]) -> Resolved:
        """Choose what computes a picture, while its first band is copied; refuse what it cannot take."""
        if len(spans) > 1:
            if self.in_parts:
                request = request.in_parts(max(span.length for span in spans))
            remedy = "Raise chunk_bytes until the picture is one chunk, or name a direct variant."
            request.refuse_cut("a picture in bands", remedy, remedy)
        job = request.job()
        request.task.refuse_samples(job)
        self._variants[job.variant.key] = None
        return request


# A picture's bands have six shapes at most, and the variant is prepared for each of them.
MOST_PREPARED = 16


class Preparing:
    """Variants that are ready, for a few shapes and each thread with its device. Called on: any thread."""

    def __init__(self, devices: int = 1) -> None:
        self._lock = threading.Lock()
        self._kept = lru_cache(MOST_PREPARED * devices)(lambda thread, variant, *of: variant.prepare(*of))

    def ready(self, chosen: Callable[[], Resolved], shape: tuple[int, ...]) -> Prepared:
        """Return the variant that is chosen, ready for a band of that shape."""
        # What one thread chooses and compiles, the next one finds.
        with self._lock:
            resolved = chosen()
            job = resolved.job()
            if shape != resolved.samples.shape:
                # The shape alone: it takes no memory.
                job = resolved.task.part(job, np.broadcast_to(resolved.samples[:1, :1], shape))
            job.refuse_problem(resolved.device)
            of = job.variant, job.problem, job.constant, job.block
            prepared: Prepared = self._kept(threading.get_ident(), *of)
            return prepared


def _chunk_bytes(request: Resolved, pictures: int, gpus: int) -> int:
    """Return the size of a chunk; for a batch of unknown length, that for a long one."""
    if pictures == 0:
        return LARGEST_CHUNK_BYTES
    problem, is_cpu = request.problem, request.device.kind == "cpu"
    whole: int = pictures * problem.samples * max(problem.itemsize, problem.result_itemsize)
    wanted = CHUNKS_IN_ORDER if is_cpu else CHUNKS_WANTED * gpus
    smallest = SMALLEST_CHUNK_IN_ORDER_BYTES if is_cpu else SMALLEST_CHUNK_BYTES
    return min(max(whole // wanted, smallest), LARGEST_CHUNK_BYTES)
