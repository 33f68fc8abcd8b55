"""The steps that stages are made of: a layer each, with the arrays between them. Numba when called."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from engine.device.launches import Between, DeviceKind, Kernel, Launch, Operand, Pass
from engine.geometry.block import Block, blocks_along
from engine.results.problem import Work
from engine.tasks.network.operands import Floats, Weights
from engine.tasks.network.problem import CLASSES, HIDDEN, LAYERS, LINEAR, ForwardPass, LayerWork, network_work
from engine.tasks.network.task import NetworkVariant
from engine.variants.network import layer_kernels as kernels
from engine.variants.passes import Types, made_pass, prepare_passes


class Step(NamedTuple):
    """A launch of a stage: the keys of its layers, how large it is, its work, its kernel with its arguments.

    Where the kernel has constant memory, `constant` gives its name and what is copied there.
    """

    name: str
    launch: Callable[[ForwardPass], Launch]
    work: Callable[[ForwardPass], LayerWork]
    kernel: Callable[[ForwardPass], Kernel]
    arguments: Callable[[ForwardPass, Weights], tuple[Any, ...]]
    constant: Callable[[Weights], tuple[str, Floats] | None] = lambda weights: None

    def made(self, problem: ForwardPass, weights: Weights) -> Pass:
        """Return the pass."""
        types: Types = {Operand.IMAGE: ("float32", 4), Operand.OUT: ("float32", 2)}
        kernel, launch, arguments = (
            self.kernel(problem),
            self.launch(problem),
            self.arguments(problem, weights),
        )
        return made_pass(kernel, launch, arguments, types, self.constant(weights), self.name)


def maps_after(problem: ForwardPass, key: str) -> Between:
    """Return the array of a layer's values: (batch, maps, rows, columns), or (batch, values)."""
    (layer,) = (layer for layer in LAYERS if layer.key == key)
    return Between(key, (problem.batch, *layer.shape))


def maps_before(problem: ForwardPass, number: int) -> Between | Operand:
    """Return the maps that convolution 1 or 2 takes: the drawings, or what the first pool gives."""
    return Operand.IMAGE if number == 1 else maps_after(problem, "pool-1")


def linear(problem: ForwardPass) -> Between:
    """Return the averages of the second pool as a vector for each drawing: (batch, values)."""
    return Between("pool-2", (problem.batch, LINEAR))


def filters_of(weights: Weights, number: int) -> Floats:
    """Return the filters of convolution 1 or 2."""
    return weights.convolution_1 if number == 1 else weights.convolution_2


def convolution(number: int) -> Step:
    """Return convolution 1 or 2, a thread per output."""
    key, at = f"convolution-{number}", 2 * number - 2
    return Step(
        key,
        lambda problem: kernels.map_launch(problem.batch, LAYERS[at]),
        lambda problem: kernels.convolution_work(problem.batch, LAYERS[at]),
        lambda problem: kernels.convolution_kernel(),
        lambda problem, weights: (
            maps_before(problem, number),
            filters_of(weights, number),
            maps_after(problem, key),
        ),
    )


def pool(number: int) -> Step:
    """Return average pool 1 or 2, a thread per average; the second is also the linearisation."""
    key, at = f"pool-{number}", 2 * number - 1
    return Step(
        key,
        lambda problem: kernels.map_launch(problem.batch, LAYERS[at]),
        lambda problem: kernels.pool_work(problem.batch, LAYERS[at]),
        lambda problem: kernels.pool_kernel(),
        lambda problem, weights: (maps_after(problem, f"convolution-{number}"), maps_after(problem, key)),
    )


def fused(number: int) -> Step:
    """Return convolution 1 or 2 with its pool: a thread per average."""
    at = 2 * number - 1
    return Step(
        f"convolution-{number} + pool-{number}",
        lambda problem: kernels.map_launch(problem.batch, LAYERS[at]),
        lambda problem: kernels.fused_work(problem.batch, *LAYERS[at - 1 : at + 1]),
        lambda problem: kernels.fused_kernel(),
        lambda problem, weights: (
            maps_before(problem, number),
            filters_of(weights, number),
            maps_after(problem, f"pool-{number}"),
        ),
    )


def hidden(values: Callable[[ForwardPass], Between] = linear) -> Step:
    """Return the hidden layer, a thread per value; `values` is what it takes."""
    return Step(
        "hidden",
        lambda problem: kernels.value_launch(problem.batch, HIDDEN),
        lambda problem: kernels.connected_work(problem.batch, LAYERS[4]),
        lambda problem: kernels.connected_kernel(True),
        lambda problem, weights: (values(problem), weights.hidden, maps_after(problem, "hidden")),
    )


OUTPUT = Step(
    "output",
    lambda problem: kernels.value_launch(problem.batch, CLASSES),
    lambda problem: kernels.connected_work(problem.batch, LAYERS[5]),
    lambda problem: kernels.connected_kernel(False),
    lambda problem, weights: (maps_after(problem, "hidden"), weights.output, Operand.OUT),
)
"""The output layer, a thread per score."""
CONNECTED = (hidden(), OUTPUT)
"""The connected layers."""


def first_loads(problem: ForwardPass) -> int:
    """Return how often the first convolution loads from the drawings, with a load for each multiply-add."""
    return problem.batch * LAYERS[0].multiply_adds


def stage(
    steps: Sequence[Step], *, picture_loads: Callable[[ForwardPass], int] = first_loads, **traits: Any
) -> NetworkVariant:
    """Return the stage that consists of these steps; what `traits` says is in the place of what they give."""

    def passes(problem: ForwardPass, weights: Weights, block: Block) -> tuple[Pass, ...]:
        return tuple(step.made(problem, weights) for step in steps)

    def work(problem: ForwardPass, block: Block) -> Work:
        works = (step.work(problem) for step in steps)
        return network_work(problem, *works, picture_loads=picture_loads(problem))

    given: dict[str, Any] = {
        "device": DeviceKind.CUDA,
        "prepare": prepare_passes(passes),
        "plan": lambda problem, block: tuple(step.launch(problem) for step in steps),
        "work": work,
        "passes": passes,
        "roundings": kernels.roundings_by_parts,
    }
    return NetworkVariant(**{**given, **traits})


def chunks(batch: int, size: int) -> list[tuple[int, int]]:
    """Return the chunks of a batch as (first, past the last)."""
    return [(n * size, min(batch, (n + 1) * size)) for n in range(blocks_along(batch, size))]


def matrix(weights: np.ndarray) -> np.ndarray:
    """Return filters (m, c, 5, 5) as the matrix W of (m, c x 25)."""
    return np.ascontiguousarray(weights.reshape(len(weights), -1))
