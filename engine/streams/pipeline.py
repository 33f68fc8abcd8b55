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


@dataclass
class _Slot:
    """What the last chunk of a slot has left to be waited for."""

    copied_in: Any = None
    computed: Any = None
    copied_out: Any = None
    delivered: "Future[None] | None" = None


@dataclass
class _Passage:
    """The marks of one chunk, and when the host copied for it, in seconds of its own clock.

    Not its arrays: the pictures of a long batch could not be freed.
    """

    chunk: int
    marks: dict[Lane, tuple[Any, Any]] = field(default_factory=dict)
    host_s: dict[Lane, tuple[float, float]] = field(default_factory=dict)


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
        self._slots = [_Slot() for _ in range(ring)]
        self._begin_s = begin_s
        self._passages: list[_Passage] = []

    def run(self, works: Iterable[Work], finished: Callable[[Work], None]) -> None:
        """Send all chunks through and wait for them.

        Parameters
        ----------
        works : iterable of Work
            Taken one by one as there is room. What it raises ends the stream.
        finished : callable of Work
            Called for each chunk, in order, when its result lies in its place. Called on: the calling thread.
        """
        pending: deque[tuple[Work, Any, Future[None] | None]] = deque()

        def finish_oldest() -> None:
            work, mark, delivered = pending.popleft()
            if delivered is not None:
                delivered.result()
            self._lanes.wait(mark)
            finished(work)

        copiers = ThreadPoolExecutor(COPY_THREADS, thread_name_prefix="stream-copy")
        deliverer = ThreadPoolExecutor(1, thread_name_prefix="stream-deliver")
        try:
            for number, work in enumerate(works):
                while len(pending) >= 2 * len(self._slots):
                    finish_oldest()
                index = number % len(self._slots)
                self._send(work, index, copiers, deliverer)
                slot = self._slots[index]
                pending.append((work, slot.copied_out, slot.delivered))
            while pending:
                finish_oldest()
        finally:
            # Nobody may free an array that a copy is still under way to.
            with suppress(Exception):
                self._lanes.drain()
            deliverer.shutdown(wait=True, cancel_futures=True)
            copiers.shutdown(wait=True, cancel_futures=True)

    def spans(self) -> tuple[Span, ...]:
        """Return where each chunk was; after `run`."""
        found = []
        for passage in self._passages:
            number = passage.chunk
            for lane in Lane:
                if lane in passage.marks:
                    begin, end = passage.marks[lane]
                    found.append(Span(number, lane, self._lanes.ms(begin), self._lanes.ms(end)))
                elif lane in passage.host_s:
                    begin_s, end_s = (1e3 * (at - self._begin_s) for at in passage.host_s[lane])
                    found.append(Span(number, lane, begin_s, end_s))
        return tuple(found)

    def _send(
        self, work: Work, index: int, copiers: ThreadPoolExecutor, deliverer: ThreadPoolExecutor
    ) -> None:
        """Enqueue a chunk in the slot."""
        lanes, slot, passage = self._lanes, self._slots[index], _Passage(work.chunk.number)
        self._passages.append(passage)
        image, out = lanes.arrays(index, work)

        sources: Sequence[np.ndarray] = work.sources
        if not all(lanes.is_pinned(source) for source in sources):
            staged = lanes.pinned(index, "in", (work.shape, sources[0].dtype))
            if slot.copied_in is not None:
                lanes.wait(slot.copied_in)
            self._stage_in(passage, work.sources, staged, copiers)
            sources = (staged,)

        if slot.computed is not None:
            lanes.after(Lane.COPY_IN, slot.computed)
        begin = lanes.mark(Lane.COPY_IN)
        row = 0
        for source in sources:
            lanes.copy_in(source, image, row)
            row += len(source)
        slot.copied_in = self._close(passage, Lane.COPY_IN, begin)

        lanes.after(Lane.KERNEL, slot.copied_in)
        if slot.copied_out is not None:
            lanes.after(Lane.KERNEL, slot.copied_out)
        begin = lanes.mark(Lane.KERNEL)
        lanes.launch(work.prepared, image, out)
        slot.computed = self._close(passage, Lane.KERNEL, begin)

        lanes.after(Lane.COPY_OUT, slot.computed)
        is_direct = lanes.is_pinned(work.target)
        place = (
            work.target if is_direct else lanes.pinned(index, "out", (work.target.shape, work.target.dtype))
        )
        if slot.delivered is not None:
            slot.delivered.result()
        begin = lanes.mark(Lane.COPY_OUT)
        lanes.copy_out(out, work.skip, place)
        slot.copied_out = self._close(passage, Lane.COPY_OUT, begin)
        slot.delivered = (
            None
            if is_direct
            else deliverer.submit(self._stage_out, passage, place, slot.copied_out, work.target, copiers)
        )

    def _close(self, passage: _Passage, lane: Lane, begin: Any) -> Any:
        end = self._lanes.mark(lane)
        passage.marks[lane] = begin, end
        return end

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

    def _stage_out(
        self,
        passage: _Passage,
        staged: np.ndarray,
        copied_out: Any,
        target: np.ndarray,
        copiers: ThreadPoolExecutor,
    ) -> None:
        """Copy a result from pinned memory into its place. Called on: the delivering thread."""
        self._lanes.wait(copied_out)
        begin_s = time.perf_counter()
        for copy in _copies(staged, target, copiers):
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
