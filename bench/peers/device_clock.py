"""Device events around many runs without gaps: a replayed graph.

With one launch between two events the queue would starve and the events would measure the host. So as many
runs as make 2 ms are captured into a graph once, and each sample replays it: once unmeasured, so that clocks
and caches are as they will be, and once between two events. A library's call that cannot be captured is timed
by events around so many calls, and the host's part is in its time.

A cold cache: there are so many copies of picture and result that they are several times as large as the
cache, and they take turns.
"""

import contextlib
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from cuda.bindings import driver

from bench.peers.library import Refused

SAMPLE_MS = 2.0
MOST_RUNS = 512


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


def fact(name: str, device: int) -> int:
    """Return an attribute of a device, such as "MULTIPROCESSOR_COUNT"."""
    attribute = getattr(driver.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}")
    return int(check(driver.cuDeviceGetAttribute(attribute, device)))


class DeviceClock:
    """Times runs on one stream.

    `run` enqueues one run on that copy's buffers. `capture` captures what the given function enqueues and
    returns what replays it; by default by the driver's own calls, in the context `guard`.
    """

    def __init__(
        self,
        run: Callable[[int], None],
        copies: int,
        stream: int,
        capture: Callable[[Callable[[], None]], Callable[[], None]] | None = None,
        guard: Callable[[], AbstractContextManager[Any]] = contextlib.nullcontext,
    ) -> None:
        self._run, self._copies, self._runs = run, copies, copies
        self._stream = driver.CUstream(stream)
        self._capture, self._guard = capture or self._captured, guard
        self._events = [check(driver.cuEventCreate(0)) for _ in range(2)]
        self._next = 0
        # What is loaded, chosen or allocated by a first run is not there yet.
        self._enqueue_all()
        self._wait()
        try:
            self._replay = self._capture(self._enqueue_all)
            self.name = "device events around a replayed graph"
        except Exception as error:  # noqa: BLE001 - whatever forbids a capture, runs can be enqueued
            driver.cuStreamSynchronize(self._stream)
            self._replay = self._enqueue_all
            why = " ".join(str(error).split())[:80]
            self.name = f"device events around runs: the host's part is in it (no graph: {why})"
        self._replay()
        once_ms = max(self._between(self._replay) / self._runs, 1e-4)
        # Whole turns through the copies, so that each is as cold as the others.
        turns = max(1, min(round(SAMPLE_MS / (once_ms * self._copies)), MOST_RUNS // self._copies))
        if turns > 1:
            self._runs = self._copies * turns
            if self._replay != self._enqueue_all:
                self._replay = self._capture(self._enqueue_all)
        self._replay()
        self._wait()

    def sample(self) -> tuple[float, int]:
        """Return milliseconds a run, and the runs of the sample."""
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


def refuse_without_device() -> None:
    """Refuse where there is no CUDA device that works."""
    try:
        use_device()
    except Exception as error:
        raise Refused(f"no CUDA device here ({' '.join(str(error).split())[:120]})") from error
