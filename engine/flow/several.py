"""Chunks spread over several devices: a pipeline each, on a thread of its own; the next chunk to the freest.

The calling thread makes the chunks, gives each to the device with the fewest under way, and reports them in
their order. So the pictures are taken, and the results received, on that thread alone, as with one device.
The devices write into the same result arrays, each its own rows. A device finishes its oldest chunk when it
is asked to: while there is room anywhere, every device has its next chunks enqueued.
"""

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from queue import SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING

from engine.errors import Cancelled, EngineError
from engine.flow.chunk_jobs import ChunkJob
from engine.flow.pipeline import Pipeline
from engine.flow.timeline import Queue, Span

if TYPE_CHECKING:
    from engine.flow.cuda_queues import CudaQueues

_ORDER = {queue: place for place, queue in enumerate(Queue)}


@dataclass(frozen=True, slots=True)
class StreamDevice:
    """A device by its key, and what makes its queues and closes them, on the thread that uses them."""

    key: str
    queues: Callable[[], "AbstractContextManager[CudaQueues]"]


@dataclass(frozen=True, slots=True)
class _End:
    """How a device's thread ended: its spans, from `begin_s` of the host's clock, or its error."""

    spans: tuple[Span, ...]
    begin_s: float
    error: BaseException | None


# A device's thread is given chunks, None to finish its oldest one, an error to raise, or that none follows.
_NO_MORE = "no more"


@dataclass(eq=False)
class _Lane:
    """A device with its thread, as the calling thread sees it."""

    device: StreamDevice
    ring: int
    answers: "SimpleQueue[tuple[_Lane, ChunkJob | _End]]"
    under_way: deque[ChunkJob] = field(default_factory=deque)
    is_asked: bool = False
    end: _End | None = None

    def __post_init__(self) -> None:
        self.given: SimpleQueue[ChunkJob | BaseException | str | None] = SimpleQueue()
        self._thread = Thread(target=self._run, name=f"stream-{self.device.key}", daemon=True)
        self._thread.start()

    def ask(self) -> None:
        """Have the oldest chunk finished, if nobody asked yet."""
        if self.under_way and not self.is_asked:
            self.is_asked = True
            self.given.put(None)

    def join(self) -> None:
        self._thread.join()

    def _run(self) -> None:
        """Send what is given through the device. Called on: the device's thread."""
        spans: tuple[Span, ...] = ()
        begin_s, error = time.perf_counter(), None
        try:
            with self.device.queues() as queues:
                begin_s = time.perf_counter()
                pipeline = Pipeline(queues, self.ring, begin_s)
                pipeline.run(self._chunks(), lambda job: self.answers.put((self, job)))
                spans = pipeline.spans()
        except BaseException as raised:  # noqa: BLE001 - raised by the calling thread
            error = raised
        self.answers.put((self, _End(spans, begin_s, error)))

    def _chunks(self) -> Iterator[ChunkJob | None]:
        while (given := self.given.get()) != _NO_MORE:
            if isinstance(given, BaseException):
                raise given
            assert not isinstance(given, str)
            yield given


class Spread:
    """One stream over several devices.

    At most `ring` chunks are under way on each, and results that wait for those before them are of at most
    `2 * ring` pictures a device.
    """

    def __init__(
        self, devices: Sequence[StreamDevice], ring: int, finished: Callable[[ChunkJob], None]
    ) -> None:
        self._answers: SimpleQueue[tuple[_Lane, ChunkJob | _End]] = SimpleQueue()
        self._ring, self._finished = ring, finished
        # Chunks that were given and not reported, by number; those of them that are finished.
        self._given: dict[int, ChunkJob] = {}
        self._done: set[int] = set()
        self._is_heard = True
        self.keys: list[str] = []
        """The key of the device that each chunk went to, by its number."""
        self._lanes = [_Lane(device, ring, self._answers) for device in devices]

    def run(self, jobs: Iterable[ChunkJob]) -> None:
        """Send all chunks through and wait for them; called once.

        `finished` is called for each in order. Where a device fails, or a job, the others finish what they
        have begun, which is reported too, before the error is raised.
        """
        try:
            self._spread(iter(jobs))
        except Exception as error:
            first = self._error_after(error)
            if first is error:
                raise
            raise first from error
        finally:
            self._finish_all(Cancelled("The stream has ended"))
            for lane in self._lanes:
                lane.join()

    def _spread(self, jobs: Iterator[ChunkJob]) -> None:
        while True:
            lane = self._freest()
            job = next(jobs, None)
            if job is None:
                break
            self._given[job.chunk.number] = job
            self.keys.append(lane.device.key)
            lane.under_way.append(job)
            lane.given.put(job)
        self._finish_all(_NO_MORE)
        while any(lane.end is None for lane in self._lanes):
            self._report(self._heard())

    def _freest(self) -> _Lane:
        """Return the device with the fewest chunks, as soon as one has room."""
        while True:
            free = [lane for lane in self._lanes if len(lane.under_way) < self._ring]
            if free and self._pictures_waiting() < 2 * self._ring * len(self._lanes):
                return min(free, key=lambda lane: len(lane.under_way))
            for lane in self._lanes:
                lane.ask()
            self._report(self._heard())

    def _pictures_waiting(self) -> int:
        waiting = list(self._given.values())
        return waiting[-1].chunk.picture - waiting[0].chunk.picture if waiting else 0

    def _heard(self) -> _Lane:
        """Wait until a device has finished a chunk, or has ended; return it."""
        lane, answer = self._answers.get()
        if isinstance(answer, _End):
            lane.end = answer
        else:
            lane.is_asked = False
            lane.under_way.popleft()
            self._done.add(answer.chunk.number)
        return lane

    def _report(self, lane: _Lane) -> None:
        """Report what is finished and first in order; raise the error of the device that was heard."""
        while self._given and (number := next(iter(self._given))) in self._done:
            self._report_one(number)
        if lane.end is not None and lane.end.error is not None:
            raise lane.end.error

    def _report_one(self, number: int) -> None:
        # Who raises an error is not called again.
        self._is_heard = False
        self._finished(self._given.pop(number))
        self._is_heard = True

    def _error_after(self, raised: Exception) -> BaseException:
        """Have the devices finish what they have, report it, and return the error of the earliest chunk."""
        if isinstance(raised, Cancelled) or not isinstance(raised, EngineError) or not self._is_heard:
            return raised
        self._finish_all(_NO_MORE)
        while any(lane.end is None for lane in self._lanes):
            self._heard()
        for number in [number for number in self._given if number in self._done]:
            self._report_one(number)
        failed = [lane for lane in self._lanes if lane.end and lane.end.error is not None]
        # A device's chunk was made before the job that failed.
        failed.sort(key=lambda lane: lane.under_way[0].chunk.number if lane.under_way else 0)
        return failed[0].end.error if failed and failed[0].end and failed[0].end.error else raised

    def _finish_all(self, last: BaseException | str) -> None:
        for lane in self._lanes:
            lane.given.put(last)

    def spans(self) -> tuple[Span, ...]:
        """Return where each chunk was, by the clock of the device that was ready first; after `run`."""
        ends = [lane.end for lane in self._lanes if lane.end is not None]
        zero_s = min(end.begin_s for end in ends)
        found = []
        for end in ends:
            later_ms = 1e3 * (end.begin_s - zero_s)
            found += [
                replace(span, begin_ms=span.begin_ms + later_ms, end_ms=span.end_ms + later_ms)
                for span in end.spans
            ]
        return tuple(sorted(found, key=lambda span: (span.chunk, _ORDER[span.queue])))
