"""Launches captured as a graph: many replayed as one to time them, or one again and again to spare the host.

The queue cannot run empty between launches of one graph, so events measure the kernels and not the host.
"""

import weakref
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from engine.device.backend import Buffers
from engine.device.capture_lock import CAPTURE_LOCK
from engine.device.cuda_faults import cuda_errors_in_words
from engine.device.launches import Prepared
from engine.device.numba_cuda import cuda, driver

# A sample shorter than this would show the events' own resolution of about 0.5 us; a longer one only costs
# time.
SHORTEST_SAMPLE_MS = 0.2
MOST_LAUNCHES = 256
# A launch repeated that often is likely to be repeated as often again, which pays for the capture.
LAUNCHES_BEFORE_GRAPH = 8


def check(answer: tuple[Any, ...]) -> Any:
    """Return what a driver call answers, raising what Numba raises if it failed."""
    if answer[0]:
        raise cuda.cudadrv.driver.CudaAPIError(int(answer[0]), answer[0].name)
    return answer[1] if len(answer) > 1 else None


class LaunchGraph:
    """`launches` launches of one prepared variant, captured once and replayed many times.

    It is freed when it is dropped.
    """

    def __init__(self, prepared: Prepared, buffers: Buffers, stream: Any, launches: int) -> None:
        self._stream = stream
        # Its weights and constant memory are read at each replay.
        self._prepared = prepared
        self._handle = driver.CUstream(int(stream.handle))
        mode = driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
        # Freeing any array would end the capture: that waits.
        with CAPTURE_LOCK, cuda.defer_cleanup():
            check(driver.cuStreamBeginCapture(self._handle, mode))
            try:
                for _ in range(launches):
                    prepared.launch(buffers.image, buffers.out, stream)
            except BaseException:
                driver.cuStreamEndCapture(self._handle)
                raise
            graph = check(driver.cuStreamEndCapture(self._handle))
        self._executable = check(driver.cuGraphInstantiate(graph, 0))
        check(driver.cuGraphDestroy(graph))
        # One that is running is freed when it is done; at the end of the program the context takes it along.
        weakref.finalize(self, driver.cuGraphExecDestroy, self._executable).atexit = False

    def replay(self, stream: Any = None) -> None:
        """Enqueue all launches, on the stream that they were captured on or on another one."""
        handle = self._handle if stream is None else driver.CUstream(int(stream.handle))
        check(driver.cuGraphLaunch(self._executable, handle))


@cache
def _capturing_stream(device: int) -> Any:
    """Return a stream of a device that is used for capturing alone, by one thread at a time."""
    return cuda.stream()


class RepeatedLaunch:
    """A prepared variant that allocates nothing when it is launched, on the same arrays again and again.

    Numba takes 70 to 190 us of the host's time for a launch, a graph of it 5; capturing takes as long as five
    launches.
    """

    def __init__(self, prepared: Prepared, buffers: Buffers, stream: Any) -> None:
        self._prepared, self._buffers, self._stream = prepared, buffers, stream
        self._launches = 0
        self._graph: LaunchGraph | None = None

    def enqueue(self) -> None:
        """Enqueue one filtering."""
        if self._launches == LAUNCHES_BEFORE_GRAPH:
            # Not on the stream itself: another thread's work there would be captured too, and not run.
            stream = _capturing_stream(cuda.get_current_device().id)
            # What cannot be captured is launched as before; a fault of the device returns with the next
            # launch.
            with suppress(Exception):
                self._graph = LaunchGraph(self._prepared, self._buffers, stream, 1)
        self._launches += 1
        if self._graph is None:
            self._prepared.launch(self._buffers.image, self._buffers.out, self._stream)
        else:
            self._graph.replay(self._stream)


@dataclass
class GraphClock:
    """Times launches between two device events around a replayed graph."""

    prepared: Prepared
    buffers: Buffers
    stream: Any
    launches: int = 1
    name: str = "device events around a replayed graph"
    _graph: LaunchGraph | None = field(default=None, repr=False)

    def calibrate(self) -> None:
        """Choose how many launches make one sample, and capture them."""
        self._capture(1)
        self.sample_ms()
        once_ms = self.sample_ms()
        self.launches = max(1, min(MOST_LAUNCHES, round(SHORTEST_SAMPLE_MS / max(once_ms, 1e-4))))
        self._capture(self.launches)

    def _capture(self, launches: int) -> None:
        self.launches = launches
        self._graph = LaunchGraph(self.prepared, self.buffers, self.stream, launches)

    def sample_ms(self) -> float:
        """Return the time of one launch, ms."""
        assert self._graph is not None
        with CAPTURE_LOCK, cuda_errors_in_words("timing the kernel"):
            begin, end = cuda.event(timing=True), cuda.event(timing=True)
            begin.record(self.stream)
            self._graph.replay()
            end.record(self.stream)
            end.synchronize()
            return float(begin.elapsed_time(end)) / self.launches
