"""The pipeline: what may run beside what while chunks go through a device.

Three lanes of the device work at once: the copy engine towards it, its processors, the copy engine away from it. A ring
of slots, each with room for one chunk, keeps them apart:

    copy in of a chunk      after the kernel of the slot's chunk before (it has read the picture's place)
    kernel                  after its own copy in, and after the copy out of the slot's chunk before
    copy out                after its own kernel

The device itself waits for these; the host only enqueues. It waits for the device in two places: so as not to run ahead
by more than two rounds of the ring (a person may cancel, and a generator of pictures should not be drained), and where
an array is not page-locked, so that the copy engines cannot reach it: then threads copy between it and the slot's pinned
memory, and that may be used again only when the other side is done with it.

Host work that need not be done before something is enqueued is done while the device is busy: choosing a variant and making
it ready after the first copies were enqueued, reading a chunk's marks when it is done. Each ms before the first copy, or
after the last, would be a ms of the whole.

Source: the CNN report, "Streaming" (two streams, pinned memory, chunks of 100 outputs in turn).
"""

import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from engine.errors import Cancelled, EngineError
from engine.streams.lanes import Lanes, Work
from engine.streams.staging import StagingThreads
from engine.streams.timeline import QueuePolicy, Span

# Choosing a variant and making it ready takes the host about as long as these take to copy.
BYTES_AHEAD = 48 << 20


@dataclass(eq=False)
class _Passage:
    """A chunk under way: its marks, and when the host copied for it, in seconds of its own clock."""

    work: Work
    slot: int
    image: Any = None
    begins: dict[QueuePolicy, Any] = field(default_factory=dict)
    ends: dict[QueuePolicy, Any] = field(default_factory=dict)
    host_s: dict[QueuePolicy, tuple[float, float]] = field(default_factory=dict)
    delivered: "Future[None] | None" = None


class Pipeline:
    """Sends chunks through a device.

    Parameters
    ----------
    lanes : Lanes
    ring : int
        Slots; 2 let copies and kernels overlap, 3 keep all three lanes busy, one more covers the host's delays.
    begin_s : float
        What `time.perf_counter` said when the lanes' clock began.
    """

    def __init__(self, lanes: Lanes, ring: int, begin_s: float) -> None:
        self._lanes = lanes
        # Of each slot the chunk that was there last, unless nothing of it is under way any longer.
        self._slots: list[_Passage | None] = [None] * ring
        self._begin_s = begin_s
        self._threads = StagingThreads()
        self._spans: list[Span] = []

    def run(self, works: Iterable[Work], finished: Callable[[Work], None]) -> None:
        """Send all chunks through and wait for them.

        Parameters
        ----------
        works : iterable of Work
            Taken one by one as there is room. What it raises ends the stream.
        finished : callable of Work
            Called for each chunk, in order, when its result lies in its place. Called on: the calling thread.
        """
        under_way: deque[_Passage] = deque()
        # Chunks that are brought in before the first one is sent on.
        ahead: list[_Passage] | None = []
        try:
            for number, work in enumerate(works):
                while len(under_way) >= 2 * len(self._slots):
                    self._finish(under_way.popleft(), finished)
                passage = _Passage(work, number % len(self._slots))
                under_way.append(passage)
                self._bring_in(passage)
                if ahead is None:
                    self._send_on(passage)
                    continue
                ahead.append(passage)
                bytes_ahead = sum(passage.work.chunk.bytes_in for passage in ahead)
                is_staged = QueuePolicy.STAGE_IN in passage.host_s
                if is_staged or bytes_ahead >= BYTES_AHEAD or len(ahead) == len(self._slots):
                    chunks, ahead = ahead, None
                    self._send_on_all(chunks)
            chunks, ahead = ahead or [], None
            self._send_on_all(chunks)
            while under_way:
                self._finish(under_way.popleft(), finished)
        except EngineError as error:
            # What is wrong with an earlier picture is told before what is wrong with a later one.
            if not isinstance(error, Cancelled):
                self._send_on_all(ahead or [])
            raise
        finally:
            # Nobody may free an array that a copy is still under way to.
            with suppress(Exception):
                self._lanes.drain()
            self._threads.stop()

    def spans(self) -> tuple[Span, ...]:
        """Return where each chunk was; after `run`."""
        return tuple(self._spans)

    def _bring_in(self, passage: _Passage) -> None:
        """Enqueue a chunk's copy to the device."""
        lanes, work, before = self._lanes, passage.work, self._slots[passage.slot]
        passage.image = image = lanes.image(passage.slot, work)
        sources: Sequence[np.ndarray] = work.sources
        if not all(lanes.is_pinned(source) for source in sources):
            staged = lanes.pinned(passage.slot, "in", (work.shape, sources[0].dtype))
            if before is not None:
                lanes.wait(before.ends[QueuePolicy.COPY_IN])
            self._stage_in(passage, staged)
            sources = (staged,)
        if before is not None:
            lanes.after(QueuePolicy.COPY_IN, before.ends[QueuePolicy.KERNEL])
        passage.begins[QueuePolicy.COPY_IN] = lanes.mark(QueuePolicy.COPY_IN)
        row = 0
        for source in sources:
            lanes.copy_in(source, image, row)
            row += len(source)
        passage.ends[QueuePolicy.COPY_IN] = lanes.mark(QueuePolicy.COPY_IN)

    def _send_on_all(self, passages: Iterable[_Passage]) -> None:
        for passage in passages:
            self._send_on(passage)

    def _send_on(self, passage: _Passage) -> None:
        """Enqueue what follows a chunk's copy to the device."""
        lanes, work, before = self._lanes, passage.work, self._slots[passage.slot]
        out = lanes.result(passage.slot, work)
        prepared = work.prepare()
        lanes.after(QueuePolicy.KERNEL, passage.ends[QueuePolicy.COPY_IN])
        if before is not None:
            lanes.after(QueuePolicy.KERNEL, before.ends[QueuePolicy.COPY_OUT])
        passage.begins[QueuePolicy.KERNEL] = lanes.mark(QueuePolicy.KERNEL)
        lanes.launch(prepared, passage.image, out)
        passage.ends[QueuePolicy.KERNEL] = lanes.mark(QueuePolicy.KERNEL)

        lanes.after(QueuePolicy.COPY_OUT, passage.ends[QueuePolicy.KERNEL])
        target = work.target
        is_direct = lanes.is_pinned(target)
        place = target if is_direct else lanes.pinned(passage.slot, "out", (target.shape, target.dtype))
        if before is not None and before.delivered is not None:
            before.delivered.result()
        passage.begins[QueuePolicy.COPY_OUT] = lanes.mark(QueuePolicy.COPY_OUT)
        lanes.copy_out(out, work.skip, place)
        passage.ends[QueuePolicy.COPY_OUT] = lanes.mark(QueuePolicy.COPY_OUT)
        if not is_direct:
            passage.delivered = self._threads.deliver(lambda: self._stage_out(passage, place))
        self._slots[passage.slot] = passage

    def _finish(self, passage: _Passage, finished: Callable[[Work], None]) -> None:
        """Wait for a chunk's result, tell, and read its marks while others are under way."""
        if passage.delivered is not None:
            passage.delivered.result()
        self._lanes.wait(passage.ends[QueuePolicy.COPY_OUT])
        finished(passage.work)
        number = passage.work.chunk.number
        for lane in QueuePolicy:
            if lane in passage.ends:
                begin_ms, end_ms = self._lanes.ms(passage.begins[lane]), self._lanes.ms(passage.ends[lane])
                self._spans.append(Span(number, lane, begin_ms, end_ms))
            elif lane in passage.host_s:
                begin_s, end_s = (1e3 * (at - self._begin_s) for at in passage.host_s[lane])
                self._spans.append(Span(number, lane, begin_s, end_s))
        if self._slots[passage.slot] is passage:
            self._slots[passage.slot] = None
        self._lanes.forget([*passage.begins.values(), *passage.ends.values()])

    def _stage_in(self, passage: _Passage, staged: np.ndarray) -> None:
        begin_s = time.perf_counter()
        row, copies = 0, []
        for source in passage.work.sources:
            copies += self._threads.copy(source, staged[row : row + len(source)])
            row += len(source)
        for copy in copies:
            copy.result()
        passage.host_s[QueuePolicy.STAGE_IN] = begin_s, time.perf_counter()

    def _stage_out(self, passage: _Passage, staged: np.ndarray) -> None:
        """Copy a result from pinned memory into its place. Called on: the delivering thread."""
        self._lanes.wait(passage.ends[QueuePolicy.COPY_OUT])
        begin_s = time.perf_counter()
        for copy in self._threads.copy(staged, passage.work.target):
            copy.result()
        passage.host_s[QueuePolicy.STAGE_OUT] = begin_s, time.perf_counter()
