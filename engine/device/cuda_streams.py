"""The GPU of a thread, the order of its streams, and launches captured as a graph, which is timed.

A GPU is selected for a call and given back: CuPy and torch use the current one. The queue cannot run empty
between the launches of one graph, so events around its replay measure the kernels and not the host.
"""

import weakref
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from typing import Any

from engine.device.cuda_faults import cuda_errors_in_words
from engine.device.devices import SHORTEST_SAMPLE_S, Buffers, LaunchClock
from engine.device.launches import CAPTURE_LOCK, Prepared, Stream
from engine.device.numba_cuda import cuda, driver

MOST_LAUNCHES = 256


def check(answer: tuple[Any, ...]) -> Any:
    """Return what a driver call answers, raising what Numba raises if it failed."""
    if answer[0]:
        raise cuda.cudadrv.driver.CudaAPIError(int(answer[0]), answer[0].name)
    return answer[1] if len(answer) > 1 else None


class Context:
    """The primary context of a GPU, which all libraries share."""

    def __init__(self, device: int) -> None:
        # Numba makes it ready for its own use as well.
        with cuda.gpus[device]:
            self._own = check(driver.cuCtxGetCurrent())
        self._address, self._is_first = int(self._own), device == 0

    def select(self) -> None:
        """Make it the calling thread's."""
        check(driver.cuCtxSetCurrent(self._own))

    def selected(self) -> AbstractContextManager[None]:
        """Make it the calling thread's for the while; afterwards the thread has the one that it had.

        Where no context is current CUDA takes GPU 0: a thread that had none keeps that one.
        """
        # Asking takes 1 us, making it current 5.
        before = int(check(driver.cuCtxGetCurrent()))
        if before == self._address:
            return nullcontext()
        if not before and self._is_first:
            self.select()
            return nullcontext()
        return self._pushed()

    @contextmanager
    def _pushed(self) -> Iterator[None]:
        check(driver.cuCtxPushCurrent(self._own))
        try:
            yield
        finally:
            # After a fault of the device the driver refuses this too, and the fault is what is raised.
            driver.cuCtxPopCurrent()


@cache
def context_of(device: int) -> Context:
    """Return the context of the GPU of that number, started by the first call."""
    return Context(device)


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

    def hold(self, stream: object) -> None:
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


class GraphClock(LaunchClock):
    """Times launches between two device events around a replayed graph, of as many as make one sample."""

    name = "device events around a replayed graph"

    def __init__(self, prepared: Prepared, buffers: Buffers, stream: Stream) -> None:
        self._stream, self.launches = stream, 1
        self._graph = LaunchGraph(prepared, buffers, stream, 1)
        self.sample_ms()
        once_ms = self.sample_ms()
        self.launches = max(1, min(MOST_LAUNCHES, round(SHORTEST_SAMPLE_S * 1e3 / max(once_ms, 1e-4))))
        self._graph = LaunchGraph(prepared, buffers, stream, self.launches)

    def sample_ms(self) -> float:
        """Return the time of one launch, ms."""
        with CAPTURE_LOCK, cuda_errors_in_words("timing the kernel"):
            begin, end = cuda.event(timing=True), cuda.event(timing=True)
            begin.record(self._stream)
            self._graph.replay()
            end.record(self._stream)
            end.synchronize()
            return float(begin.elapsed_time(end)) / self.launches
