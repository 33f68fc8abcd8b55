"""What drives GPUs. It imports Numba's CUDA target, which the CPU does not need."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from engine.device.devices import backend
from engine.device_info import DeviceInfo
from engine.flow.chunks import ChunkJob
from engine.flow.cuda_queues import CudaQueues
from engine.flow.loop import Driver, Loop
from engine.flow.pipeline import Pipeline
from engine.geometry.layout import Layout


def loop_over(
    gpus: Sequence[DeviceInfo], layout: Layout, ring: int, finished: Callable[[ChunkJob], None]
) -> Loop:
    """Return the loop over one GPU, or over several, each driven on a thread of its own.

    A GPU alone has two rounds of its ring under way; of several the next chunk goes to the freest.
    """
    keys, is_apart = [gpu.key for gpu in gpus], len(gpus) > 1
    drivers = [
        Driver(
            gpu.key,
            partial(_pipeline, gpu, layout, keys[:place].count(gpu.key), ring),
            ring if is_apart else 2 * ring,
            f"filtering in chunks on {gpu.key} ({gpu.title})",
            is_apart=is_apart,
        )
        for place, gpu in enumerate(gpus)
    ]
    return Loop(drivers, finished)


@contextmanager
def _pipeline(gpu: DeviceInfo, layout: Layout, number: int, ring: int) -> Iterator[Pipeline]:
    with queues_of(gpu, layout, number) as queues:
        pipeline = Pipeline(queues, ring)
        try:
            yield pipeline
        finally:
            pipeline.close()


@contextmanager
def queues_of(gpu: DeviceInfo, layout: Layout, number: int) -> Iterator[CudaQueues]:
    """Select a GPU for the thread, with queues of that number."""
    with backend(gpu.key).selected():
        queues = CudaQueues(layout, number)
        try:
            yield queues
        finally:
            queues.close()
