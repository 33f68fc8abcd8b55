"""Chunks on one GPU, or spread over several. It imports Numba's CUDA target, which the CPU does not need."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from engine.device.cuda_faults import cuda_errors_in_words
from engine.device.devices import backend
from engine.device_info import DeviceInfo
from engine.flow.chunk_jobs import ChunkJob
from engine.flow.cuda_queues import CudaQueues
from engine.flow.pipeline import Pipeline
from engine.flow.several import Spread, StreamDevice
from engine.flow.timeline import Span
from engine.geometry.layout import Layout

Finished = Callable[[ChunkJob], None]


def run(
    jobs: Iterable[ChunkJob], gpus: Sequence[DeviceInfo], layout: Layout, ring: int, finished: Finished
) -> tuple[tuple[Span, ...], Sequence[str]]:
    """Filter all chunks; return their spans, and of several GPUs the key of the one that had each chunk.

    `finished` is called for each chunk in order, on the calling thread, when its result is in its target.
    """
    first = gpus[0]
    if len(gpus) == 1:
        with queues_of(first, layout, 0, "filtering in chunks") as queues:
            pipeline = Pipeline(queues, ring, time.perf_counter())
            pipeline.run(jobs, finished)
            return pipeline.spans(), ()
    keys = [gpu.key for gpu in gpus]
    devices = [
        StreamDevice(gpu.key, partial(queues_of, gpu, layout, keys[:place].count(gpu.key), _doing(gpu)))
        for place, gpu in enumerate(gpus)
    ]
    # The pictures and the choice of a variant are for the first device.
    with backend(first.key).selected():
        spread = Spread(devices, ring, finished)
        spread.run(jobs)
        return spread.spans(), spread.keys


def _doing(gpu: DeviceInfo) -> str:
    return f"filtering in chunks on {gpu.key} ({gpu.title})"


@contextmanager
def queues_of(gpu: DeviceInfo, layout: Layout, number: int, doing: str) -> Iterator[CudaQueues]:
    """Select a GPU for the thread, with queues of that number; CUDA's errors name what it was doing."""
    with cuda_errors_in_words(doing), backend(gpu.key).selected():
        queues = CudaQueues(layout, number)
        try:
            yield queues
        finally:
            queues.close()
