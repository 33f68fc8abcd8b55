"""A chunk with its arrays, and chunks filtered one after the other: on the CPU, and in the simulator."""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from engine.device.anti_aliasing import empty_result
from engine.device.backend import Backend
from engine.device.launches import Prepared
from engine.flow.timeline import Chunk, Queue, Span
from engine.geometry.layout import Layout


@dataclass(frozen=True, slots=True)
class ChunkJob:
    """A chunk with its arrays."""

    chunk: Chunk
    sources: Sequence[np.ndarray]  # of shape (rows, W, C); one below the other they are the picture to filter
    target: np.ndarray  # of shape (result rows, W, C): where the result goes
    skip: int  # rows of the filtered picture before the first of the result
    result_shape: tuple[int, ...]  # of what the variant writes
    # Returns the variant for a picture of the sources' shape; its error ends the stream. Called when the copy
    # of the sources is already enqueued.
    prepare: Callable[[], Prepared]

    @property
    def shape(self) -> tuple[int, int, int]:
        """Shape of the picture to filter."""
        _, width, channels = self.sources[0].shape
        return sum(len(source) for source in self.sources), width, channels


def run_in_order(
    jobs: Iterable[ChunkJob], backend: Backend, layout: Layout, finished: Callable[[ChunkJob], None]
) -> tuple[Span, ...]:
    """Filter each chunk before the next is taken; return the spans by the host's clock.

    `finished` is called for each chunk when its result is in its target.
    """
    zero_s = time.perf_counter()
    spans: list[Span] = []

    def timed(number: int, queue: Queue, action: Callable[[], object]) -> None:
        begin_s = time.perf_counter()
        action()
        spans.append(Span(number, queue, 1e3 * (begin_s - zero_s), 1e3 * (time.perf_counter() - zero_s)))

    for job in jobs:
        prepared = job.prepare()
        image = job.sources[0] if len(job.sources) == 1 else np.concatenate(job.sources)
        is_whole = job.result_shape == job.target.shape and job.target.flags.c_contiguous
        buffers = backend.allocate(
            image, job.target if is_whole else empty_result(image, job.result_shape, job.target.dtype), layout
        )
        number = job.chunk.number
        if backend.copies:
            timed(number, Queue.COPY_IN, partial(backend.upload, image, buffers))
        timed(number, Queue.KERNEL, partial(backend.run, prepared, buffers))
        if backend.copies:
            timed(number, Queue.COPY_OUT, partial(backend.download, buffers))
        if not is_whole:
            job.target[...] = buffers.host_out[job.skip : job.skip + len(job.target)]
        finished(job)
    return tuple(spans)
