"""The passes that stages are made of: a layer each, with the arrays between them. Numba when called."""

from collections.abc import Callable

import numpy as np

from engine.device.launches import Between, Operand, Pass, Prepared
from engine.geometry.block import Block
from engine.geometry.block_rules import blocks_along
from engine.tasks.network.problem import ForwardPass
from engine.tasks.network.weights import Weights
from engine.variants.network import layer_kernels as kernels

Passes = Callable[[ForwardPass, Weights, Block], tuple[Pass, ...]]


def maps_after(problem: ForwardPass, key: str) -> Between:
    """Return the array of a layer's values: (batch, maps, rows, columns), or (batch, values)."""
    (layer,) = (layer for layer in problem.layers if layer.key == key)
    return Between(key, (problem.batch, *layer.shape))


def linear(problem: ForwardPass) -> Between:
    """Return the averages of the second pool as a vector for each drawing: (batch, values)."""
    return Between("pool-2", (problem.batch, problem.linear))


def convolution_1(problem: ForwardPass, weights: Weights) -> Pass:
    """Return the first convolution, a thread per output."""
    launch = kernels.map_launch(problem.batch, problem.layers[0])
    arguments = (Operand.IMAGE, weights.convolution_1, maps_after(problem, "convolution-1"))
    return Pass(
        "convolution-1", kernels.convolution_kernel(), (kernels.array_type(4),) * 3, launch, arguments
    )


def convolution_2(problem: ForwardPass, weights: Weights) -> Pass:
    """Return the second convolution, a thread per output."""
    launch = kernels.map_launch(problem.batch, problem.layers[2])
    arguments = (maps_after(problem, "pool-1"), weights.convolution_2, maps_after(problem, "convolution-2"))
    return Pass(
        "convolution-2", kernels.convolution_kernel(), (kernels.array_type(4),) * 3, launch, arguments
    )


def pool_1(problem: ForwardPass) -> Pass:
    """Return the first average pool, a thread per average."""
    launch = kernels.map_launch(problem.batch, problem.layers[1])
    arguments = (maps_after(problem, "convolution-1"), maps_after(problem, "pool-1"))
    return Pass("pool-1", kernels.pool_kernel(), (kernels.array_type(4),) * 2, launch, arguments)


def pool_2(problem: ForwardPass) -> Pass:
    """Return the second average pool, which is also the linearisation."""
    launch = kernels.map_launch(problem.batch, problem.layers[3])
    arguments = (maps_after(problem, "convolution-2"), maps_after(problem, "pool-2"))
    return Pass("pool-2", kernels.pool_kernel(), (kernels.array_type(4),) * 2, launch, arguments)


def fused_1(problem: ForwardPass, weights: Weights) -> Pass:
    """Return the first convolution with its pool: a thread per average."""
    launch = kernels.map_launch(problem.batch, problem.layers[1])
    arguments = (Operand.IMAGE, weights.convolution_1, maps_after(problem, "pool-1"))
    signature = (kernels.array_type(4),) * 3
    return Pass("convolution-1 + pool-1", kernels.fused_kernel(), signature, launch, arguments)


def fused_2(problem: ForwardPass, weights: Weights) -> Pass:
    """Return the second convolution with its pool and the linearisation: a thread per average."""
    launch = kernels.map_launch(problem.batch, problem.layers[3])
    arguments = (maps_after(problem, "pool-1"), weights.convolution_2, maps_after(problem, "pool-2"))
    signature = (kernels.array_type(4),) * 3
    return Pass("convolution-2 + pool-2", kernels.fused_kernel(), signature, launch, arguments)


def hidden(problem: ForwardPass, weights: Weights, values: Between | None = None) -> Pass:
    """Return the hidden layer, a thread per value, of `values` or else of what the second pool stores."""
    launch = kernels.value_launch(problem.batch, problem.hidden)
    arguments = (values or linear(problem), weights.hidden, maps_after(problem, "hidden"))
    return Pass("hidden", kernels.connected_kernel(True), (kernels.array_type(2),) * 3, launch, arguments)


def output(problem: ForwardPass, weights: Weights) -> Pass:
    """Return the output layer, a thread per score."""
    launch = kernels.value_launch(problem.batch, problem.classes)
    arguments = (maps_after(problem, "hidden"), weights.output, Operand.OUT)
    return Pass("output", kernels.connected_kernel(False), (kernels.array_type(2),) * 3, launch, arguments)


def prepare_layers(passes: Passes) -> Callable[[ForwardPass, Weights, Block], Prepared]:
    """Return the `prepare` of a stage that consists of these passes."""

    def prepare(problem: ForwardPass, weights: Weights, block: Block) -> Prepared:
        from engine.variants.network.prepared_layers import PreparedLayers

        return PreparedLayers(passes(problem, weights, block))

    return prepare


def chunks(batch: int, size: int) -> list[tuple[int, int]]:
    """Return the chunks of a batch as (first, past the last)."""
    return [(n * size, min(batch, (n + 1) * size)) for n in range(blocks_along(batch, size))]


def matrix(weights: np.ndarray) -> np.ndarray:
    """Return filters (m, c, 5, 5) as the matrix W of (m, c x 25)."""
    return np.ascontiguousarray(weights.reshape(len(weights), -1))
