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

from typing import TYPE_CHECKING

from engine.device.kernel_factory import kernel_factory
from engine.device.launches import Between
from engine.tasks.network.problem import LINEAR, ForwardPass, LayerWork
from engine.variants.network.layer_kernels import value_launch
from engine.variants.network.passes import OUTPUT, Step, convolution, hidden, maps_after, pool, stage

if TYPE_CHECKING:  # imported by `kernel_factory`
    from engine.device.numba_cuda import cuda


@kernel_factory
def linearise_kernel():
    """Return the kernel of the linearisation: maps -> vectors."""

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


def vector(problem: ForwardPass) -> Between:
    """Return the array of the linear vectors."""
    return Between("linear", (problem.batch, LINEAR))


def _work(problem: ForwardPass) -> LayerWork:
    """Return the work: a load and a store of each value of the linear vector."""
    values = problem.batch * LINEAR
    return LayerWork(loads=values, stores=values)


LINEARISATION = Step(
    "linearisation",
    lambda problem: value_launch(problem.batch, LINEAR),
    _work,
    lambda problem: linearise_kernel(),
    lambda problem, weights: (maps_after(problem, "pool-2"), vector(problem)),
)
STEPS = (convolution(1), pool(1), convolution(2), pool(2), LINEARISATION, hidden(vector), OUTPUT)


VARIANT = stage(
    STEPS,
    key="network-linearised",
    title="Linearisation by itself",
    idea="As network-connected, but the linearisation is a launch of its own, as it was at first in the "
    "report: what that launch costs.",
)
