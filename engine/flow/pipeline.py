"""The pipeline: what may run beside what while chunks go through a device.

Three queues of the device work at once: the copy engine towards it, its processors, the copy engine away from
it. A ring of slots, each with room for one chunk, keeps them apart:

    copy in of a chunk      after the kernel of the slot's chunk before (it has read the slot's picture)
    kernel                  after its own copy in, and after the copy out of the slot's chunk before
    copy out                after its own kernel

The device itself waits for these; the host only enqueues. It waits for the device in two cases: so as not to
run too far ahead (the stream may be cancelled, and a generator of pictures should not be drained), and where
an array is not page-locked, so that the copy engines cannot reach it: then threads copy between it and the
slot's pinned memory, which is reused only when the other side has finished with it.

Host work is done while the device is busy where that is possible: choosing and preparing a variant after the
first copies were enqueued, reading a chunk's marks when it is done. Each ms before the first copy, or after
the last, would be a ms of the whole.

One GPU is driven by the calling thread. Each of several has a thread of its own, and all write into the same
results, each its own rows: the next chunk goes to the one with the fewest under way.

Source: the CNN report, "Streaming" (two streams, pinned memory, chunks of 100 outputs in turn).
"""

import itertools
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.device.backend import cuda_errors_in_words
from engine.device.devices import backend
from engine.device.thread_pool import copy_array
from engine.device_info import DeviceInfo
from engine.errors import Cancelled
from engine.flow.chunks import ChunkJob, Interval, Queue
from engine.geometry.block import Layout

if TYPE_CHECKING:
    from engine.flow.cuda_queues import CudaQueues

# Choosing and preparing a variant takes the host about as long as copying this much.
BYTES_AHEAD = 48 << 20


class Pipeline:
    """A device with queues, as the loop sees it; `doing` says in errors what it was doing.

    With a `ring` of 2 slots copies and kernels overlap, 3 keep all three queues busy, one more covers the
    host's delays. Made when the queues' clock begins.
    """

    def __init__(self, queues: "CudaQueues", ring: int, key: str = "cuda", doing: str = "") -> None:
        self.key, self.most = key, 2 * ring
        self.begin_s = time.perf_counter()
        self.spans: list[Interval] = []  # where each finished chunk was, by the device's clock
        self._queues = queues
        self._in_words = partial(cuda_errors_in_words, doing) if doing else nullcontext
        # The last chunk of each slot, until it is finished.
        self._slots: list[ChunkJob | None] = [None] * ring
        self._next_slots = itertools.cycle(range(ring))
        self._under_way: deque[ChunkJob] = deque()
        # Chunks that are brought in before the first one is sent on.
        self._ahead: list[ChunkJob] | None = []
        # Copies results from pinned memory to their targets, in order.
        self._deliverer = ThreadPoolExecutor(1, "stream-deliver")

    @property
    def has_room(self) -> bool:
        """Whether the host is less than two rounds of the ring ahead."""
        return len(self._under_way) < self.most

    def send(self, job: ChunkJob) -> None:
        """Enqueue a chunk."""
        if job.chunk.device != self.key:
            job.chunk = replace(job.chunk, device=self.key)
        with self._in_words():
            job.slot = next(self._next_slots)
            self._under_way.append(job)
            self._bring_in(job)
            if self._ahead is None:
                self._send_on(job)
                return
            self._ahead.append(job)
            bytes_ahead = sum(one.chunk.bytes_in for one in self._ahead)
            is_staged = Queue.STAGE_IN in job.host_s
            if is_staged or bytes_ahead >= BYTES_AHEAD or len(self._ahead) == len(self._slots):
                self._send_ahead()

    def _send_ahead(self) -> None:
        jobs, self._ahead = self._ahead or (), None
        self._send_on(*jobs)

    def wait(self) -> list[ChunkJob]:
        """Wait until the result of the oldest chunk is in its target, read its marks; return that chunk."""
        queues = self._queues
        with self._in_words():
            self._send_ahead()
            job = self._under_way.popleft()
            if job.delivered is not None:
                job.delivered.result()
            queues.wait(job.ends[Queue.COPY_OUT])
            times_ms = {
                queue: (queues.ms(job.begins[queue]), queues.ms(end)) for queue, end in job.ends.items()
            } | {
                queue: (1e3 * (begin_s - self.begin_s), 1e3 * (end_s - self.begin_s))
                for queue, (begin_s, end_s) in job.host_s.items()
            }
            number = job.chunk.number
            self.spans += [Interval(number, queue, *times_ms[queue]) for queue in Queue if queue in times_ms]
            if self._slots[job.slot] is job:
                self._slots[job.slot] = None
            queues.forget([*job.begins.values(), *job.ends.values()])
        return [job]

    def close(self) -> None:
        """Wait for what is under way: no array may be freed while a copy to it is pending."""
        with suppress(Exception):
            self._queues.drain()
        self._deliverer.shutdown(wait=True, cancel_futures=True)

    @contextmanager
    def _marked(self, job: ChunkJob, queue: Queue) -> Iterator[None]:
        job.begins[queue] = self._queues.mark(queue)
        yield
        job.ends[queue] = self._queues.mark(queue)

    def _bring_in(self, job: ChunkJob) -> None:
        """Enqueue a chunk's copy to the device."""
        queues, before = self._queues, self._slots[job.slot]
        job.image = queues.image(job.slot, job)
        sources: Sequence[np.ndarray] = job.sources
        if not all(queues.is_pinned(source) for source in sources):
            staged = queues.pinned(job.slot, "in", (job.shape, sources[0].dtype))
            if before is not None:
                queues.wait(before.ends[Queue.COPY_IN])
            begin_s, row = time.perf_counter(), 0
            for source in sources:
                copy_array(source, staged[row : row + len(source)])
                row += len(source)
            job.host_s[Queue.STAGE_IN] = begin_s, time.perf_counter()
            sources = (staged,)
        if before is not None:
            queues.after(Queue.COPY_IN, before.ends[Queue.KERNEL])
        with self._marked(job, Queue.COPY_IN):
            row = 0
            for source in sources:
                queues.copy_in(source, job.image, row)
                row += len(source)

    def _send_on(self, *jobs: ChunkJob) -> None:
        """Enqueue what follows the copies of chunks to the device."""
        queues = self._queues
        for job in jobs:
            before = self._slots[job.slot]
            out = queues.result(job.slot, job)
            prepared = job.prepare()
            queues.after(Queue.KERNEL, job.ends[Queue.COPY_IN])
            if before is not None:
                queues.after(Queue.KERNEL, before.ends[Queue.COPY_OUT])
            with self._marked(job, Queue.KERNEL):
                queues.launch(prepared, job.image, out)

            queues.after(Queue.COPY_OUT, job.ends[Queue.KERNEL])
            target = job.target
            is_direct = queues.is_pinned(target)
            host = target if is_direct else queues.pinned(job.slot, "out", (target.shape, target.dtype))
            if before is not None and before.delivered is not None:
                before.delivered.result()
            with self._marked(job, Queue.COPY_OUT):
                queues.copy_out(out, job.skip, host)
            if not is_direct:
                job.delivered = self._deliverer.submit(self._stage_out, job, host)
            self._slots[job.slot] = job

    def _stage_out(self, job: ChunkJob, staged: np.ndarray) -> None:
        """Copy a result from pinned memory to its target. Called on: the delivering thread."""
        self._queues.wait(job.ends[Queue.COPY_OUT])
        begin_s = time.perf_counter()
        copy_array(staged, job.target)
        job.host_s[Queue.STAGE_OUT] = begin_s, time.perf_counter()


@contextmanager
def pipelines(gpus: Sequence[DeviceInfo], layout: Layout, ring: int) -> Iterator["Pipeline | Several"]:
    """Open the pipeline of one GPU, or those of several, each on a thread of its own."""
    keys = [gpu.key for gpu in gpus]

    @contextmanager
    def opened(place: int) -> Iterator[Pipeline]:
        gpu = gpus[place]
        doing = f"filtering in chunks on {gpu.key} ({gpu.title})"
        with ExitStack() as stack:
            with cuda_errors_in_words(doing):
                queues = stack.enter_context(queues_of(gpu, layout, keys[:place].count(gpu.key)))
            pipeline = Pipeline(queues, ring, gpu.key, doing)
            stack.callback(pipeline.close)
            yield pipeline

    with ExitStack() as stack:
        if len(gpus) == 1:
            yield stack.enter_context(opened(0))
            return
        threads = [_OnThread(key, partial(opened, place), ring) for place, key in enumerate(keys)]
        for thread in threads:
            stack.callback(thread.close)
        yield Several(threads)


@contextmanager
def queues_of(gpu: DeviceInfo, layout: Layout, number: int) -> Iterator["CudaQueues"]:
    """Select a GPU for the thread, with queues of that number."""
    # Numba's CUDA target, which the CPU does not need.
    from engine.flow.cuda_queues import CudaQueues

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
        self.most, self.under_way = ring, deque[ChunkJob]()
        self.error: BaseException | None = None
        self._stack = ExitStack()
        self._finishing: Future[list[ChunkJob] | None] | None = None
        self._thread = ThreadPoolExecutor(1, f"stream-{key}")

        def open_it() -> None:
            self.pipeline = self._stack.enter_context(opened())

        self._thread.submit(self._tried, open_it)

    def _tried(self, act: Callable[[], Any]) -> Any:
        """Return what is done; nothing is after an error. Called on: that thread."""
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
        self._finishing = self._finishing or self._thread.submit(self._tried, lambda: self.pipeline.wait())
        return self._finishing

    def finished(self) -> list[ChunkJob]:
        """Return the oldest chunk once, where it is finished."""
        if self._finishing is None or not self._finishing.done():
            return []
        chunks, self._finishing = self._finishing.result(), None
        return [self.under_way.popleft() for _ in chunks or ()]

    def close(self) -> None:
        """Close the pipeline; what it has not begun is dropped."""
        self.error = self.error or Cancelled("The stream has ended")
        self._thread.submit(self._stack.close)
        self._thread.shutdown()


class Several:
    """Several GPUs, as the loop sees them. Where one fails, the others finish what they have begun."""

    def __init__(self, threads: Sequence[_OnThread]) -> None:
        self._threads, self.most = threads, sum(thread.most for thread in threads)

    @property
    def has_room(self) -> bool:
        """Whether one has room, and none has failed."""
        return self._error is None and any(len(one.under_way) < one.most for one in self._threads)

    def send(self, job: ChunkJob) -> None:
        """Give a chunk to the one with the fewest under way."""
        min(self._threads, key=lambda one: len(one.under_way)).send(job)

    def wait(self) -> list[ChunkJob]:
        """Wait until one has finished a chunk; after an error all of them, then raise that."""
        finished: list[ChunkJob] = []
        while not finished or self._error is not None:
            busy = [one for one in self._threads if one.under_way and one.error is None]
            if not busy:
                break
            wait([one.finishing() for one in busy], return_when=FIRST_COMPLETED)
            finished += [job for one in busy for job in one.finished()]
        if not finished and self._error is not None:
            raise self._error
        return finished

    @property
    def _error(self) -> BaseException | None:
        """The error of the earliest chunk."""
        failed = [one for one in self._threads if one.error is not None]
        failed.sort(key=lambda one: one.under_way[0].chunk.number if one.under_way else 0)
        return failed[0].error if failed else None

    @property
    def spans(self) -> list[Interval]:
        """Where each chunk was, by the clock of the GPU that was ready first."""
        zero_s, spans = min(one.pipeline.begin_s for one in self._threads), []
        for one in self._threads:
            later_ms = 1e3 * (one.pipeline.begin_s - zero_s)
            for span in one.pipeline.spans:
                begin_ms, end_ms = span.begin_ms + later_ms, span.end_ms + later_ms
                spans.append(replace(span, begin_ms=begin_ms, end_ms=end_ms))
        return sorted(spans, key=lambda span: (span.chunk, [*Queue].index(span.queue)))
