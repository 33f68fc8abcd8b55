"""A chunk with its arrays, and the device that does one after the other: a CPU, or the simulator."""

import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from functools import partial
from typing import Generic, Protocol, TypeVar

import numpy as np

from engine.device.backend import Backend
from engine.device.host_memory import empty_result
from engine.device.launches import Prepared
from engine.errors import Cancelled, EngineError
from engine.geometry.block import Layout


class OfPicture(Protocol):
    """Work on a picture, or on a part of one."""

    @property
    def picture(self) -> int:
        """The number of the picture."""


Work = TypeVar("Work", bound=OfPicture)


class Device(Protocol[Work]):
    """What does work, one thing or several; at most `most` are under way."""

    most: int

    @property
    def has_room(self) -> bool:
        """Whether more can be sent."""

    def send(self, work: Work) -> None:
        """Give it work."""

    def wait(self) -> list[Work]:
        """Wait until some is finished, and return it, each once."""


class Loop(Generic[Work]):
    """Sends work through a device, and calls `finished` with each in order, on the calling thread.

    Results that wait for those before them are of a few pictures.
    """

    def __init__(self, device: Device[Work], finished: Callable[[Work], None]) -> None:
        self._device, self._finished = device, finished
        # What was given and is not reported, and what of that is finished.
        self._given: deque[Work] = deque()
        self._done: set[Work] = set()

    def run(self, work: Iterable[Work]) -> None:
        """Send all work through and wait for it; called once.

        It is taken one by one as there is room. Where the device fails, or the work, what was begun is
        finished, where that is possible, and reported too, before the error is raised: that of the earliest.
        """
        left = iter(work)
        while True:
            while not self._has_room:
                self._wait()
            try:
                following = next(left)
            except StopIteration:
                break
            except EngineError as error:
                # Those before it may fail, too.
                while self._given and not isinstance(error, Cancelled):
                    self._wait()
                raise
            self._given.append(following)
            self._device.send(following)
        while self._given:
            self._wait()

    @property
    def _has_room(self) -> bool:
        pictures = self._given[-1].picture - self._given[0].picture if self._given else 0
        return self._device.has_room and pictures < 2 * self._device.most

    def _wait(self) -> None:
        """Wait until the device has finished something, and report what is finished and first in order."""
        try:
            self._done.update(self._device.wait())
        except EngineError:
            # What was finished after what failed.
            for work in self._given:
                if work in self._done:
                    self._finished(work)
            raise
        while self._given and self._given[0] in self._done:
            work = self._given.popleft()
            self._done.remove(work)
            self._finished(work)


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
    """One chunk: rows `top` to `bottom` (past the last) of a picture's result, and the bytes copied for them.

    `number` counts the chunks of the stream, `picture` its pictures, both from 0; `device` is the key of the
    device that filtered it.
    """

    number: int
    picture: int
    top: int
    bottom: int
    bytes_in: int
    bytes_out: int
    device: str = ""


@dataclass(frozen=True, slots=True)
class Span:
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
    spans: tuple[Span, ...]  # by chunk, then by queue; none for stages that are not used (copies on the CPU)
    end_to_end_ms: (
        float  # from the request for the first picture to the last written result, by the host's clock
    )

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

    @property
    def picture(self) -> int:
        """The number of its picture."""
        return self.chunk.picture

    @property
    def shape(self) -> tuple[int, int, int]:
        """Shape of the picture to filter."""
        _, width, channels = self.sources[0].shape
        return sum(len(source) for source in self.sources), width, channels


class ChunkDevice(Device[ChunkJob], Protocol):
    """A device that chunks are sent through, or several."""

    def spans(self) -> Sequence[Span]:
        """Return where each chunk was that is finished, chunk after chunk."""


class InOrder:
    """A device without queues, as the loop sees it: a chunk is finished when it is sent."""

    most = 1

    def __init__(self, backend: Backend, layout: Layout) -> None:
        self._backend, self._layout = backend, layout
        self._begin_s = time.perf_counter()
        self._spans: list[Span] = []
        self._finished: list[ChunkJob] = []

    @property
    def has_room(self) -> bool:
        """Whether the last chunk was reported."""
        return not self._finished

    def send(self, job: ChunkJob) -> None:
        """Filter a chunk."""
        self._filter(job)
        self._finished.append(job)

    def wait(self) -> list[ChunkJob]:
        """Return the last chunk."""
        finished, self._finished = self._finished, []
        return finished

    def spans(self) -> list[Span]:
        """Return when each chunk was filtered, by the host's clock."""
        return self._spans

    def _filter(self, job: ChunkJob) -> None:
        prepared, backend = job.prepare(), self._backend
        image = job.sources[0] if len(job.sources) == 1 else np.concatenate(job.sources)
        is_whole = job.result_shape == job.target.shape and job.target.flags.c_contiguous
        out = job.target if is_whole else empty_result(image, job.result_shape, job.target.dtype)
        buffers = backend.allocate(image, out, self._layout)
        if backend.copies:
            self._timed(job, Queue.COPY_IN, partial(backend.upload, image, buffers))
        self._timed(job, Queue.KERNEL, partial(backend.run, prepared, buffers))
        if backend.copies:
            self._timed(job, Queue.COPY_OUT, partial(backend.download, buffers))
        if not is_whole:
            job.target[...] = buffers.host_out[job.skip : job.skip + len(job.target)]

    def _timed(self, job: ChunkJob, queue: Queue, action: Callable[[], object]) -> None:
        begin_s = time.perf_counter()
        action()
        begin_ms, end_ms = 1e3 * (begin_s - self._begin_s), 1e3 * (time.perf_counter() - self._begin_s)
        self._spans.append(Span(job.chunk.number, queue, begin_ms, end_ms))
