"""What drives GPUs, one or several. It imports Numba's CUDA target, which the CPU does not need.

Each has a thread of its own, and all write into the same results, each its own rows: the next chunk goes to
the one with the fewest under way.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from typing import Any

from engine.device.cuda_faults import cuda_errors_in_words
from engine.device.devices import backend
from engine.device.per_process import OncePerProcess
from engine.device_info import DeviceInfo
from engine.errors import Cancelled
from engine.flow.chunks import ChunkJob
from engine.flow.cuda_queues import CudaQueues
from engine.flow.pipeline import Pipeline
from engine.flow.timeline import Queue, Span
from engine.geometry.layout import Layout

_ORDER = {queue: place for place, queue in enumerate(Queue)}


@contextmanager
def queues_of(gpu: DeviceInfo, layout: Layout, number: int) -> Iterator[CudaQueues]:
    """Select a GPU for the thread, with queues of that number."""
    with backend(gpu.key).selected():
        queues = CudaQueues(layout, number)
        try:
            yield queues
        finally:
            # A device that has failed fails again.
            with suppress(Exception):
                queues.close()


@OncePerProcess
def _threads(key: str, number: int) -> tuple[ThreadPoolExecutor, ThreadPoolExecutor]:
    """Return the thread that drives a GPU, and the one that copies out of pinned memory; they are kept."""
    return ThreadPoolExecutor(1, f"gpu-{key}"), ThreadPoolExecutor(1, f"gpu-{key}-deliver")


class _Here(Executor):
    """Does everything at once, on the calling thread."""

    def submit(self, act: Callable[..., Any], /, *given: Any, **named: Any) -> Future[Any]:
        """Do it; what drives a GPU raises nothing."""
        done: Future[Any] = Future()
        done.set_result(act(*given, **named))
        return done


class _Gpu:
    """A GPU with the thread that drives it; `number` tells those apart that are the same one."""

    def __init__(self, gpu: DeviceInfo, layout: Layout, number: int, ring: int, *, is_here: bool) -> None:
        self.key = gpu.key
        self.under_way: set[int] = set()  # numbers of chunks
        self.pipeline: Pipeline | None = None
        self.error: BaseException | None = None
        self._is_finishing = False  # its thread will finish the next chunk soon
        self._of, self._stack = (gpu, layout, number, ring), ExitStack()
        self._thread: Executor
        self._thread, self._deliverer = _threads(gpu.key, number)
        self._is_here, self._machine = is_here, backend(gpu.key)
        if is_here:
            self._thread = _Here()

    def send(self, job: ChunkJob) -> None:
        """Give the pipeline a chunk."""
        job.chunk = replace(job.chunk, device=self.key)
        number = job.chunk.number
        self.under_way.add(number)
        job.finished.add_done_callback(lambda _: self.under_way.discard(number))
        self._thread.submit(self._send, job)

    def finish(self) -> None:
        """Finish what was sent, one after the other: a chunk that comes meanwhile is begun first.

        Driven by the calling thread, the oldest one.
        """
        self._thread.submit(self._finish, is_next=False)

    def close(self) -> None:
        """Close the pipeline, once what it has begun is finished; the rest is dropped."""
        self.error = self.error or Cancelled("The stream has ended")
        self._thread.submit(self._stack.close).result()

    def _opened(self) -> Pipeline:
        gpu, layout, number, ring = self._of
        doing = f"filtering in chunks on {gpu.key} ({gpu.title})"
        with cuda_errors_in_words(doing):
            queues = self._stack.enter_context(queues_of(gpu, layout, number))
        pipeline = Pipeline(queues, ring, self._deliverer, doing)
        self._stack.callback(pipeline.close)
        return pipeline

    def _send(self, job: ChunkJob) -> None:
        """Send a chunk; after an error none. Called on: its thread."""
        try:
            if self.error is not None:
                raise self.error
            self.pipeline = self.pipeline or self._opened()
            # What called here may have selected another device.
            with self._machine.selected():
                self.pipeline.send(job)
        except BaseException as error:  # noqa: BLE001 - raised by who waits for the chunk
            self._fail(error)
            if not job.finished.done():
                job.finished.set_exception(error)

    def _finish(self, *, is_next: bool) -> None:
        """Finish the oldest chunk, and the next one after what is sent meanwhile. Called on: its thread."""
        if self._is_finishing and not is_next:
            return
        self._is_finishing = False
        try:
            if self.error is not None or self.pipeline is None:
                return
            with self._machine.selected():
                is_more = self.pipeline.finish()
            if is_more and not self._is_here:
                self._is_finishing = True
                self._thread.submit(self._finish, is_next=True)
        except BaseException as error:  # noqa: BLE001 - as above
            self._fail(error)

    def _fail(self, error: BaseException) -> None:
        self.error = error
        if self.pipeline is not None:
            self.pipeline.close(error)


class Gpus:
    """GPUs as one device. Where one fails, the others go on. A context manager.

    One that `is_here` is driven by the calling thread: to hand a small picture on takes longer than that.
    """

    def __init__(self, gpus: Sequence[DeviceInfo], layout: Layout, ring: int, *, is_here: bool) -> None:
        keys = [gpu.key for gpu in gpus]
        self._gpus = [
            _Gpu(gpu, layout, keys[:place].count(gpu.key), ring, is_here=is_here)
            for place, gpu in enumerate(gpus)
        ]
        # One that is alone never waits for the host; of several a slow one has little that others could do.
        self.most = ring * max(2, len(gpus))

    def __enter__(self) -> "Gpus":
        return self

    def __exit__(self, *_: object) -> None:
        for gpu in self._gpus:
            gpu.close()

    def send(self, job: ChunkJob) -> None:
        """Give a chunk to the one with the fewest under way."""
        working = [gpu for gpu in self._gpus if gpu.error is None]
        min(working or self._gpus, key=lambda gpu: len(gpu.under_way)).send(job)

    def finish(self) -> None:
        """Finish what was sent."""
        for gpu in self._gpus:
            gpu.finish()

    def spans(self) -> list[Span]:
        """Return where each chunk was, by the clock of the GPU that was ready first."""
        pipelines, found = [gpu.pipeline for gpu in self._gpus if gpu.pipeline is not None], []
        zero_s = min(pipeline.begin_s for pipeline in pipelines)
        for pipeline in pipelines:
            later_ms = 1e3 * (pipeline.begin_s - zero_s)
            found += [
                replace(span, begin_ms=span.begin_ms + later_ms, end_ms=span.end_ms + later_ms)
                for span in pipeline.spans()
            ]
        return sorted(found, key=lambda span: (span.chunk, _ORDER[span.queue]))
