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
it ready after the first two copies were enqueued, reading a chunk's marks when it is done. Each ms before the first copy, or
after the last, would be a ms of the whole.

Source: the CNN report, "Streaming" (two streams, pinned memory, chunks of 100 outputs in turn).
"""

import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from engine.streams.lanes import Lanes, Work
from engine.streams.timeline import Lane, Span

COPY_THREADS = 8
# Smaller pieces cost more to hand over than to copy.
PIECE_BYTES = 1 << 20


@dataclass(eq=False)
class _Passage:
    """A chunk under way: its marks, and when the host copied for it, in seconds of its own clock."""

    work: Work
    slot: int
    marks: dict[Lane, tuple[Any, Any]] = field(default_factory=dict)
    host_s: dict[Lane, tuple[float, float]] = field(default_factory=dict)
    delivered: "Future[None] | None" = None

    def end(self, lane: Lane) -> Any:
        """Return the mark after the chunk in a lane."""
        return self.marks[lane][1]


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
        copiers = ThreadPoolExecutor(COPY_THREADS, thread_name_prefix="stream-copy")
        deliverer = ThreadPoolExecutor(1, thread_name_prefix="stream-deliver")
        try:
            brought_in: deque[_Passage] = deque()
            for number, work in enumerate(works):
                while len(under_way) >= 2 * len(self._slots):
                    self._finish(under_way.popleft(), finished)
                passage = _Passage(work, number % len(self._slots))
                under_way.append(passage)
                self._bring_in(passage, copiers)
                brought_in.append(passage)
                if number == 0 and Lane.STAGE_IN not in passage.host_s:
                    # Making the first kernel ready takes the host as long as a copy: the next one goes first too.
                    continue
                while brought_in:
                    self._send_on(brought_in.popleft(), copiers, deliverer)
            while brought_in:
                self._send_on(brought_in.popleft(), copiers, deliverer)
            while under_way:
                self._finish(under_way.popleft(), finished)
        finally:
            # Nobody may free an array that a copy is still under way to.
            with suppress(Exception):
                self._lanes.drain()
            deliverer.shutdown(wait=True, cancel_futures=True)
            copiers.shutdown(wait=True, cancel_futures=True)

    def spans(self) -> tuple[Span, ...]:
        """Return where each chunk was; after `run`."""
        return tuple(self._spans)

    def _bring_in(self, passage: _Passage, copiers: ThreadPoolExecutor) -> None:
        """Enqueue a chunk's copy to the device."""
        lanes, work, before = self._lanes, passage.work, self._slots[passage.slot]
        image, _ = lanes.arrays(passage.slot, work)
        sources: Sequence[np.ndarray] = work.sources
        if not all(lanes.is_pinned(source) for source in sources):
            staged = lanes.pinned(passage.slot, "in", (work.shape, sources[0].dtype))
            if before is not None:
                lanes.wait(before.end(Lane.COPY_IN))
            self._stage_in(passage, work.sources, staged, copiers)
            sources = (staged,)
        if before is not None:
            lanes.after(Lane.COPY_IN, before.end(Lane.KERNEL))
        begin = lanes.mark(Lane.COPY_IN)
        row = 0
        for source in sources:
            lanes.copy_in(source, image, row)
            row += len(source)
        self._close(passage, Lane.COPY_IN, begin)

    def _send_on(self, passage: _Passage, copiers: ThreadPoolExecutor, deliverer: ThreadPoolExecutor) -> None:
        """Enqueue what follows a chunk's copy to the device."""
        lanes, work, before = self._lanes, passage.work, self._slots[passage.slot]
        image, out = lanes.arrays(passage.slot, work)
        prepared = work.prepare()
        lanes.after(Lane.KERNEL, passage.end(Lane.COPY_IN))
        if before is not None:
            lanes.after(Lane.KERNEL, before.end(Lane.COPY_OUT))
        begin = lanes.mark(Lane.KERNEL)
        lanes.launch(prepared, image, out)
        self._close(passage, Lane.KERNEL, begin)

        lanes.after(Lane.COPY_OUT, passage.end(Lane.KERNEL))
        target = work.target
        is_direct = lanes.is_pinned(target)
        place = target if is_direct else lanes.pinned(passage.slot, "out", (target.shape, target.dtype))
        if before is not None and before.delivered is not None:
            before.delivered.result()
        begin = lanes.mark(Lane.COPY_OUT)
        lanes.copy_out(out, work.skip, place)
        self._close(passage, Lane.COPY_OUT, begin)
        if not is_direct:
            passage.delivered = deliverer.submit(self._stage_out, passage, place, copiers)
        self._slots[passage.slot] = passage

    def _close(self, passage: _Passage, lane: Lane, begin: Any) -> None:
        passage.marks[lane] = begin, self._lanes.mark(lane)

    def _finish(self, passage: _Passage, finished: Callable[[Work], None]) -> None:
        """Wait for a chunk's result, read its marks while others are under way, and tell."""
        if passage.delivered is not None:
            passage.delivered.result()
        self._lanes.wait(passage.end(Lane.COPY_OUT))
        finished(passage.work)
        number = passage.work.chunk.number
        for lane in Lane:
            if lane in passage.marks:
                begin, end = passage.marks[lane]
                self._spans.append(Span(number, lane, self._lanes.ms(begin), self._lanes.ms(end)))
            elif lane in passage.host_s:
                begin_s, end_s = (1e3 * (at - self._begin_s) for at in passage.host_s[lane])
                self._spans.append(Span(number, lane, begin_s, end_s))
        if self._slots[passage.slot] is passage:
            self._slots[passage.slot] = None
        for marks in passage.marks.values():
            self._lanes.forget(marks)

    def _stage_in(
        self,
        passage: _Passage,
        sources: Sequence[np.ndarray],
        staged: np.ndarray,
        copiers: ThreadPoolExecutor,
    ) -> None:
        begin_s = time.perf_counter()
        row, copies = 0, []
        for source in sources:
            copies += _copies(source, staged[row : row + len(source)], copiers)
            row += len(source)
        for copy in copies:
            copy.result()
        passage.host_s[Lane.STAGE_IN] = begin_s, time.perf_counter()

    def _stage_out(self, passage: _Passage, staged: np.ndarray, copiers: ThreadPoolExecutor) -> None:
        """Copy a result from pinned memory into its place. Called on: the delivering thread."""
        self._lanes.wait(passage.end(Lane.COPY_OUT))
        begin_s = time.perf_counter()
        for copy in _copies(staged, passage.work.target, copiers):
            copy.result()
        passage.host_s[Lane.STAGE_OUT] = begin_s, time.perf_counter()


def _copies(source: np.ndarray, target: np.ndarray, copiers: ThreadPoolExecutor) -> list["Future[None]"]:
    """Copy one array into another, in pieces of rows, one a thread; NumPy lets other threads run meanwhile."""
    pieces = max(1, min(COPY_THREADS, source.nbytes // PIECE_BYTES, len(source)))
    edges = [len(source) * piece // pieces for piece in range(pieces + 1)]
    return [
        copiers.submit(
            np.copyto, target[edges[piece] : edges[piece + 1]], source[edges[piece] : edges[piece + 1]]
        )
        for piece in range(pieces)
    ]
