"""`network-streams`: chunks of 100 drawings from pinned memory on two streams that alternate.

Idea
    Stream 0 copies drawings 0 to 99 and computes them, stream 1 copies drawings 100 to 199 meanwhile, and so
    on: a copy of one stream runs beside the kernels of the other. The drawings lie in pinned memory, which
    the system never pages out, so that the device reads them by itself while the host goes on.
Who loads what
    The kernels are those of `network-implicit-gemm`, for a chunk.
What it saves
    The time of the copies, as far as kernels run at the same time; the timeline shows how far.
Limit
    A copy of 100 drawings (0.3 MB) takes some 10 us, its kernels many times that: little is left to save
    where the device computes much longer than the bus copies. A chunk of 100 leaves a large GPU half idle.

Source: ECE408 final report "CUCUDA", Optimizations, 3 "Streaming": pinned memory (cudaHostAlloc), chunks of
100 outputs, two alternating streams. There it ended with a segmentation fault, so that "the running time
should be reduced to around 2 seconds" was never measured.
"""

from msgspec.structs import replace

from engine.device.launches import Launch, Prepared
from engine.device.per_thread import interprets
from engine.geometry.block import Block
from engine.tasks.network.operands import Weights
from engine.tasks.network.problem import ForwardPass
from engine.variants.network.gemm_kernels import STEPS, picture_loads
from engine.variants.network.passes import chunks, stage
from engine.variants.passes import interpreted

CHUNK = 100
"""Drawings of a chunk, as in the report."""


def of_chunk(problem: ForwardPass, drawings: int) -> ForwardPass:
    """Return the same network for a chunk."""
    return replace(problem, batch=drawings)


def plan(problem: ForwardPass, block: Block) -> tuple[Launch, ...]:
    """Return the launches of all chunks, one after another."""
    parts = (end - first for first, end in chunks(problem.batch, CHUNK))
    return tuple(step.launch(of_chunk(problem, count)) for count in parts for step in STEPS)


def prepare(problem: ForwardPass, weights: Weights, block: Block) -> Prepared:
    """Return the chunks, made ready."""
    if interprets():
        return interpreted(VARIANT.passes(problem, weights, block))
    # The variants are listed without Numba.
    from engine.device.cuda_kernels import PreparedPasses
    from engine.variants.network.prepared_chunks import PreparedChunks

    def layers_of(count: int) -> PreparedPasses:
        return PreparedPasses(VARIANT.passes(of_chunk(problem, count), weights, block))

    return PreparedChunks(layers_of, problem.batch, CHUNK)


VARIANT = stage(
    STEPS,
    key="network-streams",
    title="Streams, chunks of 100",
    idea="Chunks of 100 drawings from pinned memory on two streams that alternate: one copies while the "
    "other computes.",
    prepare=prepare,
    plan=plan,
    picture_loads=picture_loads,
    pinned_drawings=True,
    remark="Its kernel time includes the copies in, which run beside the kernels (the host's clock).",
)
