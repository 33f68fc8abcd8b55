"""The stages of the report in its own order: layer after layer moves from the host to the device.

What is left to the host are the sequential program's loops.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from engine.compiled.entry_point import entry_point
from engine.compiled.machine_code import MachineFunction
from engine.device.launches import DeviceKind, HostStep, Operand, Prepared
from engine.geometry.block import Block
from engine.process import interprets
from engine.results.problem import Work
from engine.tasks.network import problem as network
from engine.tasks.network.operands import Weights
from engine.tasks.network.problem import LAYERS, ForwardPass, Layer, LayerWork
from engine.tasks.network.task import NetworkVariant
from engine.variants.network import steps
from engine.variants.network.steps import (
    AFTER,
    LINEARISED,
    TILE,
    NetworkLaunch,
    convolution,
    fused,
    pool,
    stage,
)
from engine.variants.passes import interpreted

SERIAL_STORY = """
`network-serial`: the sequential program on the CPU, one thread. The baseline of every stage.

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
serial_convolution, serial_pool, serial_connected = (
    MachineFunction(__name__, name) for name in ("convolve_serial", "pool_serial", "connect_serial")
)


def serial_work(problem: ForwardPass, block: Block) -> Work:
    """Return the work: two loads for each multiply-add, four for each value of a pool."""
    works = []
    for layer in LAYERS:
        adds = layer.multiply_adds or 4 * layer.values
        loads = 2 * layer.multiply_adds or 4 * layer.values
        works.append(LayerWork(problem.batch * adds, problem.batch * loads, problem.batch * layer.values))
    return network.network_work(problem, *works)


class Serial:
    """The loops, ready for one network; `values` has every layer's values of the last drawing."""

    def __init__(self, problem: ForwardPass, weights: Weights) -> None:
        self._weights = weights
        self.values = {layer.key: np.empty(layer.shape, np.float32) for layer in LAYERS}

    def launch(self, image: tuple[np.ndarray], out: np.ndarray, stream: object = None) -> None:
        """Pass the drawings of the tuple (drawings,) through the network, one after another."""
        self.part_ms(image, out, lambda prepared: 0.0)

    def steps(self, drawing: np.ndarray) -> Iterator[Layer]:
        """Compute layer after layer of one drawing; yield each one when its values are there."""
        weights, values = self._weights, self.values
        calls: tuple[tuple[Any, ...], ...] = (
            (serial_convolution, drawing, weights.convolution_1),
            (serial_pool, values["convolution-1"]),
            (serial_convolution, values["pool-1"], weights.convolution_2),
            (serial_pool, values["convolution-2"]),
            (serial_connected, values["pool-2"].reshape(-1), weights.hidden, True),
            (serial_connected, values["hidden"], weights.output, False),
        )
        for layer, (function, *arguments) in zip(LAYERS, calls, strict=True):
            function(*arguments, values[layer.key])
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


def prepare_serial(problem: ForwardPass, weights: Weights, block: Block) -> Serial:
    """Return the loops for one network, compiled."""
    prepared = Serial(problem, weights)
    for _layer in prepared.steps(np.zeros((1, network.SIDE, network.SIDE), np.float32)):
        pass
    return prepared


def convolve_serial(maps, filters, results):
    """Correlate maps (c, rows, columns) with filters (m, c, 5, 5) where they lie on them whole; rectify."""
    entry_point()
    channels = filters.shape[1]
    for m in range(results.shape[0]):
        for row in range(results.shape[1]):
            for column in range(results.shape[2]):
                total = np.float32(0.0)
                for c in range(channels):
                    partial = np.float32(0.0)
                    for p in range(network.FILTER_SIDE):
                        for q in range(network.FILTER_SIDE):
                            partial += maps[c, row + p, column + q] * filters[m, c, p, q]
                    total += partial
                results[m, row, column] = np.float32(0.0) if total < np.float32(0.0) else total


def pool_serial(maps, results):
    """Average squares of 2 x 2."""
    entry_point()
    for m in range(results.shape[0]):
        for row in range(results.shape[1]):
            for column in range(results.shape[2]):
                total = np.float32(0.0)
                for i in range(2):
                    for j in range(2):
                        total += maps[m, 2 * row + i, 2 * column + j]
                results[m, row, column] = total * np.float32(0.25)


def connect_serial(values, weights, rectifies, results):
    """Multiply values with weights (inputs, outputs); negative results become 0 if it `rectifies`.

    Each TILE products have a partial sum, as on the device (`roundings_by_parts`).
    """
    entry_point()
    for output in range(results.shape[0]):
        total = np.float32(0.0)
        first = 0
        while first < values.shape[0]:
            partial = np.float32(0.0)
            for k in range(first, min(first + TILE, values.shape[0])):
                partial += values[k] * weights[k, output]
            total += partial
            first += TILE
        if rectifies and total < np.float32(0.0):
            total = np.float32(0.0)
        results[output] = total


SERIAL = NetworkVariant(
    key="network-serial",
    title="Serial, one thread",
    device=DeviceKind.CPU,
    idea="The sequential program: drawing after drawing, layer after layer, a loop nest each, as fast as in "
    "C (gcc -O2). The baseline.",
    work=serial_work,
    prepare=prepare_serial,
    roundings=steps.roundings_by_parts,
)


HostLayer = Callable[[ForwardPass, Weights], HostStep]
Steps = Sequence[NetworkLaunch | HostLayer]


def pool_on_host(number: int) -> HostLayer:
    """Return average pool 1 or 2."""
    before, after = AFTER[f"convolution-{number}"], AFTER[f"pool-{number}"]
    return lambda *batch: HostStep(f"pool-{number}", before(*batch), after(*batch), serial_pool)


CONNECTED_ON_HOST: tuple[HostLayer, HostLayer] = (
    lambda problem, weights: HostStep(
        "hidden",
        LINEARISED(problem, weights),
        AFTER["hidden"](problem, weights),
        lambda values, results: serial_connected(values, weights.hidden, True, results),
    ),
    lambda problem, weights: HostStep(
        "output",
        AFTER["hidden"](problem, weights),
        Operand.OUT,
        lambda values, results: serial_connected(values, weights.output, False, results),
    ),
)
"""The hidden and the output layer."""


def stage_with_host(steps: Steps, **traits: Any) -> NetworkVariant:
    """Return the stage of which the device computes some layers and the host the others."""
    of_device = [step for step in steps if isinstance(step, NetworkLaunch)]

    def prepare(problem: ForwardPass, weights: Weights, block: Block) -> Prepared:
        # The host's loops are compiled, so that no time of a stage has it in it.
        prepare_serial(problem, weights, block)
        made = [
            step.made(problem, weights) if isinstance(step, NetworkLaunch) else step(problem, weights)
            for step in steps
        ]
        if interprets():
            return interpreted(made)
        # The variants are listed without Numba.
        from engine.variants.network.prepared import PreparedWithHost

        return PreparedWithHost(made)

    return stage(of_device, prepare=prepare, **traits)


CONVOLUTION_STORY = """
`network-convolution`: both convolutions on the device, a thread per output; the host does all else.

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
CONVOLUTION = stage_with_host(
    (convolution(1), pool_on_host(1), convolution(2), pool_on_host(2), *CONNECTED_ON_HOST),
    key="network-convolution",
    title="Parallel convolution",
    idea="A thread for each output of both convolutions, in blocks of 16 × 16; the host does all other "
    "layers, so the maps go to and fro.",
)
"""Its times are those of the host's clock, the copies between device and host in them."""


POOL_STORY = """
`network-pool`: the average pools on the device too, a thread per average; its store linearises.

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
POOL = stage_with_host(
    (convolution(1), pool(1), convolution(2), pool(2), *CONNECTED_ON_HOST),
    key="network-pool",
    title="Parallel pool, linearised",
    idea="A thread for each average of both pools; the second one stores each where the linear vector has "
    "it. The host does the connected layers.",
)


FUSED_STORY = """
`network-fused`: pool and linearisation fused into the convolution, a thread per average.

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
FUSED = stage_with_host(
    (fused(1), fused(2), *CONNECTED_ON_HOST),
    key="network-fused",
    title="Pool and linearisation fused",
    idea="A thread computes the four outputs under one average and stores that alone: the convolutions' "
    "maps never exist in memory. The host does the connected layers.",
)


CONNECTED_STORY = """
`network-connected`: the connected layers on the device as well, a thread per value; the host does nothing.

Idea
    Each thread sums the products of one drawing's vector with one column of weights, 16 at a time.
Who loads what
    Each multiply-add loads a value and a weight from global memory. Threads side by side ask for neighbouring
    weights and for the same value.
What it saves
    Against `network-pool`: the host's loops over 132,352 weights per drawing, and the copies between them.
    The scores alone go back.
Limit
    Each weight is loaded again for every drawing.

Source: ECE408 final report "CUCUDA", Performance Analysis: "After integrating parallelization of neural
network, the running time became around 9 seconds."
"""
CONNECTED = stage(
    (convolution(1), pool(1), convolution(2), pool(2), *steps.CONNECTED_LAYERS),
    key="network-connected",
    title="Parallel fully connected",
    idea="A thread for each value of the connected layers, too: the whole network runs on the device.",
)
