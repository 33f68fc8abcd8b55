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

Source: the CNN report, "Streaming" (two streams, pinned memory, chunks of 100 outputs in turn).
"""

import itertools
import time
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.device.cuda_faults import cuda_errors_in_words
from engine.device.launches import DeviceArray
from engine.device.threads.parallel_copy import copy_array
from engine.flow.chunks import ChunkJob
from engine.flow.timeline import Queue, Span

if TYPE_CHECKING:
    from engine.flow.cuda_queues import CudaQueues

# Choosing and preparing a variant takes the host about as long as copying this much.
BYTES_AHEAD = 48 << 20


@dataclass(eq=False)
class _Passage:
    """A chunk in the pipeline: its marks, and when the host copied for it, in seconds of its own clock."""

    job: ChunkJob
    slot: int
    image: DeviceArray = None
    begins: dict[Queue, Any] = field(default_factory=dict)
    ends: dict[Queue, Any] = field(default_factory=dict)
    host_s: dict[Queue, tuple[float, float]] = field(default_factory=dict)
    delivered: "Future[None] | None" = None


class Pipeline:
    """A device with queues, as the loop sees it; `doing` says in errors what it was doing.

    With a `ring` of 2 slots copies and kernels overlap, 3 keep all three queues busy, one more covers the
    host's delays. Made when the queues' clock begins.
    """

    def __init__(self, queues: "CudaQueues", ring: int, key: str = "cuda", doing: str = "") -> None:
        self.key, self.most = key, 2 * ring
        self.begin_s = time.perf_counter()
        self._spans: list[Span] = []
        self._queues = queues
        self._in_words = partial(cuda_errors_in_words, doing) if doing else nullcontext
        # The last chunk of each slot, until it is finished.
        self._slots: list[_Passage | None] = [None] * ring
        self._next_slots = itertools.cycle(range(ring))
        self._under_way: deque[_Passage] = deque()
        # Chunks that are brought in before the first one is sent on.
        self._ahead: list[_Passage] | None = []
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
            self._send(job)

    def wait(self) -> list[ChunkJob]:
        """Wait until the result of the oldest chunk is in its target; return that chunk."""
        with self._in_words():
            return [self._finished()]

    def spans(self) -> list[Span]:
        """Return where each finished chunk was, by the device's clock."""
        return self._spans

    def _send(self, job: ChunkJob) -> None:
        passage = _Passage(job, next(self._next_slots))
        self._under_way.append(passage)
        self._bring_in(passage)
        if self._ahead is None:
            self._send_on(passage)
            return
        self._ahead.append(passage)
        bytes_ahead = sum(passage.job.chunk.bytes_in for passage in self._ahead)
        is_staged = Queue.STAGE_IN in passage.host_s
        if is_staged or bytes_ahead >= BYTES_AHEAD or len(self._ahead) == len(self._slots):
            self._send_ahead()

    def _send_ahead(self) -> None:
        passages, self._ahead = self._ahead or (), None
        self._send_on(*passages)

    def _finished(self) -> ChunkJob:
        """Wait for the oldest chunk, and read its marks."""
        self._send_ahead()
        passage = self._under_way.popleft()
        if passage.delivered is not None:
            passage.delivered.result()
        self._queues.wait(passage.ends[Queue.COPY_OUT])
        times_ms = {
            queue: (self._queues.ms(passage.begins[queue]), self._queues.ms(end))
            for queue, end in passage.ends.items()
        }
        for queue, host_s in passage.host_s.items():
            begin_ms, end_ms = (1e3 * (at_s - self.begin_s) for at_s in host_s)
            times_ms[queue] = begin_ms, end_ms
        number = passage.job.chunk.number
        self._spans += [Span(number, queue, *times_ms[queue]) for queue in Queue if queue in times_ms]
        if self._slots[passage.slot] is passage:
            self._slots[passage.slot] = None
        self._queues.forget([*passage.begins.values(), *passage.ends.values()])
        return passage.job

    def close(self) -> None:
        """Wait for what is under way: no array may be freed while a copy to it is pending."""
        with suppress(Exception):
            self._queues.drain()
        self._deliverer.shutdown(wait=True, cancel_futures=True)

    @contextmanager
    def _marked(self, passage: _Passage, queue: Queue) -> Iterator[None]:
        """Mark where what is enqueued begins and ends."""
        passage.begins[queue] = self._queues.mark(queue)
        yield
        passage.ends[queue] = self._queues.mark(queue)

    def _bring_in(self, passage: _Passage) -> None:
        """Enqueue a chunk's copy to the device."""
        queues, job, before = self._queues, passage.job, self._slots[passage.slot]
        passage.image = queues.image(passage.slot, job)
        sources: Sequence[np.ndarray] = job.sources
        if not all(queues.is_pinned(source) for source in sources):
            staged = queues.pinned(passage.slot, "in", (job.shape, sources[0].dtype))
            if before is not None:
                queues.wait(before.ends[Queue.COPY_IN])
            begin_s, row = time.perf_counter(), 0
            for source in sources:
                copy_array(source, staged[row : row + len(source)])
                row += len(source)
            passage.host_s[Queue.STAGE_IN] = begin_s, time.perf_counter()
            sources = (staged,)
        if before is not None:
            queues.after(Queue.COPY_IN, before.ends[Queue.KERNEL])
        with self._marked(passage, Queue.COPY_IN):
            row = 0
            for source in sources:
                queues.copy_in(source, passage.image, row)
                row += len(source)

    def _send_on(self, *passages: _Passage) -> None:
        """Enqueue what follows the copies of chunks to the device."""
        queues = self._queues
        for passage in passages:
            job, before = passage.job, self._slots[passage.slot]
            out = queues.result(passage.slot, job)
            prepared = job.prepare()
            queues.after(Queue.KERNEL, passage.ends[Queue.COPY_IN])
            if before is not None:
                queues.after(Queue.KERNEL, before.ends[Queue.COPY_OUT])
            with self._marked(passage, Queue.KERNEL):
                queues.launch(prepared, passage.image, out)

            queues.after(Queue.COPY_OUT, passage.ends[Queue.KERNEL])
            target = job.target
            is_direct = queues.is_pinned(target)
            host = target if is_direct else queues.pinned(passage.slot, "out", (target.shape, target.dtype))
            if before is not None and before.delivered is not None:
                before.delivered.result()
            with self._marked(passage, Queue.COPY_OUT):
                queues.copy_out(out, job.skip, host)
            if not is_direct:
                passage.delivered = self._deliverer.submit(self._stage_out, passage, host)
            self._slots[passage.slot] = passage

    def _stage_out(self, passage: _Passage, staged: np.ndarray) -> None:
        """Copy a result from pinned memory to its target. Called on: the delivering thread."""
        self._queues.wait(passage.ends[Queue.COPY_OUT])
        begin_s = time.perf_counter()
        copy_array(staged, passage.job.target)
        passage.host_s[Queue.STAGE_OUT] = begin_s, time.perf_counter()
