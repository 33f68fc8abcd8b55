"""One chunk after the other, where copies and kernels have nothing to overlap: on the CPU, and in the simulator."""

import time
from collections.abc import Callable, Iterable
from functools import partial

import numpy as np

from engine.device.anti_aliasing import empty_result
from engine.device.backend import Backend
from engine.geometry.layout import Layout
from engine.streams.lanes import Work
from engine.streams.timeline import QueuePolicy, Span


def run_in_order(
    works: Iterable[Work], backend: Backend, layout: Layout, finished: Callable[[Work], None]
) -> tuple[Span, ...]:
    """Filter each chunk before the next is looked at, and return when each was where, by the host's clock.

    Parameters
    ----------
    works : iterable of Work
    backend : Backend
    layout : Layout
        Of the rows on the device.
    finished : callable of Work
        Called for each chunk when its result lies in its place.
    """
    zero_s = time.perf_counter()
    spans: list[Span] = []

    def timed(number: int, lane: QueuePolicy, action: Callable[[], object]) -> None:
        begin_s = time.perf_counter()
        action()
        spans.append(Span(number, lane, 1e3 * (begin_s - zero_s), 1e3 * (time.perf_counter() - zero_s)))

    for work in works:
        prepared = work.prepare()
        image = work.sources[0] if len(work.sources) == 1 else np.concatenate(work.sources)
        is_whole = work.shape == work.target.shape and work.target.flags.c_contiguous
        buffers = backend.allocate(
            image, work.target if is_whole else empty_result(image, work.shape, work.target.dtype), layout
        )
        number = work.chunk.number
        if backend.copies:
            timed(number, QueuePolicy.COPY_IN, partial(backend.upload, image, buffers))
        timed(number, QueuePolicy.KERNEL, partial(backend.run, prepared, buffers))
        if backend.copies:
            timed(number, QueuePolicy.COPY_OUT, partial(backend.download, buffers))
        if not is_whole:
            work.target[...] = buffers.host_out[work.skip : work.skip + len(work.target)]
        finished(work)
    return tuple(spans)
