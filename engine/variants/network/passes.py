"""The steps that stages are made of: a layer each, with the arrays between them. Numba when called."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from engine.device.launches import Between, DeviceKind, Launch, Operand, Pass, Prepared
from engine.geometry.block import Block, Limits
from engine.geometry.block_rules import blocks_along
from engine.geometry.refusal import Refusal
from engine.results.work import Work
from engine.tasks.network.problem import ForwardPass
from engine.tasks.network.variants import NetworkVariant
from engine.tasks.network.weights import Floats, Weights
from engine.tasks.network.work import LayerWork, network_work
from engine.variants.network import layer_kernels as kernels

Passes = Callable[[ForwardPass, Weights, Block], tuple[Pass, ...]]


class Step(NamedTuple):
    """A launch of a stage, such as that of a layer: how large it is, its work, and its pass."""

    launch: Callable[[ForwardPass], Launch]
    work: Callable[[ForwardPass], LayerWork]
    made: Callable[[ForwardPass, Weights, Launch], Pass]


def maps_after(problem: ForwardPass, key: str) -> Between:
    """Return the array of a layer's values: (batch, maps, rows, columns), or (batch, values)."""
    (layer,) = (layer for layer in problem.layers if layer.key == key)
    return Between(key, (problem.batch, *layer.shape))


def maps_before(problem: ForwardPass, number: int) -> Between | Operand:
    """Return the maps that convolution 1 or 2 takes: the drawings, or what the first pool gives."""
    return Operand.IMAGE if number == 1 else maps_after(problem, "pool-1")


def linear(problem: ForwardPass) -> Between:
    """Return the averages of the second pool as a vector for each drawing: (batch, values)."""
    return Between("pool-2", (problem.batch, problem.linear))


def filters_of(weights: Weights, number: int) -> Floats:
    """Return the filters of convolution 1 or 2."""
    return weights.convolution_1 if number == 1 else weights.convolution_2


def convolution(number: int) -> Step:
    """Return convolution 1 or 2, a thread per output."""
    at = 2 * number - 2

    def made(problem: ForwardPass, weights: Weights, launch: Launch) -> Pass:
        key = problem.layers[at].key
        filters = filters_of(weights, number)
        arguments = (maps_before(problem, number), filters, maps_after(problem, key))
        return Pass(key, kernels.convolution_kernel(), kernels.array_types(4, 4, 4), launch, arguments)

    return Step(
        lambda problem: kernels.map_launch(problem.batch, problem.layers[at]),
        lambda problem: kernels.convolution_work(problem.batch, problem.layers[at]),
        made,
    )


def pool(number: int) -> Step:
    """Return average pool 1 or 2, a thread per average; the second is also the linearisation."""
    at = 2 * number - 1

    def made(problem: ForwardPass, weights: Weights, launch: Launch) -> Pass:
        arguments = tuple(maps_after(problem, problem.layers[one].key) for one in (at - 1, at))
        return Pass(f"pool-{number}", kernels.pool_kernel(), kernels.array_types(4, 4), launch, arguments)

    return Step(
        lambda problem: kernels.map_launch(problem.batch, problem.layers[at]),
        lambda problem: kernels.pool_work(problem.batch, problem.layers[at]),
        made,
    )


def fused(number: int) -> Step:
    """Return convolution 1 or 2 with its pool: a thread per average."""
    at = 2 * number - 1

    def made(problem: ForwardPass, weights: Weights, launch: Launch) -> Pass:
        before, after = maps_before(problem, number), maps_after(problem, f"pool-{number}")
        name, arguments = (
            f"convolution-{number} + pool-{number}",
            (before, filters_of(weights, number), after),
        )
        return Pass(name, kernels.fused_kernel(), kernels.array_types(4, 4, 4), launch, arguments)

    return Step(
        lambda problem: kernels.map_launch(problem.batch, problem.layers[at]),
        lambda problem: kernels.fused_work(problem.batch, *problem.layers[at - 1 : at + 1]),
        made,
    )


def hidden(values: Callable[[ForwardPass], Between] = linear) -> Step:
    """Return the hidden layer, a thread per value; `values` is what it takes."""

    def made(problem: ForwardPass, weights: Weights, launch: Launch) -> Pass:
        arguments = (values(problem), weights.hidden, maps_after(problem, "hidden"))
        return Pass("hidden", kernels.connected_kernel(True), kernels.array_types(2, 2, 2), launch, arguments)

    return Step(
        lambda problem: kernels.value_launch(problem.batch, problem.hidden),
        lambda problem: kernels.connected_work(problem.batch, problem.layers[4]),
        made,
    )


def _output(problem: ForwardPass, weights: Weights, launch: Launch) -> Pass:
    arguments = (maps_after(problem, "hidden"), weights.output, Operand.OUT)
    return Pass("output", kernels.connected_kernel(False), kernels.array_types(2, 2, 2), launch, arguments)


OUTPUT = Step(
    lambda problem: kernels.value_launch(problem.batch, problem.classes),
    lambda problem: kernels.connected_work(problem.batch, problem.layers[5]),
    _output,
)
"""The output layer, a thread per score."""
CONNECTED = (hidden(), OUTPUT)
"""The connected layers."""


def first_loads(problem: ForwardPass) -> int:
    """Return how often the first convolution loads from the drawings, with a load for each multiply-add."""
    return problem.batch * problem.layers[0].multiply_adds


def plan_of(steps: Sequence[Step]) -> Callable[[ForwardPass, Block], tuple[Launch, ...]]:
    """Return the `plan` of a stage that consists of these steps."""
    return lambda problem, block: tuple(step.launch(problem) for step in steps)


def work_of(
    steps: Sequence[Step], picture_loads: Callable[[ForwardPass], int] = first_loads
) -> Callable[[ForwardPass, Block], Work]:
    """Return the `work` of a stage that consists of these steps."""
    return lambda problem, block: network_work(
        problem, *(step.work(problem) for step in steps), picture_loads=picture_loads(problem)
    )


def passes_of(steps: Sequence[Step]) -> Passes:
    """Return the `passes` of a stage that consists of these steps."""
    return lambda problem, weights, block: tuple(
        step.made(problem, weights, step.launch(problem)) for step in steps
    )


def prepare_layers(passes: Passes) -> Callable[[ForwardPass, Weights, Block], Prepared]:
    """Return the `prepare` of a stage that consists of these passes."""

    def prepare(problem: ForwardPass, weights: Weights, block: Block) -> Prepared:
        # The variants are listed without Numba.
        from engine.variants.network.prepared_layers import PreparedLayers

        return PreparedLayers(passes(problem, weights, block))

    return prepare


def stage(
    steps: Sequence[Step],
    *,
    key: str,
    title: str,
    idea: str,
    unsupported: Callable[[ForwardPass, Weights, Block, Limits], Refusal | None] = kernels.unsupported,
    picture_loads: Callable[[ForwardPass], int] = first_loads,
    printed_s: float | None = None,
    remark: str = "",
) -> NetworkVariant:
    """Return the stage that consists of these steps, all of them on the device."""
    passes = passes_of(steps)
    return NetworkVariant(
        key=key,
        title=title,
        device=DeviceKind.CUDA,
        idea=idea,
        prepare=prepare_layers(passes),
        plan=plan_of(steps),
        work=work_of(steps, picture_loads),
        unsupported=unsupported,
        passes=passes,
        roundings=kernels.roundings_by_parts,
        printed_s=printed_s,
        remark=remark,
    )


def chunks(batch: int, size: int) -> list[tuple[int, int]]:
    """Return the chunks of a batch as (first, past the last)."""
    return [(n * size, min(batch, (n + 1) * size)) for n in range(blocks_along(batch, size))]


def matrix(weights: np.ndarray) -> np.ndarray:
    """Return filters (m, c, 5, 5) as the matrix W of (m, c x 25)."""
    return np.ascontiguousarray(weights.reshape(len(weights), -1))
