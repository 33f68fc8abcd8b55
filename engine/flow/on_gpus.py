"""What drives GPUs, one or several. It imports Numba's CUDA target, which the CPU does not need.

One is driven by the calling thread. Each of several has a thread of its own, and all write into the same
results, each its own rows: the next chunk goes to the one with the fewest under way.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import Any

from engine.device.cuda_faults import cuda_errors_in_words
from engine.device.devices import backend
from engine.device_info import DeviceInfo
from engine.errors import Cancelled
from engine.flow.chunks import ChunkDevice, ChunkJob
from engine.flow.cuda_queues import CudaQueues
from engine.flow.pipeline import Pipeline
from engine.flow.timeline import Queue, Span
from engine.geometry.layout import Layout

_ORDER = {queue: place for place, queue in enumerate(Queue)}


@contextmanager
def pipelines(gpus: Sequence[DeviceInfo], layout: Layout, ring: int) -> Iterator[ChunkDevice]:
    """Open the pipeline of one GPU, or those of several, each on a thread of its own."""
    keys = [gpu.key for gpu in gpus]
    opened = [
        partial(_pipeline, gpu, layout, keys[:place].count(gpu.key), ring) for place, gpu in enumerate(gpus)
    ]
    with ExitStack() as stack:
        if len(opened) == 1:
            yield stack.enter_context(opened[0]())
            return
        threads = [_OnThread(key, open_, ring) for key, open_ in zip(keys, opened, strict=True)]
        for thread in threads:
            stack.callback(thread.close)
        yield Several(threads)


@contextmanager
def _pipeline(gpu: DeviceInfo, layout: Layout, number: int, ring: int) -> Iterator[Pipeline]:
    doing = f"filtering in chunks on {gpu.key} ({gpu.title})"
    with ExitStack() as stack:
        with cuda_errors_in_words(doing):
            queues = stack.enter_context(queues_of(gpu, layout, number))
        pipeline = Pipeline(queues, ring, gpu.key, doing)
        stack.callback(pipeline.close)
        yield pipeline


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


class _OnThread:
    """A pipeline and the thread that drives it, as the calling thread sees them."""

    def __init__(self, key: str, opened: Callable[[], AbstractContextManager[Pipeline]], ring: int) -> None:
        self.most = ring
        self.under_way: deque[ChunkJob] = deque()
        self.error: BaseException | None = None
        self._opened, self._stack = opened, ExitStack()
        self._finishing: Future[list[ChunkJob] | None] | None = None
        self._thread = ThreadPoolExecutor(1, f"stream-{key}")
        self._thread.submit(self._tried, self._open)

    def _open(self) -> None:
        self.pipeline = self._stack.enter_context(self._opened())

    def _tried(self, act: Callable[[], Any]) -> Any:
        """Return what is done, but do nothing after an error. Called on: that thread."""
        if self.error is None:
            try:
                return act()
            except BaseException as error:  # noqa: BLE001 - raised by the calling thread
                self.error = error
        return None

    def send(self, job: ChunkJob) -> None:
        """Give the pipeline a chunk."""
        self.under_way.append(job)
        self._thread.submit(self._tried, lambda: self.pipeline.send(job))

    def finishing(self) -> Future[list[ChunkJob] | None]:
        """Have the oldest chunk finished, if nobody asked yet."""
        if self._finishing is None:
            self._finishing = self._thread.submit(self._tried, lambda: self.pipeline.wait())
        return self._finishing

    def finished(self) -> list[ChunkJob]:
        """Return the oldest chunk once, where it is finished."""
        if self._finishing is None or not self._finishing.done():
            return []
        found, self._finishing = self._finishing.result(), None
        return [self.under_way.popleft() for _ in found or ()]

    def close(self) -> None:
        """Close the pipeline; what it has not begun is dropped."""
        self.error = self.error or Cancelled("The stream has ended")
        self._thread.submit(self._stack.close)
        self._thread.shutdown()


class Several:
    """Several GPUs, as the loop sees them. Where one fails, the others finish what they have begun."""

    def __init__(self, threads: Sequence[_OnThread]) -> None:
        self._threads = threads
        self.most = sum(thread.most for thread in threads)

    @property
    def has_room(self) -> bool:
        """Whether one has room, and none has failed."""
        return self._error is None and any(len(one.under_way) < one.most for one in self._threads)

    def send(self, job: ChunkJob) -> None:
        """Give a chunk to the one with the fewest under way."""
        min(self._threads, key=lambda one: len(one.under_way)).send(job)

    def wait(self) -> list[ChunkJob]:
        """Wait until one has finished a chunk; after an error all of them, then raise that."""
        found = self._found()
        while self._error is not None and self._busy:
            found += self._found()
        if not found and self._error is not None:
            raise self._error
        return found

    @property
    def _busy(self) -> list[_OnThread]:
        return [one for one in self._threads if one.under_way and one.error is None]

    @property
    def _error(self) -> BaseException | None:
        """The error of the earliest chunk."""
        failed = [one for one in self._threads if one.error is not None]
        failed.sort(key=lambda one: one.under_way[0].chunk.number if one.under_way else 0)
        return failed[0].error if failed else None

    def _found(self) -> list[ChunkJob]:
        busy = self._busy
        wait([one.finishing() for one in busy], return_when=FIRST_COMPLETED)
        return [job for one in busy for job in one.finished()]

    def spans(self) -> list[Span]:
        """Return where each chunk was, by the clock of the GPU that was ready first."""
        pipelines, found = [one.pipeline for one in self._threads], []
        zero_s = min(pipeline.begin_s for pipeline in pipelines)
        for pipeline in pipelines:
            later_ms = 1e3 * (pipeline.begin_s - zero_s)
            found += [
                replace(span, begin_ms=span.begin_ms + later_ms, end_ms=span.end_ms + later_ms)
                for span in pipeline.spans()
            ]
        return sorted(found, key=lambda span: (span.chunk, _ORDER[span.queue]))
