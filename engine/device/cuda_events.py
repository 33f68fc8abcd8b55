"""Work on one stream that waits for work on another."""

import weakref
from typing import Any, NamedTuple

from engine.device.cuda_graph import check
from engine.device.numba_cuda import driver


class Handle(NamedTuple):
    """A stream by its handle: another library's, or one that lasts as long as what holds it."""

    handle: int


class NewestLaunch:
    """The end of the newest launch that uses some memory; the next one waits for it, whatever its stream."""

    def __init__(self) -> None:
        self._event: Any = None
        self._stream = 0

    def wait(self, stream: int) -> None:
        """Have what is enqueued on a stream from now on wait for it."""
        # On the same stream it does so anyway.
        if self._event is not None and stream != self._stream and not is_captured(stream):
            check(driver.cuStreamWaitEvent(stream, self._event, 0))

    def record(self, stream: int) -> None:
        """Say that the newest launch is the last work on a stream so far."""
        if is_captured(stream):
            # A replay is ordered by whoever replays it.
            return
        if self._event is None:
            flags = driver.CUevent_flags.CU_EVENT_DISABLE_TIMING
            self._event = check(driver.cuEventCreate(flags))
            weakref.finalize(self, driver.cuEventDestroy, self._event).atexit = False
        check(driver.cuEventRecord(self._event, stream))
        self._stream = stream


def is_captured(stream: int) -> bool:
    """Return whether launches on a stream go into a graph."""
    status = check(driver.cuStreamIsCapturing(stream))
    return bool(status != driver.CUstreamCaptureStatus.CU_STREAM_CAPTURE_STATUS_NONE)


def order_after(stream: int, other: int) -> None:
    """Have what is enqueued on a stream from now on wait for what is on another one now."""
    newest = NewestLaunch()
    newest.record(other)
    newest.wait(stream)


class Context:
    """The context of the device that was selected when this was made."""

    def __init__(self) -> None:
        self._own = check(driver.cuCtxGetCurrent())

    def __enter__(self) -> None:
        """Make it the calling thread's."""
        check(driver.cuCtxPushCurrent(self._own))

    def __exit__(self, *_: object) -> None:
        check(driver.cuCtxPopCurrent())
