"""`network-pool`: the average pools on the device too, a thread per average; its store linearises.

Idea
    As the convolution, without a filter: each thread averages a square of 2 x 2. The second pool stores each
    average where the linear vector has it, map after map and row after row, so that the linearisation needs
    neither a launch nor a copy.
Who loads what
    Each thread loads its four values from global memory and stores one.
What it saves
    Against `network-convolution`: the maps stay on the device. Only 4 KB per drawing go to the host, for the
    connected layers.
Limit
    The convolutions' maps are written and read once more, which is all that a pool does. Of a map of 12 x 12
    6 warps diverge, of one of 4 x 4 2.

Source: ECE408 final report "CUCUDA", Optimizations, 2 "Parallelize the computation of linearization and
average_pool", and Conclusion, 4: "so that a kernel launch was saved". After these two it prints about 40 s.
"""

from engine.device.launches import DeviceKind, HostStep, Launch, Pass
from engine.geometry.block import Block
from engine.results.work import Work
from engine.tasks.network.problem import ForwardPass
from engine.tasks.network.variants import NetworkVariant
from engine.tasks.network.weights import Weights
from engine.tasks.network.work import network_work
from engine.variants.network import passes
from engine.variants.network.host_layers import connected_on_host, passes_of, prepare_with_host
from engine.variants.network.layer_kernels import (
    convolution_work,
    map_launch,
    pool_work,
    roundings_by_parts,
)


def plan(problem: ForwardPass, block: Block) -> tuple[Launch, ...]:
    """Return the launches of both convolutions and both pools."""
    return tuple(map_launch(problem.batch, layer) for layer in problem.layers[:4])


def work(problem: ForwardPass, block: Block) -> Work:
    """Return the work of the device: convolutions and pools."""
    first, pool_1, second, pool_2, *_ = problem.layers
    each = [convolution_work(problem.batch, layer) for layer in (first, second)]
    each += [pool_work(problem.batch, layer) for layer in (pool_1, pool_2)]
    return network_work(problem, *each, picture_loads=problem.batch * first.multiply_adds)


def steps(problem: ForwardPass, weights: Weights) -> tuple[Pass | HostStep, ...]:
    """Return every layer in order."""
    return (
        passes.convolution_1(problem, weights),
        passes.pool_1(problem),
        passes.convolution_2(problem, weights),
        passes.pool_2(problem),
        *connected_on_host(problem, weights),
    )


VARIANT = NetworkVariant(
    key="network-pool",
    title="Parallel pool, linearised",
    device=DeviceKind.CUDA,
    idea="A thread for each average of both pools; the second one stores each where the linear vector has "
    "it. The host does the connected layers.",
    prepare=prepare_with_host(steps),
    plan=plan,
    work=work,
    passes=passes_of(steps),
    roundings=roundings_by_parts,
    printed_s=40.0,
)
