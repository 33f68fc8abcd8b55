"""From pictures to chunks, and from chunks to results: the state of one call of `filter_stream`."""

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache, partial

import numpy as np

from engine.api.arguments import Image
from engine.api.request import Request
from engine.device.devices import backend
from engine.device.launches import Prepared
from engine.device_info import DeviceInfo
from engine.errors import BadValue
from engine.results.progress import Checkpoint, Progress
from engine.run.task import Choice
from engine.streams.bands import Band, cut, refuse_cut, rows_of_chunk
from engine.streams.chunk_jobs import ChunkJob, run_in_order
from engine.streams.outputs import Outputs
from engine.streams.timeline import Chunk, Timeline
from engine.work.filtering.auto.planner import choose
from engine.work.filtering.problem import Problem
from engine.work.filtering.resolve import ResolvedFilter
from engine.work.filtering.task import FILTERING, refuse_non_finite
from engine.work.filtering.variants import Variant

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
# A picture's bands have six shapes at most, and the variant is prepared for each of them.
MOST_PREPARED = 16


@dataclass
class Stream:
    """One call: turns pictures into chunks, and chunks into results, which `receive` gets, else `values`."""

    resolve: Callable[[Image], Request]
    outputs: Outputs
    chunk_bytes: int | None
    ring: int
    checkpoint: Checkpoint
    receive: Callable[[int, np.ndarray], None] | None
    # Over which the chunks are spread; none: over the device of the first picture.
    gpus: Sequence[DeviceInfo] = ()
    values: list[np.ndarray] = field(default_factory=list, init=False)
    _chunks: list[Chunk] = field(default_factory=list, init=False)
    _variants: dict[str, None] = field(default_factory=dict, init=False)
    _unfinished: dict[int, np.ndarray] = field(default_factory=dict, init=False)
    # Rows of these that are not written yet.
    _rows_left: dict[int, int] = field(default_factory=dict, init=False)
    # When the last result was written.
    _end_s: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        self._activate: Callable[[], None] = lambda: None
        self._preparing = threading.Lock()

    def run(self, pictures: Iterable[Image]) -> Timeline:
        """Filter all pictures and return when each chunk was in which queue."""
        begin_s = time.perf_counter()
        total = len(pictures) if isinstance(pictures, tuple | list) else 0
        images = iter(pictures)
        try:
            first = self.resolve(next(images))
        except StopIteration:
            what, why = "The batch is empty", "there is nothing to filter"
            raise BadValue(what, why, "Pass at least one picture.") from None
        device, layout = first.device, first.asked.layout
        gpus = self.gpus if device.is_usable_gpu and len(self.gpus) > 1 else (device,)
        # Mask and devices are those of all pictures. What passes keep between them belongs to one thread,
        # which has one device.
        self._prepared = lru_cache(MOST_PREPARED * len(gpus))(
            lambda thread, choice, problem: _prepare(first, choice, problem)
        )

        def requests() -> Iterator[Request]:
            yield first
            for image in images:
                # The generator of pictures may have selected another device.
                self._activate()
                yield self.resolve(image)

        jobs = self._jobs(requests(), self.chunk_bytes or _chunk_bytes(first, total, len(gpus)), total)
        keys: Sequence[str] = ()
        if device.is_usable_gpu:
            # Numba's CUDA target and what drives it: the CPU needs neither.
            from engine.streams import on_gpus

            self._activate = backend(device.key).activate
            spans, keys = on_gpus.run(jobs, gpus, layout, self.ring, self._finished)
            clock, ring = "device events", self.ring
        else:
            machine = backend(device.key)
            with machine.selected():
                spans, clock, ring = run_in_order(jobs, machine, layout, self._finished), "host clock", 1
        return Timeline(
            device=", ".join(gpu.key for gpu in gpus),
            variant=", ".join(self._variants),
            clock=clock,
            ring=ring,
            chunks=tuple(
                replace(chunk, device=key)
                for chunk, key in zip(self._chunks, keys or [device.key] * len(self._chunks), strict=True)
            ),
            spans=spans,
            end_to_end_ms=(self._end_s - begin_s) * 1e3,
        )

    def _jobs(self, requests: Iterator[Request], chunk_bytes: int, total: int) -> Iterator[ChunkJob]:
        """Yield the chunks of all pictures."""
        for picture, request in enumerate(requests):
            problem, samples = request.problem, request.samples
            result = self.outputs.take(request, picture + 1)
            target = result.reshape(samples.shape)
            bands = cut(problem, rows_of_chunk(problem, chunk_bytes))
            self._unfinished[picture], self._rows_left[picture] = result, len(target)
            prepared = self._preparation(request, bands)
            for number, band in enumerate(bands):
                done = (picture + number / len(bands)) / max(total, 1) if total else 0.0
                self.checkpoint(Progress("filtering in chunks", min(done, 1.0), 2.0))
                sources = [samples[first:last] for first, last in band.sources]
                rows = target[band.top : band.bottom]
                bytes_in = sum(source.nbytes for source in sources)
                chunk = Chunk(len(self._chunks), picture, band.top, band.bottom, bytes_in, rows.nbytes)
                self._chunks.append(chunk)
                yield ChunkJob(chunk, sources, rows, band.skip, partial(prepared, band.rows))

    def _preparation(self, request: Request, bands: tuple[Band, ...]) -> Callable[[int], Prepared]:
        """Return a function that prepares the variant for a band of n rows; the first call chooses it."""

        @cache
        def choice() -> Choice[Variant]:
            found = (
                request.choice
                if len(bands) == 1
                else choice_for_bands(
                    request, replace(request.problem, height=max(band.rows for band in bands))
                )
            )
            refuse_non_finite(found.variant, request.samples)
            self._variants[found.variant.key] = None
            return found

        @cache
        def prepared(rows: int, thread: int) -> Prepared:
            # Held as long as a chunk needs it: others may displace it meanwhile.
            return self._prepared(thread, choice(), replace(request.problem, height=rows))

        def in_turn(rows: int) -> Prepared:
            # What one thread compiles, the next one finds.
            with self._preparing:
                return prepared(rows, threading.get_ident())

        return in_turn

    def _finished(self, job: ChunkJob) -> None:
        """Hand over the picture whose last chunk is finished; pictures finish in order."""
        number = job.chunk.picture
        self._end_s = time.perf_counter()
        self._rows_left[number] -= len(job.target)
        if self._rows_left[number]:
            return
        del self._rows_left[number]
        values = self._unfinished.pop(number)
        if self.receive is None:
            self.values.append(values)
            return
        self.receive(number, values)
        self._activate()
        self.outputs.leave(values)


def _prepare(request: Request, choice: Choice[Variant], problem: Problem) -> Prepared:
    """Return the variant prepared for a picture or a band, with the mask and the device of a request."""
    FILTERING.refuse(choice.variant, problem, request.mask, choice.block, request.device)
    return choice.variant.prepare(problem, request.mask, choice.block)


_RAISE_CHUNK = "Raise chunk_bytes until the picture is one chunk, or name a direct variant."


def choice_for_bands(
    request: ResolvedFilter, problem: Problem, remedy: str = _RAISE_CHUNK
) -> Choice[Variant]:
    """Return the variant for a picture in bands; refuse one whose results depend on where a band begins.

    `problem` is that of the highest band, or of the whole.
    """
    asked = request.asked
    choice = choose(asked.variant, problem, asked.mask, asked.block, request.device, in_bands=True)
    refuse_cut(choice.variant, "a picture in bands", "band", remedy)
    return choice


def _chunk_bytes(request: Request, pictures: int, gpus: int) -> int:
    """Return the size of a chunk; for a batch of unknown length, that for a long one."""
    if pictures == 0:
        return LARGEST_CHUNK_BYTES
    problem = request.problem
    whole = pictures * problem.samples * max(problem.itemsize, problem.result_itemsize)
    wanted, smallest = CHUNKS_WANTED * gpus, SMALLEST_CHUNK_BYTES
    if request.device.kind == "cpu":
        wanted, smallest = CHUNKS_IN_ORDER, SMALLEST_CHUNK_IN_ORDER_BYTES
    return min(max(whole // wanted, smallest), LARGEST_CHUNK_BYTES)
