"""`network-linearised`: `network-connected` with the linearisation as a kernel of its own.

Idea
    The second pool stores maps, and another launch copies them into the linear vector, a thread per value:
    map after map, row after row.
Who loads what
    Each thread of that launch loads one average and stores it. All other layers are those of
    `network-connected`.
What it saves
    Nothing: it shows what the report saved when it put the linearisation into another kernel's store, a
    launch and 8 KB of loads and stores per drawing. *Time by layer* of the page Network has it as a part.
Limit
    Here the maps already lie in the vector's order, so that the launch moves every value to the same offset.

Source: ECE408 final report "CUCUDA", Optimizations, 2: "To compute linearize, we assigned each thread to a
single output element", and Conclusion, 4: "so that a kernel launch was saved".
"""

from engine.device.kernel_factory import kernel_factory
from engine.device.launches import Between, DeviceKind, Launch, Pass
from engine.geometry.block import Block, Limits
from engine.geometry.refusal import Refusal
from engine.results.work import Work
from engine.tasks.network.problem import ForwardPass
from engine.tasks.network.variants import NetworkVariant
from engine.tasks.network.weights import Weights
from engine.tasks.network.work import LayerWork
from engine.variants.network import passes as one
from engine.variants.network.layer_kernels import (
    array_type,
    plan_of_layers,
    refuse_batch,
    roundings_by_parts,
    value_launch,
    work_of_layers,
)


def plan(problem: ForwardPass, block: Block) -> tuple[Launch, ...]:
    """Return a launch for each layer, and that of the linearisation before the hidden one."""
    launches = plan_of_layers(problem)
    return *launches[:4], value_launch(problem.batch, problem.linear), *launches[4:]


def work(problem: ForwardPass, block: Block) -> Work:
    """Return the work of all layers, and a load and a store of each value of the linear vector."""
    values = problem.batch * problem.linear
    return work_of_layers(problem, LayerWork(loads=values, stores=values))


def unsupported(problem: ForwardPass, weights: Weights, block: Block, limits: Limits) -> Refusal | None:
    """Return why the batch is too large for the grid, or None."""
    return refuse_batch(problem)


@kernel_factory
def linearise_kernel():
    """Return the kernel of the linearisation: maps -> vectors."""
    global cuda  # among a kernel's globals the simulator looks for it
    from engine.device.numba_cuda import cuda

    @cuda.jit
    def linearise(maps, results):
        output, drawing = cuda.grid(2)
        if output >= results.shape[1] or drawing >= results.shape[0]:
            return
        side = maps.shape[2]
        own_map = output // (side * side)
        offset = output - own_map * (side * side)
        row = offset // side
        results[drawing, output] = maps[drawing, own_map, row, offset - row * side]

    return linearise


def passes(problem: ForwardPass, weights: Weights, block: Block) -> tuple[Pass, ...]:
    """Return every layer in order, the linearisation between the second pool and the hidden layer."""
    vector = Between("linear", (problem.batch, problem.linear))
    launch = value_launch(problem.batch, problem.linear)
    arguments = (one.maps_after(problem, "pool-2"), vector)
    return (
        one.convolution_1(problem, weights),
        one.pool_1(problem),
        one.convolution_2(problem, weights),
        one.pool_2(problem),
        Pass("linearisation", linearise_kernel(), (array_type(4), array_type(2)), launch, arguments),
        one.hidden(problem, weights, vector),
        one.output(problem, weights),
    )


VARIANT = NetworkVariant(
    key="network-linearised",
    title="Linearisation by itself",
    device=DeviceKind.CUDA,
    idea="As network-connected, but the linearisation is a launch of its own, as it was at first in the "
    "report: what that launch costs.",
    prepare=one.prepare_layers(passes),
    plan=plan,
    work=work,
    unsupported=unsupported,
    passes=passes,
    roundings=roundings_by_parts,
)
