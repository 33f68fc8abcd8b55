"""The one loop of all flows; chunks with their arrays; the device without queues: a CPU, or the simulator."""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from engine.device.backend import Backend
from engine.device.host_memory import empty_result
from engine.device.launches import DeviceArray, Prepared
from engine.errors import Cancelled, DeviceFault, EngineError
from engine.geometry.block import Layout

FORMAT = "haloscope-timeline"


class Queue(StrEnum):
    """The stages of a chunk; each works on one chunk at a time, all of them at once."""

    STAGE_IN = "into pinned memory"
    COPY_IN = "copy in"
    KERNEL = "kernel"
    COPY_OUT = "copy out"
    STAGE_OUT = "out of pinned memory"


@dataclass(frozen=True, slots=True)
class Chunk:
    """Rows `top` to `bottom` (past the last) of a picture's result, and the bytes that copies take."""

    number: int  # in the stream, from 0
    picture: int  # its number in the stream, from 0
    top: int
    bottom: int
    bytes_in: int
    bytes_out: int
    device: str = ""  # key of the device that filtered it


@dataclass(frozen=True, slots=True)
class Interval:
    """A chunk in a queue, from begin to end in ms since the stream began."""

    chunk: int
    queue: Queue
    begin_ms: float
    end_ms: float

    @property
    def ms(self) -> float:
        """How long the chunk was there."""
        return self.end_ms - self.begin_ms


@dataclass(frozen=True, slots=True)
class Timeline:
    """When each chunk of a stream was in which queue."""

    device: str  # its key; those of several GPUs separated by ", "
    variant: str  # keys of the variants that filtered, separated by ", "
    # What the spans were read from. On a GPU: device events; only the queues of pinned memory, where the host
    # copies, are read from its own clock, set to zero together with the device's.
    clock: str
    ring: int  # chunks that were on the device at once
    chunks: tuple[Chunk, ...]
    spans: tuple[
        Interval, ...
    ]  # by chunk, then by queue; none for stages that are not used (copies on the CPU)
    # From the request for the first picture to the last written result, by the host's clock.
    end_to_end_ms: float

    def busy_ms(self, queue: Queue) -> float:
        """Return how long a queue worked: the sum of its spans, ms; of several GPUs together."""
        return sum(span.ms for span in self.spans if span.queue is queue)

    @property
    def queues(self) -> tuple[Queue, ...]:
        """The queues that were used, in the order in which a chunk passes them."""
        used = {span.queue for span in self.spans}
        return tuple(queue for queue in Queue if queue in used)

    def as_json(self) -> dict[str, object]:
        """Return the timeline as plain JSON values."""
        document = {"format": FORMAT, **asdict(self)}
        for span in document["spans"]:
            # Files of version 1 name it so.
            span["lane"] = span.pop("queue")
        return document


@dataclass(eq=False, slots=True)
class ChunkJob:
    """A chunk with its arrays."""

    chunk: Chunk  # of which the device that it is sent to says its key
    sources: Sequence[np.ndarray]  # of shape (rows, W, C); one below the other they are the picture to filter
    target: np.ndarray  # of shape (result rows, W, C): where the result goes
    skip: int  # rows of the filtered picture before the first of the result
    result_shape: tuple[int, ...]  # of what the variant writes
    # Returns the variant for a picture of the sources' shape; its error ends the stream. Called when the copy
    # of the sources is already enqueued.
    prepare: Callable[[], Prepared]
    picture: Any = None  # that it is of, as the stream got it
    # In a device with queues: its slot with the picture there, its marks, when the host copied for it, in
    # seconds of its own clock, and what copies its result out of pinned memory.
    slot: int = 0
    image: DeviceArray = None
    begins: dict[Queue, Any] = field(default_factory=dict)
    ends: dict[Queue, Any] = field(default_factory=dict)
    host_s: dict[Queue, tuple[float, float]] = field(default_factory=dict)
    delivered: "Future[None] | None" = None

    @property
    def shape(self) -> tuple[int, int, int]:
        """Shape of the picture to filter."""
        _, width, channels = self.sources[0].shape
        return sum(len(source) for source in self.sources), width, channels


class InOrder:
    """A device without queues, as the loop sees it: a chunk is finished when it is sent."""

    most = 1

    def __init__(self, backend: Backend, layout: Layout) -> None:
        self._backend, self._layout = backend, layout
        self._begin_s = time.perf_counter()
        self.spans: list[Interval] = []  # when each chunk was filtered, by the host's clock
        self._finished: list[ChunkJob] = []

    @property
    def has_room(self) -> bool:
        """Whether the last chunk was reported."""
        return not self._finished

    def send(self, job: ChunkJob) -> None:
        """Filter a chunk."""
        prepared, backend = job.prepare(), self._backend
        image = job.sources[0] if len(job.sources) == 1 else np.concatenate(job.sources)
        is_whole = job.result_shape == job.target.shape and job.target.flags.c_contiguous
        out = job.target if is_whole else empty_result(image, job.result_shape, job.target.dtype)
        buffers = backend.allocate(image, out, self._layout)
        steps: list[tuple[Queue, Callable[[], object]]] = [
            (Queue.COPY_IN, lambda: backend.upload(image, buffers)),
            (Queue.KERNEL, lambda: backend.run(prepared, buffers)),
            (Queue.COPY_OUT, lambda: backend.download(buffers)),
        ]
        for queue, act in steps if backend.copies else steps[1:2]:
            begin_s = time.perf_counter() - self._begin_s
            act()
            end_s = time.perf_counter() - self._begin_s
            self.spans.append(Interval(job.chunk.number, queue, 1e3 * begin_s, 1e3 * end_s))
        if not is_whole:
            job.target[...] = buffers.host_out[job.skip : job.skip + len(job.target)]
        self._finished.append(job)

    def wait(self) -> list[ChunkJob]:
        """Return the last chunk."""
        finished, self._finished = self._finished, []
        return finished


Work = TypeVar("Work")


class _Device(Protocol):
    """What computes what it is sent, at most `most` at a time; `wait` returns what is finished, each once."""

    most: int

    @property
    def has_room(self) -> bool: ...
    def send(self, work: Any, /) -> None: ...
    def wait(self) -> list[Any]: ...
    def close(self) -> None: ...


@dataclass(kw_only=True, eq=False)
class Flow(Generic[Work]):
    """One loop from a source through three stages: made ready on threads, through a stream, taken on threads.

    So the pictures of `filter_stream` are computed, a band of a large picture is read, filtered and written,
    and a file of a batch opened, computed, encoded and written. The calling thread hands work on from stage
    to stage, and is the stream's.

    `ready` returns what the stream has to compute, or None where it needs none; `take` is called once that is
    computed, in order with a single taker. Both are called at once where there are no threads for them. At
    most `most` is under way, of pictures alone as many as the stream has room for. `failed` is called with an
    error of one of the two, and returns whether the work is done with; else the error is raised. `dropped` is
    called with work that is not taken. Where there is an `alone`, and a picture breaks the stream off, it
    computes those in it one by one, and a new stream is made. `ended` is set where the loop has failed.
    """

    ready: Callable[[Work], Any] = lambda work: work
    take: Callable[[Work], object] = lambda work: None
    threads: int = 0
    takers: int = 0
    most: int = 0
    stream: Callable[[], _Device] | None = None
    alone: Callable[[Any], object] | None = None
    failed: Callable[[Work, BaseException], bool] = lambda work, error: False
    dropped: Callable[[Work], object] = lambda work: None
    ended: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self._openers = ThreadPoolExecutor(max(1, self.threads), "flow-ready")
        self._takers = ThreadPoolExecutor(max(1, self.takers), "flow-take")
        self._stream: _Device | None = None
        # What is begun and not reported, and what of that is finished.
        self._begun: deque[Work] = deque()
        self._done: set[Work] = set()
        # Each the oldest first; what is computed, and waits for what was sent before.
        self._opening: dict[Future[Any], Work] = {}
        self._in_stream: dict[object, Work] = {}
        self._computed: set[object] = set()
        self._taking: dict[Future[object], Work] = {}
        self._error: BaseException | None = None

    def run(self, source: Iterable[Work], finished: Callable[[Work], object] = lambda work: None) -> None:
        """Send all work through, and call `finished` with each in order, on the calling thread; called once.

        It is taken one by one as there is room. Where a stage fails, or the source, what was begun is
        finished, where that is possible, and reported too, before the error is raised: that of the earliest.
        """
        left, self._finished = iter(source), finished
        try:
            while True:
                while not self._has_room:
                    self._wait()
                try:
                    work = next(left)
                except StopIteration:
                    break
                except EngineError as error:
                    # Those before it may fail, too.
                    while self._begun and not isinstance(error, Cancelled):
                        self._wait()
                    raise
                self._begun.append(work)
                if self.threads:
                    self._opening[self._openers.submit(self.ready, work)] = work
                    while self._hand_on_what_is_ready():
                        pass
                else:
                    self._hand_on(work, self.ready(work))
                self._report()
            while self._begun:
                self._wait()
        except BaseException:
            self.ended.set()
            raise
        finally:
            # Its copies end before their memory is anyone's again.
            self._close_stream()
            for work in self._in_stream.values():
                self.dropped(work)
            for future, work in self._opening.items():
                future.cancel()
                future.add_done_callback(lambda _, work=work: self.dropped(work))  # type: ignore[misc]
            self._openers.shutdown()
            self._takers.shutdown()

    @property
    def _has_room(self) -> bool:
        # Results that wait for those before them are few.
        stream = self._stream
        if self._error is not None:
            return False
        if not self.threads:
            return stream is None or (stream.has_room and len(self._begun) <= 2 * stream.most)
        under_way = len(self._opening) + len(self._in_stream) + len(self._taking)
        return under_way < self.most and len(self._begun) <= 2 * self.most

    def _wait(self) -> None:
        """Hand work on until more is finished, and report it; after an error until all is, then raise."""
        count = len(self._done)
        while len(self._done) == count:
            if self._hand_on_what_is_ready():
                continue
            if self._in_stream:
                self._compute(self._receive)
            elif self._opening or self._taking:
                wait([*self._opening, *self._taking], return_when=FIRST_COMPLETED)
            elif self._error is not None:
                for work in filter(self._done.__contains__, self._begun):
                    self._finished(work)
                raise self._error
        self._report()

    def _report(self) -> None:
        while self._begun and self._begun[0] in self._done:
            work = self._begun.popleft()
            self._done.remove(work)
            self._finished(work)

    def _hand_on_what_is_ready(self) -> bool:
        """Hand on one that a thread is ready with; return whether there was one."""
        taken = next((future for future in self._taking if future.done()), None)
        ready = next((future for future in self._opening if future.done()), None)
        if taken is not None:
            self._finish(self._taking.pop(taken), taken.exception())
        elif ready is not None and (self._stream is None or self._stream.has_room):
            work = self._opening.pop(ready)
            if ready.cancelled() or ready.exception() is not None:
                self.dropped(work)
                if not ready.cancelled():
                    self._finish(work, ready.exception())
            else:
                self._hand_on(work, ready.result())
        else:
            return False
        return True

    def _finish(self, work: Work, error: BaseException | None) -> None:
        if error is None or self.failed(work, error):
            self._done.add(work)
        else:
            self._fail(error)

    def _fail(self, error: BaseException) -> None:
        self._error = self._error or error
        self.ended.set()
        for future in self._opening:
            future.cancel()

    def _hand_on(self, work: Work, request: object) -> None:
        if request is None:
            self._take(work)
        elif self._error is not None:
            self.dropped(work)
        else:
            self._in_stream[request] = work
            self._compute(lambda stream: stream.send(request))

    def _take(self, work: Work) -> None:
        if self.takers:
            self._taking[self._takers.submit(self.take, work)] = work
        else:
            self.take(work)
            self._done.add(work)

    def _receive(self, stream: _Device) -> None:
        self._computed.update(stream.wait())
        is_ordered = self.takers == 1
        for request in list(self._in_stream):
            if request in self._computed:
                self._computed.remove(request)
                self._take(self._in_stream.pop(request))
            elif is_ordered:
                break

    def _compute(self, act: Callable[[_Device], object]) -> None:
        """Do something with the stream; where that fails, go on without those in it, or with each alone."""
        assert self.stream is not None
        try:
            self._stream = self._stream or self.stream()
            act(self._stream)
        except (EngineError, MemoryError) as error:
            self._close_stream()
            left, self._in_stream, self._computed = self._in_stream, {}, set()
            alone = None if isinstance(error, DeviceFault) else self.alone
            if alone is None:
                self._fail(error)
            for request, work in left.items():
                if alone is None:
                    self.dropped(work)
                    continue
                try:
                    alone(request)
                except (EngineError, MemoryError) as why:
                    self.dropped(work)
                    self._finish(work, why)
                else:
                    self._take(work)

    def _close_stream(self) -> None:
        if self._stream is not None:
            self._stream.close()
            self._stream = None
