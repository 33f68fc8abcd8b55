"""The pipeline: what may run beside what while chunks go through a device.

Three queues of the device work at once: the copy engine towards it, its processors, the copy engine away from
it. A ring of slots, each with room for one chunk, keeps them apart:

    copy in of a chunk      after the kernel of the slot's chunk before (it has read the slot's picture)
    kernel                  after its own copy in, and after the copy out of the slot's chunk before
    copy out                after its own kernel

The device itself waits for these; the host only enqueues. It waits for the device in two cases: so as not to
run ahead by more than two rounds of the ring (the stream may be cancelled, and a generator of pictures should
not be drained), and where an array is not page-locked, so that the copy engines cannot reach it: then threads
copy between it and the slot's pinned memory, which is reused only when the other side has finished with it.

Host work is done while the device is busy where that is possible: choosing and preparing a variant after the
first copies were enqueued, reading a chunk's marks when it is done. Each ms before the first copy, or after
the last, would be a ms of the whole.

Source: the CNN report, "Streaming" (two streams, pinned memory, chunks of 100 outputs in turn).
"""

import itertools
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.errors import Cancelled, EngineError
from engine.flow.chunk_jobs import ChunkJob
from engine.flow.staging import StagingThreads
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
    image: Any = None
    begins: dict[Queue, Any] = field(default_factory=dict)
    ends: dict[Queue, Any] = field(default_factory=dict)
    host_s: dict[Queue, tuple[float, float]] = field(default_factory=dict)
    delivered: "Future[None] | None" = None


class Pipeline:
    """Sends chunks through a device.

    With a `ring` of 2 slots copies and kernels overlap, 3 keep all three queues busy, one more covers the
    host's delays. `begin_s` is what `time.perf_counter` said when the queues' clock began.
    """

    def __init__(self, queues: "CudaQueues", ring: int, begin_s: float) -> None:
        self._queues = queues
        # The last chunk of each slot, until it is finished.
        self._slots: list[_Passage | None] = [None] * ring
        self._begin_s = begin_s
        self._threads = StagingThreads()
        self._spans: list[Span] = []

    def run(self, jobs: Iterable[ChunkJob | None], finished: Callable[[ChunkJob], None]) -> None:
        """Send all chunks through and wait for them.

        Jobs are taken one by one as there is room; an error that one raises ends the stream. None in place of
        a job has the oldest chunk finished. `finished` is called for each, in order, when its result lies in
        its target, on the calling thread.
        """
        under_way: deque[_Passage] = deque()
        # Chunks that are brought in before the first one is sent on.
        ahead: list[_Passage] | None = []
        slots = itertools.cycle(range(len(self._slots)))
        try:
            for job in jobs:
                if job is None:
                    chunks, ahead = ahead or [], None
                    self._send_on(*chunks)
                    if under_way:
                        self._finish(under_way.popleft(), finished)
                    continue
                while len(under_way) >= 2 * len(self._slots):
                    self._finish(under_way.popleft(), finished)
                passage = _Passage(job, next(slots))
                under_way.append(passage)
                self._bring_in(passage)
                if ahead is None:
                    self._send_on(passage)
                    continue
                ahead.append(passage)
                bytes_ahead = sum(passage.job.chunk.bytes_in for passage in ahead)
                is_staged = Queue.STAGE_IN in passage.host_s
                if is_staged or bytes_ahead >= BYTES_AHEAD or len(ahead) == len(self._slots):
                    chunks, ahead = ahead, None
                    self._send_on(*chunks)
            chunks, ahead = ahead or [], None
            self._send_on(*chunks)
            while under_way:
                self._finish(under_way.popleft(), finished)
        except EngineError as error:
            # An error of an earlier picture is raised before one of a later picture.
            if not isinstance(error, Cancelled):
                self._send_on(*(ahead or []))
            raise
        finally:
            # No array may be freed while a copy to it is pending.
            with suppress(Exception):
                self._queues.drain()
            self._threads.stop()

    def spans(self) -> tuple[Span, ...]:
        """Return where each chunk was; after `run`."""
        return tuple(self._spans)

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
            begin_s = time.perf_counter()
            self._threads.copy_all(sources, staged)
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
                passage.delivered = self._threads.deliver(partial(self._stage_out, passage, host))
            self._slots[passage.slot] = passage

    def _stage_out(self, passage: _Passage, staged: np.ndarray) -> None:
        """Copy a result from pinned memory to its target. Called on: the delivering thread."""
        self._queues.wait(passage.ends[Queue.COPY_OUT])
        begin_s = time.perf_counter()
        self._threads.copy_all((staged,), passage.job.target)
        passage.host_s[Queue.STAGE_OUT] = begin_s, time.perf_counter()

    def _finish(self, passage: _Passage, finished: Callable[[ChunkJob], None]) -> None:
        """Wait for a chunk's result, report it, and read its marks while the device works on others."""
        if passage.delivered is not None:
            passage.delivered.result()
        self._queues.wait(passage.ends[Queue.COPY_OUT])
        finished(passage.job)
        times_ms = {
            queue: (self._queues.ms(passage.begins[queue]), self._queues.ms(end))
            for queue, end in passage.ends.items()
        }
        for queue, host_s in passage.host_s.items():
            begin_ms, end_ms = (1e3 * (at_s - self._begin_s) for at_s in host_s)
            times_ms[queue] = begin_ms, end_ms
        number = passage.job.chunk.number
        self._spans += [Span(number, queue, *times_ms[queue]) for queue in Queue if queue in times_ms]
        if self._slots[passage.slot] is passage:
            self._slots[passage.slot] = None
        self._queues.forget([*passage.begins.values(), *passage.ends.values()])
