"""Launches captured as a graph, which is replayed to time them.

The queue cannot run empty between launches of one graph, so events measure the kernels and not the host.
"""

import weakref

from engine.device.backend import Buffers
from engine.device.capture_lock import CAPTURE_LOCK
from engine.device.cuda_faults import cuda_errors_in_words
from engine.device.cuda_streams import check
from engine.device.launches import Prepared, Stream
from engine.device.numba_cuda import cuda, driver

# A sample shorter than this would show the events' own resolution of about 0.5 us; a longer one only costs
# time.
SHORTEST_SAMPLE_MS = 0.2
MOST_LAUNCHES = 256


class LaunchGraph:
    """`launches` launches of one prepared variant, captured once and replayed many times.

    It is freed when it is dropped.
    """

    def __init__(self, prepared: Prepared, buffers: Buffers, stream: Stream, launches: int) -> None:
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

    def replay(self) -> None:
        """Enqueue all launches, on the stream that they were captured on."""
        check(driver.cuGraphLaunch(self._executable, self._handle))


class GraphClock:
    """Times launches between two device events around a replayed graph, of as many as make one sample."""

    name = "device events around a replayed graph"

    def __init__(self, prepared: Prepared, buffers: Buffers, stream: Stream) -> None:
        self._stream, self._launches = stream, 1
        self._graph = LaunchGraph(prepared, buffers, stream, 1)
        self.sample_ms()
        once_ms = self.sample_ms()
        self._launches = max(1, min(MOST_LAUNCHES, round(SHORTEST_SAMPLE_MS / max(once_ms, 1e-4))))
        self._graph = LaunchGraph(prepared, buffers, stream, self._launches)

    def sample_ms(self) -> float:
        """Return the time of one launch, ms."""
        with CAPTURE_LOCK, cuda_errors_in_words("timing the kernel"):
            begin, end = cuda.event(timing=True), cuda.event(timing=True)
            begin.record(self._stream)
            self._graph.replay()
            end.record(self._stream)
            end.synchronize()
            return float(begin.elapsed_time(end)) / self._launches
