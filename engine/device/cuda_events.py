"""Work on one stream that waits for work on another."""

import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from engine.device.cuda_graph import check
from engine.device.numba_cuda import driver


class Handle(NamedTuple):
    """A stream by its handle: another library's, or one that lasts as long as what holds it."""

    handle: int


class Event:
    """A point in a stream, without a time."""

    def __init__(self) -> None:
        self.handle = check(driver.cuEventCreate(driver.CUevent_flags.CU_EVENT_DISABLE_TIMING))
        weakref.finalize(self, driver.cuEventDestroy, self.handle).atexit = False

    def record(self, stream: int) -> None:
        """Put it behind what is on a stream now."""
        check(driver.cuEventRecord(self.handle, stream))

    def synchronize(self) -> None:
        """Return when the device has reached it."""
        check(driver.cuEventSynchronize(self.handle))


class NewestLaunch:
    """The end of the newest launch that uses some memory; the next one waits for it, whatever its stream.

    None of them may be captured: a replay is ordered by whoever replays it.
    """

    def __init__(self) -> None:
        self._event: Event | None = None

    def wait(self, stream: int) -> None:
        """Have what is enqueued on a stream from now on wait for it."""
        # Also on one of the same handle: a new stream may have that of one that is gone, and the default
        # stream of each thread has the same.
        if self._event is not None:
            check(driver.cuStreamWaitEvent(stream, self._event.handle, 0))

    def hold(self, stream: int) -> None:
        """Do the same in a finalizer, whatever the driver answers."""
        if self._event is not None:
            driver.cuStreamWaitEvent(stream, self._event.handle, 0)

    def record(self, stream: int) -> None:
        """Say that the newest launch is the last work on a stream so far."""
        self._event = self._event or Event()
        self._event.record(stream)


def is_captured(stream: int) -> bool:
    """Return whether launches on a stream go into a graph."""
    return bool(check(driver.cuStreamIsCapturing(stream)))


def order_after(stream: int, other: int) -> None:
    """Have what is enqueued on a stream from now on wait for what is on another one now."""
    if not is_captured(stream) and not is_captured(other):
        newest = NewestLaunch()
        newest.record(other)
        newest.wait(stream)


class Context:
    """The context of the device that was selected when this was made."""

    def __init__(self) -> None:
        self._own = check(driver.cuCtxGetCurrent())
        self._address = int(self._own)

    @contextmanager
    def current(self) -> Iterator[None]:
        """Make it the calling thread's for the while."""
        check(driver.cuCtxPushCurrent(self._own))
        try:
            yield
        finally:
            check(driver.cuCtxPopCurrent())

    @property
    def is_current(self) -> bool:
        """Whether it is the calling thread's already."""
        return int(check(driver.cuCtxGetCurrent())) == self._address
