"""The loop over a device: work is given to it as it has room, and reported in its order.

Work is a part of a picture for a GPU or a CPU, or a file of a batch for threads or the workers of a cluster.
It is taken, and reported, on the calling thread alone. A device is asked to wait for what it has only when it
has no room, so that what comes next is enqueued by then.
"""

from collections import deque
from collections.abc import Callable, Iterable
from typing import Generic, Protocol, TypeVar

from engine.errors import Cancelled, EngineError


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
