"""A chunk with its arrays, and the device that does one after the other: a CPU, or the simulator."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np

from engine.device.anti_aliasing import empty_result
from engine.device.backend import Backend
from engine.device.launches import Prepared
from engine.flow.loop import Device
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
    # Returns the variant for a picture of the sources' shape; its error ends the stream. Called when the copy
    # of the sources is already enqueued.
    prepare: Callable[[], Prepared]

    @property
    def picture(self) -> int:
        """The number of its picture."""
        return self.chunk.picture

    @property
    def shape(self) -> tuple[int, int, int]:
        """Shape of the picture to filter."""
        _, width, channels = self.sources[0].shape
        return sum(len(source) for source in self.sources), width, channels


class ChunkDevice(Device[ChunkJob], Protocol):
    """A device that chunks are sent through, or several."""

    def spans(self) -> Sequence[Span]:
        """Return where each chunk was that is finished, chunk after chunk."""


class InOrder:
    """A device without queues, as the loop sees it: a chunk is finished when it is sent."""

    most = 1

    def __init__(self, backend: Backend, layout: Layout) -> None:
        self._backend, self._layout = backend, layout
        self._begin_s = time.perf_counter()
        self._spans: list[Span] = []
        self._finished: list[ChunkJob] = []

    @property
    def has_room(self) -> bool:
        """Whether the last chunk was reported."""
        return not self._finished

    def send(self, job: ChunkJob) -> None:
        """Filter a chunk."""
        self._filter(job)
        self._finished.append(job)

    def wait(self) -> list[ChunkJob]:
        """Return the last chunk."""
        finished, self._finished = self._finished, []
        return finished

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
