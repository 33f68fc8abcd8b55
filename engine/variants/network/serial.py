"""`network-serial`: the sequential program on the CPU, one thread. The baseline of every stage.

Idea
    Drawing after drawing, layer after layer, each output by its own loops: for each channel, row and column
    of the filter one multiply-add.
Who loads what
    Each multiply-add loads a value of the input map and a weight. Only the CPU's caches help: a drawing's
    maps (115 KB) stay in L2 from layer to layer.
Limit
    Chains of additions, which may not be reordered without fast-math; the processor works on a few at once.
    It takes 0.5 to 1.0 times what `gcc -O2` makes of the same loops (`python -m bench.serial_baselines`).
    Each map adds a partial sum of its own, as everywhere here: long sums lose far less to rounding so.
Ctrl+C
    Python looks for it between two layers, 2 ms at most.

Source: ECE408 final report "CUCUDA", Introduction: the workflow; its "sequential code".
"""

import time
from collections.abc import Callable, Iterator

import numpy as np

from engine.device.launches import DeviceKind, Prepared
from engine.geometry.block import Block
from engine.results.problem import Work
from engine.tasks.network.operands import Weights
from engine.tasks.network.problem import LAYERS, SIDE, ForwardPass, Layer, LayerWork, network_work
from engine.tasks.network.task import NetworkVariant
from engine.variants.network.host_layers import connect, convolve, pool
from engine.variants.network.layer_kernels import roundings_by_parts


def work(problem: ForwardPass, block: Block) -> Work:
    """Return the work: two loads for each multiply-add, four for each value of a pool."""
    found = []
    for layer in LAYERS:
        adds = layer.multiply_adds or 4 * layer.values
        loads = 2 * layer.multiply_adds or 4 * layer.values
        found.append(LayerWork(problem.batch * adds, problem.batch * loads, problem.batch * layer.values))
    return network_work(problem, *found)


class Serial:
    """The loops, ready for one network; `values` has every layer's values of the last drawing."""

    def __init__(self, problem: ForwardPass, weights: Weights) -> None:
        self._weights = weights
        self.values = {layer.key: np.empty(layer.shape, np.float32) for layer in LAYERS}

    def launch(self, image: tuple[np.ndarray], out: np.ndarray, stream: object = None) -> None:
        """Pass the drawings of the tuple (drawings,) through the network, one after another."""
        (drawings,) = image
        for drawing, scores in zip(drawings, out, strict=True):
            for _layer in self.steps(drawing):
                pass
            scores[...] = self.values["output"]

    def steps(self, drawing: np.ndarray) -> Iterator[Layer]:
        """Compute layer after layer of one drawing; yield each one when its values are there."""
        weights, values = self._weights, self.values
        linear = values["pool-2"].reshape(-1)
        calls = {
            "convolution-1": lambda out: convolve(drawing, weights.convolution_1, out),
            "pool-1": lambda out: pool(values["convolution-1"], out),
            "convolution-2": lambda out: convolve(values["pool-1"], weights.convolution_2, out),
            "pool-2": lambda out: pool(values["convolution-2"], out),
            "hidden": lambda out: connect(linear, weights.hidden, True, out),
            "output": lambda out: connect(values["hidden"], weights.output, False, out),
        }
        for layer in LAYERS:
            calls[layer.key](values[layer.key])
            yield layer

    def part_ms(
        self, image: tuple[np.ndarray], out: np.ndarray, clock: Callable[[Prepared], float]
    ) -> dict[str, float]:
        """Pass the drawings through once; return how long each layer took, by the host's clock."""
        (drawings,) = image
        total_s = dict.fromkeys((layer.key for layer in LAYERS), 0.0)
        for drawing, scores in zip(drawings, out, strict=True):
            begin = time.perf_counter()
            for layer in self.steps(drawing):
                end = time.perf_counter()
                total_s[layer.key] += end - begin
                begin = end
            scores[...] = self.values["output"]
        return {key: seconds * 1e3 for key, seconds in total_s.items()}


def prepare(problem: ForwardPass, weights: Weights, block: Block) -> Serial:
    """Return the loops for one network, compiled."""
    prepared = Serial(problem, weights)
    for _layer in prepared.steps(np.zeros((1, SIDE, SIDE), np.float32)):
        pass
    return prepared


VARIANT = NetworkVariant(
    key="network-serial",
    title="Serial, one thread",
    device=DeviceKind.CPU,
    idea="The sequential program: drawing after drawing, layer after layer, a loop nest each, as fast as in "
    "C (gcc -O2). The baseline.",
    work=work,
    prepare=prepare,
    roundings=roundings_by_parts,
)
