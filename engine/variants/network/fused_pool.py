"""`network-fused`: pool and linearisation fused into the convolution, a thread per average.

Idea
    A thread computes the four outputs under one average, rectifies them, averages them, and stores the
    average where the next layer, or the linear vector, has it. No map of a convolution exists in memory.
Who loads what
    As `network-convolution`: a value and a weight for each multiply-add.
What it saves
    Against `network-pool`: two launches, and the maps of the convolutions, 90 KB per drawing that were
    written and read again.
Limit
    A quarter as many threads do the same work: 16 averages of a map of 4 x 4 leave 15 of 16 threads of a
    block idle.

Source: ECE408 final report "CUCUDA", Conclusion, 4 "Combine linearization and convolution".
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
from engine.variants.network.layer_kernels import fused_work, map_launch, roundings_by_parts


def plan(problem: ForwardPass, block: Block) -> tuple[Launch, ...]:
    """Return the two launches, a thread for each average."""
    return map_launch(problem.batch, problem.layers[1]), map_launch(problem.batch, problem.layers[3])


def work(problem: ForwardPass, block: Block) -> Work:
    """Return the work of the device: the convolutions' loads, the pools' stores."""
    first, pool_1, second, pool_2, *_ = problem.layers
    each = fused_work(problem.batch, first, pool_1), fused_work(problem.batch, second, pool_2)
    return network_work(problem, *each, picture_loads=problem.batch * first.multiply_adds)


def steps(problem: ForwardPass, weights: Weights) -> tuple[Pass | HostStep, ...]:
    """Return every layer in order."""
    return (
        passes.fused_1(problem, weights),
        passes.fused_2(problem, weights),
        *connected_on_host(problem, weights),
    )


VARIANT = NetworkVariant(
    key="network-fused",
    title="Pool and linearisation fused",
    device=DeviceKind.CUDA,
    idea="A thread computes the four outputs under one average and stores that alone: the convolutions' "
    "maps never exist in memory. The host does the connected layers.",
    prepare=prepare_with_host(steps),
    plan=plan,
    work=work,
    passes=passes_of(steps),
    roundings=roundings_by_parts,
)
