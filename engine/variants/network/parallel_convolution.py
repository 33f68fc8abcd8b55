"""`network-convolution`: both convolutions on the device, a thread per output; the host does all else.

Idea
    A block of 16 x 16 threads computes a tile of one map of one drawing; each thread sums the 25 products of
    its output for every input map, one map after another.
Who loads what
    Each multiply-add loads a value of the input map and a weight from global memory. The threads of a row of
    the block ask for neighbouring values and for the same weight; what others asked for may come from L1 or
    L2.
What it saves
    Against `network-serial`: 2.4 million outputs of 100 drawings are computed at once instead of one after
    another.
Limit
    The maps go to the host for each pool and come back: 74 KB per drawing after the first convolution. A map
    of 24 x 24 takes four blocks of which some threads have nothing to compute: 12 warps of a map diverge; one
    of 8 x 8 leaves three quarters of its only block idle, and 4 warps diverge.

Source: ECE408 final report "CUCUDA", Optimizations, 1 "Parallelize the convolution computation". There
blockIdx.y is the map and blockIdx.x the drawing, as here.
"""

from engine.device.launches import DeviceKind, HostStep, Launch, Pass
from engine.geometry.block import Block
from engine.results.work import Work
from engine.tasks.network.problem import ForwardPass
from engine.tasks.network.variants import NetworkVariant
from engine.tasks.network.weights import Weights
from engine.tasks.network.work import network_work
from engine.variants.network import passes
from engine.variants.network.host_layers import (
    connected_on_host,
    passes_of,
    pool_on_host,
    prepare_with_host,
)
from engine.variants.network.layer_kernels import convolution_work, map_launch, roundings_by_parts


def plan(problem: ForwardPass, block: Block) -> tuple[Launch, ...]:
    """Return the launches of both convolutions."""
    first, _, second, *_ = problem.layers
    return map_launch(problem.batch, first), map_launch(problem.batch, second)


def work(problem: ForwardPass, block: Block) -> Work:
    """Return the work of the device: both convolutions."""
    first, _, second, *_ = problem.layers
    each = [convolution_work(problem.batch, layer) for layer in (first, second)]
    return network_work(problem, *each, picture_loads=problem.batch * first.multiply_adds)


def steps(problem: ForwardPass, weights: Weights) -> tuple[Pass | HostStep, ...]:
    """Return every layer in order."""
    return (
        passes.convolution_1(problem, weights),
        pool_on_host(problem, 1),
        passes.convolution_2(problem, weights),
        pool_on_host(problem, 2),
        *connected_on_host(problem, weights),
    )


VARIANT = NetworkVariant(
    key="network-convolution",
    title="Parallel convolution",
    device=DeviceKind.CUDA,
    idea="A thread for each output of both convolutions, in blocks of 16 × 16; the host does all other "
    "layers, so the maps go to and fro.",
    prepare=prepare_with_host(steps),
    plan=plan,
    work=work,
    passes=passes_of(steps),
    roundings=roundings_by_parts,
)
"""Its times are those of the host's clock, the copies between device and host in them."""
