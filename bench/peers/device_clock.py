"""Device events around many runs without gaps: a replayed graph, or a queue held until it was full.

With one launch between two events the queue would starve and the events would measure the host. So as many
runs as make 2 ms are captured into a graph once, and each sample replays it: once unmeasured, so that clocks
and caches are as they will be, and once between two events. Where a library's call cannot be captured, the
stream waits for a flag in the host's memory until all runs stand in the queue. A call that waits for the
device by itself would wait for ever then: it is found out once, and from then on timed without a flag.

A cold cache: there are so many copies of picture and result that they are several times as large as the
cache, and they take turns.
"""

import contextlib
import ctypes
import math
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from cuda.bindings import driver

from bench.peers.library import Refused

SAMPLE_MS = 2.0
MOST_RUNS = 512
# A device's queue holds about a thousand launches; the host would wait for a place in it for ever.
MOST_QUEUED = 128
# Many times what it takes to fill the queue.
LONGEST_HOLD_S = 3.0


def check(answer: tuple[Any, ...]) -> Any:
    """Return what a driver call answers; raise where it failed."""
    status, *values = answer
    if status != driver.CUresult.CUDA_SUCCESS:
        raise RuntimeError(f"the CUDA driver answered {status.name}")
    return values[0] if values else None


def use_device() -> int:
    """Give the calling thread the first device's primary context, which all libraries share; return it."""
    check(driver.cuInit(0))
    device = check(driver.cuDeviceGet(0))
    check(driver.cuCtxSetCurrent(check(driver.cuDevicePrimaryCtxRetain(device))))
    return int(device)


class DeviceClock:
    """Times runs on one stream.

    Parameters
    ----------
    run : callable of int
        Enqueues one run on that copy's buffers.
    copies : int
    stream : int
        The stream's handle.
    capture : callable of (callable) -> callable, optional
        Captures what the given function enqueues and returns what replays it; by default by the driver's own
        calls.
    guard : callable, optional
        A context to capture in.
    launches : int
        Calls that one run makes.
    """

    def __init__(
        self,
        run: Callable[[int], None],
        copies: int,
        stream: int,
        capture: Callable[[Callable[[], None]], Callable[[], None]] | None = None,
        guard: Callable[[], AbstractContextManager[Any]] = contextlib.nullcontext,
        launches: int = 1,
    ) -> None:
        self._run, self._copies, self._runs = run, copies, copies
        self._stream = driver.CUstream(stream)
        self._capture, self._guard = capture or self._captured, guard
        self._events = [check(driver.cuEventCreate(0)) for _ in range(2)]
        self._flag: _Flag | None = None
        self._next = 0
        # What is loaded, chosen or allocated by a first run is not there yet.
        self._enqueue_all()
        self._wait()
        try:
            self._by_graph()
        except Exception as error:  # noqa: BLE001 - whatever forbids a capture, runs can be queued
            driver.cuStreamSynchronize(self._stream)
            self._by_queue(launches, " ".join(str(error).split())[:80])

    def _by_graph(self) -> None:
        self._replay = self._capture(self._enqueue_all)
        self._replay()
        once_ms = max(self._between(self._replay) / self._runs, 1e-4)
        # Whole turns through the copies, so that each is as cold as the others.
        turns = max(1, min(round(SAMPLE_MS / (once_ms * self._copies)), MOST_RUNS // self._copies))
        if turns > 1:
            self._runs = self._copies * turns
            self._replay = self._capture(self._enqueue_all)
        self.name = "device events around a replayed graph"
        self._replay()
        self._wait()

    def _by_queue(self, launches: int, why: str) -> None:
        self._runs = max(1, MOST_QUEUED // launches)
        flag = _Flag()
        held_ms = self._held(flag)
        waits_by_itself = flag.gave_up
        once_ms = max((self._between(self._enqueue_all) if waits_by_itself else held_ms) / self._runs, 1e-4)
        self._runs = max(1, min(self._runs, math.ceil(SAMPLE_MS / once_ms)))
        if waits_by_itself:
            self._replay = self._enqueue_all
            self.name = (
                "device events around runs that wait for the device by themselves: the host's part is in it"
            )
        else:
            self._flag = flag
            self.name = f"device events around a full queue (no graph: {why})"

    def sample(self) -> tuple[float, int]:
        """Return milliseconds a run, and the runs of the sample."""
        if self._flag is not None:
            return self._held(self._flag) / self._runs, self._runs
        self._replay()
        return self._between(self._replay) / self._runs, self._runs

    def _enqueue_all(self) -> None:
        for _ in range(self._runs):
            self._run(self._next)
            self._next = (self._next + 1) % self._copies

    def _between(self, action: Callable[[], None]) -> float:
        begin, end = self._events
        check(driver.cuEventRecord(begin, self._stream))
        action()
        check(driver.cuEventRecord(end, self._stream))
        check(driver.cuEventSynchronize(end))
        return float(check(driver.cuEventElapsedTime(begin, end)))

    def _held(self, flag: "_Flag") -> float:
        # A run before the first event: the clocks rise while it waits for nothing else.
        begin, end = self._events
        flag.hold(self._stream)
        try:
            self._run(self._next)
            check(driver.cuEventRecord(begin, self._stream))
            self._enqueue_all()
            check(driver.cuEventRecord(end, self._stream))
        finally:
            flag.release()
        check(driver.cuEventSynchronize(end))
        return float(check(driver.cuEventElapsedTime(begin, end)))

    def _captured(self, action: Callable[[], None]) -> Callable[[], None]:
        mode = driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
        with self._guard():
            check(driver.cuStreamBeginCapture(self._stream, mode))
            try:
                action()
            except BaseException:
                driver.cuStreamEndCapture(self._stream)
                raise
            graph = check(driver.cuStreamEndCapture(self._stream))
        executable = check(driver.cuGraphInstantiate(graph, 0))
        check(driver.cuGraphDestroy(graph))
        return lambda: check(driver.cuGraphLaunch(executable, self._stream))

    def _wait(self) -> None:
        check(driver.cuStreamSynchronize(self._stream))


class _Flag:
    """A word in the host's memory that a stream waits for, for a while."""

    def __init__(self) -> None:
        address = int(check(driver.cuMemHostAlloc(4, driver.CU_MEMHOSTALLOC_DEVICEMAP)))
        self._word = ctypes.c_uint32.from_address(address)
        self._on_device = check(driver.cuMemHostGetDevicePointer(address, 0))
        self._timer: threading.Timer | None = None
        self.gave_up = False

    def hold(self, stream: Any) -> None:
        """Let the stream wait until `release`, or until it is clear that nobody will come that far."""
        self._word.value = 0
        equal = int(driver.CUstreamWaitValue_flags.CU_STREAM_WAIT_VALUE_EQ)
        check(driver.cuStreamWaitValue32(stream, self._on_device, 1, equal))
        self._timer = threading.Timer(LONGEST_HOLD_S, self._give_up)
        self._timer.start()

    def release(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._word.value = 1

    def _give_up(self) -> None:
        self.gave_up = True
        self._word.value = 1


def refuse_without_device() -> None:
    """Refuse where there is no CUDA device that works."""
    try:
        use_device()
    except Exception as error:
        raise Refused(f"no CUDA device here ({' '.join(str(error).split())[:120]})") from error
