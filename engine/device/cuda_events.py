"""Work on one stream that waits for work on another."""

import weakref
from typing import Any

from engine.device.cuda_graph import check
from engine.device.numba_cuda import driver


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
    """The end of the newest launch that uses some memory; the next one waits for it, whatever its stream."""

    def __init__(self) -> None:
        self._event: Event | None = None

    def wait(self, stream: int) -> None:
        """Have what is enqueued on a stream from now on wait for it."""
        # Also on a stream of the same handle: that may be a new one, made when the other was destroyed.
        if self._event is not None and not is_captured(stream):
            check(driver.cuStreamWaitEvent(stream, self._event.handle, 0))

    def hold(self, stream: Any) -> None:
        """Do the same in a finalizer, for a stream that is never captured, whatever the driver answers."""
        if self._event is not None and stream is not None:
            driver.cuStreamWaitEvent(stream, self._event.handle, 0)

    def record(self, stream: int) -> None:
        """Say that the newest launch is the last work on a stream so far."""
        if is_captured(stream):
            # A replay is ordered by whoever replays it.
            return
        self._event = self._event or Event()
        self._event.record(stream)


def is_captured(stream: int) -> bool:
    """Return whether launches on a stream go into a graph, or would spoil one that is being captured."""
    status, *answer = driver.cuStreamIsCapturing(stream)
    if status == driver.CUresult.CUDA_ERROR_STREAM_CAPTURE_IMPLICIT:
        # The default stream, while a stream that waits for it is captured.
        return True
    return bool(check((status, *answer)))


def order_after(stream: int, other: int) -> None:
    """Have what is enqueued on a stream from now on wait for what is on another one now."""
    newest = NewestLaunch()
    newest.record(other)
    newest.wait(stream)
