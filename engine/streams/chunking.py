"""From pictures to chunks, and from chunks to results: what one call of `filter_stream` keeps in mind."""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache, partial

import numpy as np

from engine.api.filtering import Request
from engine.device.anti_aliasing import empty_result
from engine.device.cpu import CpuBackend
from engine.device.cuda_faults import cuda_errors_in_words
from engine.device.devices import backend, device_named, own_process_needed
from engine.device.launches import Prepared
from engine.device_info import AUTO, SIMULATOR
from engine.errors import BadValue, EngineError, UnsupportedVariant
from engine.geometry.layout import Layout
from engine.host.executor import executor_for
from engine.mask.mask import Mask
from engine.run.arguments import Image
from engine.run.device_choice import refuse_unsuitable
from engine.run.executor import outcome_of
from engine.run.job import filter_job
from engine.run.sampling import NO_SAMPLES, Checkpoint, Step
from engine.streams.arguments import in_words
from engine.streams.bands import Band, cut, rows_of_chunk
from engine.streams.in_order import run_in_order
from engine.streams.intervals import IntervalsInUse
from engine.streams.lanes import Work
from engine.streams.timeline import Chunk, Span, Timeline
from engine.tasks.filtering.problem import Problem
from engine.tasks.filtering.task import refuse_strange_samples
from engine.variants.auto.planner import Choice, choose, why_not

# A chunk costs the host 0.1 to 0.35 ms to enqueue, and a copy in has two marks of 6 us; a copy of 32 MB takes 0.6 ms.
LARGEST_CHUNK_BYTES = 32 << 20
SMALLEST_CHUNK_BYTES = 8 << 20
# The first copy in and the last copy out overlap nothing, however the chunks grow or shrink between them. Of 64 MB in 8, 16
# and 32 MB the end was there after 3.1, 2.1 and 2.5 ms, of 256 MB after 6.7, 6.4 and 6.4 ms (H200).
CHUNKS_WANTED = 4
# Where nothing overlaps, chunks only have to be many, so that progress is told and somebody can stop it.
CHUNKS_IN_ORDER = 32
SMALLEST_CHUNK_IN_ORDER_BYTES = 4 << 20
# A picture's bands have six shapes at most, and each of them is made ready apart.
MOST_PREPARED = 16
# What `auto` takes for a picture in bands where its first choice cannot be cut: the fastest first.
DIRECT = {"cpu": ("cpu-parallel",), "cuda": ("register-blocked", "tiled", "naive")}


@dataclass
class _Unfinished:
    """A picture whose result is not whole yet."""

    values: np.ndarray
    chunks_left: int


class Stream:
    """One call: turns pictures into chunks, and finished chunks into results.

    Parameters
    ----------
    request : callable of Image -> Request
        Looks one picture up.
    mask : Mask
        As it is correlated.
    key : str
        Of the variant that was asked for, or "auto".
    chunk_bytes : int, optional
    ring : int
    checkpoint : callable of Step
    receive : callable of (int, ndarray), optional

    Attributes
    ----------
    values : list of ndarray
        The results that nobody received.
    """

    def __init__(
        self,
        request: Callable[[Image], Request],
        mask: Mask,
        key: str,
        chunk_bytes: int | None,
        ring: int,
        checkpoint: Checkpoint,
        receive: Callable[[int, np.ndarray], None] | None,
    ) -> None:
        self.values: list[np.ndarray] = []
        self._request = request
        self._mask = mask
        self._key = key
        self._chunk_bytes = chunk_bytes
        self._ring = ring
        self._checkpoint = checkpoint
        self._receive = receive
        self._chunks: list[Chunk] = []
        self._variants: dict[str, None] = {}
        self._unfinished: dict[int, _Unfinished] = {}
        self._operands = IntervalsInUse()
        self._activate: Callable[[], None] = lambda: None
        self._prepared: dict[tuple[Problem, str], Prepared] = {}
        # When the last result lay in its place and nothing was under way any longer.
        self._end_s = 0.0

    def run(self, pictures: Iterable[Image], outputs: Iterable[np.ndarray] | None) -> Timeline:
        """Filter all pictures and return when each chunk was where."""
        begin_s = time.perf_counter()
        total = len(pictures) if isinstance(pictures, tuple | list) else 0
        images = iter(pictures)
        try:
            first = next(images)
        except StopIteration:
            what, why = "The batch is empty", "there is nothing to filter"
            raise BadValue(what, why, "Pass at least one picture.") from None
        request = self._request(first)
        chunk_bytes = self._chunk_bytes or _chunk_bytes(request, total)

        def requests() -> Iterator[Request]:
            yield request
            for image in images:
                # Whoever makes pictures may have used another device meanwhile.
                self._activate()
                yield self._request(image)

        works = self._works(requests(), iter(outputs) if outputs is not None else None, chunk_bytes, total)
        if request.device.kind == "cuda" and request.device.key != "simulator":
            spans, clock, ring = self._on_device(works, request)
        else:
            # A simulator that needs a process of its own is asked by what `_prepare` returns, with arrays of the host.
            is_elsewhere = own_process_needed(request.device)
            machine = CpuBackend() if is_elsewhere else backend(request.device.key)
            machine.activate()
            spans, clock, ring = (
                run_in_order(works, machine, request.asked.layout, self._finished),
                "host clock",
                1,
            )
            self._end_s = time.perf_counter()
        return Timeline(
            device=request.device.key,
            variant=", ".join(self._variants),
            clock=clock,
            ring=ring,
            chunks=tuple(self._chunks),
            spans=spans,
            end_to_end_ms=(self._end_s - begin_s) * 1e3,
        )

    def _on_device(self, works: Iterator[Work], request: Request) -> tuple[tuple[Span, ...], str, int]:
        from engine.streams.cuda_lanes import CudaLanes
        from engine.streams.pipeline import Pipeline

        with cuda_errors_in_words("filtering in chunks"):
            self._activate = backend(request.device.key).activate
            self._activate()
            lanes = CudaLanes(request.asked.layout)
            try:
                pipeline = Pipeline(lanes, self._ring, time.perf_counter())
                pipeline.run(works, self._finished)
                self._end_s = time.perf_counter()
                return pipeline.spans(), "device events", self._ring
            finally:
                lanes.close()

    def _works(
        self,
        requests: Iterator[Request],
        outputs: Iterator[np.ndarray] | None,
        chunk_bytes: int,
        total: int,
    ) -> Iterator[Work]:
        """Give the chunks of all pictures, each when it is asked for."""
        for picture, request in enumerate(requests):
            problem = request.problem
            result = _place(outputs, request, picture)
            if outputs is not None:
                self._refuse_place_in_use(result, request, picture)
            target = result.reshape(request.samples.shape)
            bands = cut(problem, rows_of_chunk(problem, chunk_bytes))
            self._unfinished[picture] = _Unfinished(result, len(bands))
            ready = self._made_ready(request, bands)
            for number, band in enumerate(bands):
                done = (picture + number / len(bands)) / max(total, 1) if total else 0.0
                self._checkpoint(Step("filtering in chunks", min(done, 1.0), 2.0))
                yield self._work(picture, band, request, target, partial(ready, band.rows))

    def _refuse_place_in_use(self, place: np.ndarray, request: Request, picture: int) -> None:
        """Refuse an array for a result that holds the picture, or a result that is still wanted.

        Bands of a picture are read after others are written, so neither would come out right.
        """
        if np.may_share_memory(place, request.samples) or not self._operands.take(place):
            raise BadValue(
                f"the array for the result of picture {picture + 1}",
                "it shares memory with the picture, or with the result of another one",
                "Pass an array of its own for each result.",
            )

    def _work(
        self,
        picture: int,
        band: Band,
        request: Request,
        target: np.ndarray,
        prepare: Callable[[], Prepared],
    ) -> Work:
        sources = [request.samples[first:last] for first, last in band.sources]
        place = target[band.top : band.bottom]
        bytes_in = sum(source.nbytes for source in sources)
        chunk = Chunk(len(self._chunks), picture, band.top, band.bottom, bytes_in, place.nbytes)
        self._chunks.append(chunk)
        return Work(chunk, sources, place, band.skip, prepare)

    def _made_ready(self, request: Request, bands: tuple[Band, ...]) -> Callable[[int], Prepared]:
        """Return what gives the variant for a band of so many rows; it is chosen when the first one is asked for."""

        @cache
        def choice() -> Choice:
            found = request.choice if len(bands) == 1 else self._cuttable(request, bands)
            refuse_strange_samples(found.variant, request.samples)
            self._variants[found.variant.key] = None
            return found

        return cache(lambda rows: self._prepare(request, choice(), replace(request.problem, height=rows)))

    def _cuttable(self, request: Request, bands: tuple[Band, ...]) -> Choice:
        """Return the variant for a picture in bands.

        Raises
        ------
        UnsupportedVariant
            The one that was asked for forms its results otherwise where a band begins.
        """
        device = request.device
        problem = replace(request.problem, height=max(band.rows for band in bands))
        choice = choose(self._key, problem, self._mask, request.asked.block, device)
        if choice.variant.band_invariant:
            return choice
        for key in DIRECT[device.kind] if self._key == AUTO else ():
            direct = choose(key, problem, self._mask, None, device)
            if why_not(direct.variant, problem, self._mask, direct.block, device.limits) is None:
                return replace(direct, reason=f"'{choice.variant.key}' cannot filter a picture in bands")
        raise UnsupportedVariant(
            f"variant '{choice.variant.key}' on a picture in bands",
            "its sums run through the whole picture, so a band's results would differ in their last digits",
            "Raise chunk_bytes until the picture is one chunk, or name a direct variant.",
        )

    def _prepare(self, request: Request, choice: Choice, problem: Problem) -> Prepared:
        """Return the variant made ready for a picture or a band; the last few are kept."""
        key = problem, choice.variant.key
        prepared = self._prepared.pop(key, None)
        if prepared is None:
            refuse_unsuitable(choice.variant, problem, self._mask, choice.block, request.device)
            if own_process_needed(request.device):
                prepared = _InSimulator(choice, problem, self._mask, request.asked.layout)
            else:
                prepared = choice.variant.prepare(problem, self._mask, choice.block)
        self._prepared[key] = prepared
        if len(self._prepared) > MOST_PREPARED:
            del self._prepared[next(iter(self._prepared))]
        return prepared

    def _finished(self, work: Work) -> None:
        """Count a chunk whose result lies in its place, and hand over pictures that are whole."""
        number = work.chunk.picture
        picture = self._unfinished[number]
        picture.chunks_left -= 1
        if picture.chunks_left:
            return
        del self._unfinished[number]
        if self._receive is None:
            self.values.append(picture.values)
            return
        self._receive(number, picture.values)
        self._activate()
        self._operands.leave(picture.values)


def _chunk_bytes(request: Request, pictures: int) -> int:
    """Return how large a chunk should be: of a batch whose end is not known, as large as for a long one."""
    if pictures == 0:
        return LARGEST_CHUNK_BYTES
    problem = request.problem
    whole = pictures * problem.samples * max(problem.itemsize, problem.result_itemsize)
    wanted, smallest = CHUNKS_WANTED, SMALLEST_CHUNK_BYTES
    if request.device.kind == "cpu":
        wanted, smallest = CHUNKS_IN_ORDER, SMALLEST_CHUNK_IN_ORDER_BYTES
    return min(max(whole // wanted, smallest), LARGEST_CHUNK_BYTES)


def _place(outputs: Iterator[np.ndarray] | None, request: Request, picture: int) -> np.ndarray:
    """Return the array that a picture's result goes into: the caller's, or a fresh one."""
    dtype = np.dtype(request.problem.result_dtype)
    if outputs is None:
        return empty_result(request.samples, request.shape, dtype)
    try:
        place = next(outputs)
    except StopIteration:
        why = f"there is none for picture {picture + 1}"
        raise BadValue("The arrays for the results", why, "Pass one for each picture.") from None
    if not isinstance(place, np.ndarray):
        raise BadValue(
            "The arrays for the results",
            f"what was passed for picture {picture + 1} is {in_words(place)}",
            "Pass an array, or a list of arrays for a batch.",
        )
    if not place.flags.writeable:
        raise BadValue(
            f"the array for the result of picture {picture + 1}",
            "it is read-only",
            "Pass engine.pinned_array or numpy.empty of the picture's shape.",
        )
    if place.shape == request.shape and place.dtype == dtype and not place.flags.c_contiguous:
        raise BadValue(
            f"the array for the result of picture {picture + 1}",
            "its rows do not lie one after the other (it is not C-contiguous)",
            "Pass engine.pinned_array or numpy.empty of that shape, and copy the result from there.",
        )
    if place.shape != request.shape or place.dtype != dtype:
        raise BadValue(
            f"an array of {place.dtype} and shape {place.shape} for a result",
            f"picture {picture + 1} needs a C-contiguous one of {dtype} and shape {request.shape}",
            "Pass engine.pinned_array or numpy.empty of that shape.",
        )
    return place


class _InSimulator:
    """A variant in the simulator's own process."""

    def __init__(self, choice: Choice, problem: Problem, mask: Mask, layout: Layout) -> None:
        self._call = choice, problem, mask
        self._layout = layout

    def launch(self, image: np.ndarray, out: np.ndarray, stream: object = None) -> None:
        """Filter arrays of the host; the simulator's process verifies what it gives."""
        job = filter_job(*self._call, image, layout=self._layout)
        outcome = outcome_of(job, device_named(SIMULATOR), NO_SAMPLES, executor_for)
        if outcome.values is None:
            raise outcome.error or EngineError(outcome.result.failure)
        out[...] = outcome.values
