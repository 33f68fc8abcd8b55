"""The loop over a device: chunks are given to it as it has room, and reported in their order.

The pictures are taken, and the results received, on the calling thread alone. A device is asked to wait for
what it has only when it has no room, so that its next chunks are enqueued by then.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from engine.errors import Cancelled, EngineError
from engine.flow.chunks import ChunkJob
from engine.flow.timeline import Span


class Device(Protocol):
    """A device that chunks are sent through, or several; at most `most` are under way."""

    most: int

    @property
    def has_room(self) -> bool:
        """Whether another chunk can be sent."""

    def send(self, job: ChunkJob) -> str:
        """Give it a chunk; return the key of the device that has it."""

    def wait(self) -> list[ChunkJob]:
        """Wait until chunks are finished, and return them, each once."""

    def spans(self) -> Sequence[Span]:
        """Return where each chunk was that is finished, chunk after chunk."""


class Loop:
    """Sends chunks through a device, and calls `finished` with each in order, on the calling thread.

    Results that wait for those before them are of a few pictures. `keys` has the key of the device that each
    chunk went to, by its number.
    """

    def __init__(self, device: Device, finished: Callable[[ChunkJob], None]) -> None:
        self._device, self._finished = device, finished
        # Chunks that were given and not reported, by number; those of them that are finished.
        self._given: dict[int, ChunkJob] = {}
        self._done: set[int] = set()
        self.keys: list[str] = []

    def run(self, jobs: Iterable[ChunkJob | None]) -> None:
        """Send all chunks through and wait for them; called once.

        They are taken one by one as there is room. None in place of one, where the next is not there yet, has
        an older one finished. Where the device fails, or a job, what was begun is finished, where that is
        possible, and reported too, before the error is raised: that of the earliest chunk.
        """
        left = iter(jobs)
        while True:
            while not self._has_room:
                self._wait()
            try:
                job = next(left)
            except StopIteration:
                break
            except EngineError as error:
                # Those before it may fail, too.
                while self._given and not isinstance(error, Cancelled):
                    self._wait()
                raise
            if job is not None:
                self._given[job.chunk.number] = job
                self.keys.append(self._device.send(job))
            elif self._given:
                self._wait()
        while self._given:
            self._wait()

    @property
    def _has_room(self) -> bool:
        return self._device.has_room and self._pictures_waiting() < 2 * self._device.most

    def _pictures_waiting(self) -> int:
        if not self._given:
            return 0
        first, last = next(iter(self._given.values())), next(reversed(self._given.values()))
        return last.chunk.picture - first.chunk.picture

    def _wait(self) -> None:
        """Wait until the device has finished a chunk, and report what is finished and first in order."""
        try:
            self._done |= {job.chunk.number for job in self._device.wait()}
        except EngineError:
            # What was finished after those that failed.
            for number in [number for number in self._given if number in self._done]:
                self._finished(self._given.pop(number))
            raise
        while self._given and (number := next(iter(self._given))) in self._done:
            self._finished(self._given.pop(number))
