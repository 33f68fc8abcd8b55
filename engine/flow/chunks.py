"""A chunk with its arrays, and the device that does one after the other: a CPU, or the simulator."""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

import numpy as np

from engine.device.anti_aliasing import empty_result
from engine.device.backend import Backend
from engine.device.launches import Prepared
from engine.flow.timeline import Chunk, Queue, Span
from engine.geometry.layout import Layout


@dataclass(eq=False, slots=True)
class ChunkJob:
    """A chunk with its arrays."""

    chunk: Chunk  # of which the device that it is sent to says its key
    sources: Sequence[np.ndarray]  # of shape (rows, W, C); one below the other they are the picture to filter
    target: np.ndarray  # of shape (result rows, W, C): where the result goes
    skip: int  # rows of the filtered picture before the first of the result
    result_shape: tuple[int, ...]  # of what the variant writes
    # Returns the variant for a picture of the sources' shape. Called when the copy of the sources is already
    # enqueued.
    prepare: Callable[[], Prepared]
    finished: Future[None] = field(default_factory=Future)  # once the result is in its target

    @property
    def shape(self) -> tuple[int, int, int]:
        """Shape of the picture to filter."""
        _, width, channels = self.sources[0].shape
        return sum(len(source) for source in self.sources), width, channels


class ChunkDevice(Protocol):
    """A device that chunks are sent through, or several; at most `most` should be under way."""

    most: int

    def send(self, job: ChunkJob) -> None:
        """Begin a chunk."""

    def finish(self) -> None:
        """Finish what was sent: somebody waits for it."""

    def spans(self) -> Sequence[Span]:
        """Return where each chunk was that is finished, chunk after chunk."""


class InOrder:
    """A device without queues: a chunk is finished when it is sent."""

    most = 1

    def __init__(self, backend: Backend, layout: Layout) -> None:
        self._backend, self._layout = backend, layout
        self._begin_s = time.perf_counter()
        self._spans: list[Span] = []

    def send(self, job: ChunkJob) -> None:
        """Filter a chunk."""
        try:
            with self._backend.selected():
                self._filter(job)
        except Exception as error:  # noqa: BLE001 - raised by who waits for it
            job.finished.set_exception(error)
        else:
            job.finished.set_result(None)

    def finish(self) -> None:
        """Finish nothing: all is."""

    def spans(self) -> list[Span]:
        """Return when each chunk was filtered, by the host's clock."""
        return self._spans

    def _filter(self, job: ChunkJob) -> None:
        prepared, backend = job.prepare(), self._backend
        image = job.sources[0] if len(job.sources) == 1 else np.concatenate(job.sources)
        is_whole = job.result_shape == job.target.shape and job.target.flags.c_contiguous
        out = job.target if is_whole else empty_result(image, job.result_shape, job.target.dtype)
        buffers = backend.allocate(image, out, self._layout)
        if backend.copies:
            self._timed(job, Queue.COPY_IN, partial(backend.upload, image, buffers))
        self._timed(job, Queue.KERNEL, partial(backend.run, prepared, buffers))
        if backend.copies:
            self._timed(job, Queue.COPY_OUT, partial(backend.download, buffers))
        if not is_whole:
            job.target[...] = buffers.host_out[job.skip : job.skip + len(job.target)]

    def _timed(self, job: ChunkJob, queue: Queue, action: Callable[[], object]) -> None:
        begin_s = time.perf_counter()
        action()
        begin_ms, end_ms = 1e3 * (begin_s - self._begin_s), 1e3 * (time.perf_counter() - self._begin_s)
        self._spans.append(Span(job.chunk.number, queue, begin_ms, end_ms))
