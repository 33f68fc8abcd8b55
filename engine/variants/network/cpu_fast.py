"""`network-cpu`: the fastest network here on a CPU: sums in registers, vectors of maps, all cores.

Idea
    A tile of two rows of outputs of 2 vectors of maps (AVX-512: 2 x 4 outputs of 32 maps) stays in registers
    over the whole sum, is rectified and averaged there, and only the averages are stored: no map of a
    convolution exists in memory. Maps lie pixel by pixel, so that the inner loop walks along memory
    (`cpu_tiles.py`). Each thread takes four drawings at a time through all layers, which share each weight
    of the connected ones.
Who loads what
    Each step of a convolution's sum loads 2 vectors of weights and one cell for each output of the tile, for
    16 multiply-adds of vectors. A drawing's averages (18 KB) stay in the first cache, the packed weights
    (0.7 MB) in the second.
What it saves
    Against `network-serial`: 16 multiply-adds at once in each of 16 independent chains, and all cores.
Limit
    The multiply-adds themselves. One drawing alone takes one thread: another would begin only when it is
    half done.

Source: the register tiling of matrix products (Goto and van de Geijn, "Anatomy of high-performance matrix
multiplication", 2008) applied to a direct convolution (Zhang, Franchetti and Low, "High performance zero-
memory overhead direct convolutions", ICML 2018).
"""

import timeit
from collections.abc import Callable
from functools import partial

import numpy as np

from engine.compiled.machine_code import MachineFunction, cpu_target
from engine.device.launches import DeviceKind, Prepared
from engine.device.thread_pool import TASK, SharedCall
from engine.process import cores
from engine.tasks.network import problem as network
from engine.tasks.network.operands import Floats, Weights
from engine.tasks.network.problem import HIDDEN, LINEAR, SECOND, ForwardPass
from engine.tasks.network.task import NetworkVariant

AT_ONCE = 4
"""Drawings that a thread takes at a time."""
VECTORS = 2
"""Vectors of maps, or of a layer's values, in a tile."""
GROUP = VECTORS * cpu_target().vector_floats
"""Maps of a tile: weights are packed so."""
# Launches of which the fastest counts, where one step's time is the difference of two.
TURNS = 4
PART = 64
"""Products of a connected layer that form a partial sum."""
STEPS = ("convolution-1 + pool-1", "convolution-2 + pool-2", "hidden + output")


def packed(rows: np.ndarray) -> Floats:
    """Return weights (inner, values) group after group: (groups, inner, GROUP), filled up with zeros."""
    inner, values = rows.shape
    filled = np.zeros((inner, -(-values // GROUP) * GROUP), np.float32)
    filled[:, :values] = rows
    return np.ascontiguousarray(filled.reshape(inner, -1, GROUP).transpose(1, 0, 2)).reshape(-1)


def packed_filters(filters: Floats) -> Floats:
    """Return filters (maps, c, 5, 5) packed, their rows (row, column, input map)."""
    return packed(filters.transpose(2, 3, 1, 0).reshape(-1, len(filters)))


def roundings(terms: int) -> int:
    """Return the roundings of a product: rows of filters, and 64 values of a connected layer, are parts."""
    connected = min(PART, terms) + -(-terms // PART)
    if terms % network.FILTER_CELLS:
        return connected
    return max(connected, terms // network.FILTER_SIDE + network.FILTER_SIDE)


class RegisterTiles:
    """The network ready for one batch; one launch at a time."""

    function = MachineFunction("engine.variants.network.cpu_tiles", "forward_drawings")

    def __init__(self, problem: ForwardPass, weights: Weights) -> None:
        self._workers = max(1, min(cores(), -(-problem.batch // AT_ONCE)))
        # Maps of one drawing after the first pool; vectors and hidden values of some; scores.
        floats = network.FIRST_POOLED**2 * network.FIRST + AT_ONCE * (LINEAR + HIDDEN) + GROUP
        arrays = (
            packed_filters(weights.convolution_1),
            packed_filters(weights.convolution_2),
            # In the order (row, column, map).
            packed(weights.hidden.reshape(SECOND, -1, HIDDEN).swapaxes(0, 1).reshape(LINEAR, HIDDEN)),
            packed(weights.output),
        )
        # Whole cache lines for each thread.
        floats = -(-floats // 16) * 16
        memory = np.zeros(self._workers * floats, np.float32)
        self._arguments = (0, 0, problem.batch, arrays, TASK, memory, floats)
        self._call = self._made(len(STEPS))

    def _made(self, steps: int) -> SharedCall:
        return SharedCall(self.function, (*self._arguments, steps), self._workers)

    def launch(self, image: tuple[np.ndarray], out: np.ndarray, stream: object = None) -> None:
        """Pass the drawings of the tuple (drawings,) through the network, on all cores."""
        (drawings,) = image
        self._call.launch(drawings.ctypes.data, out.ctypes.data)

    def part_ms(
        self, image: tuple[np.ndarray], out: np.ndarray, clock: Callable[[Prepared], float]
    ) -> dict[str, float]:
        """Return how much longer the network takes with each of its steps, by the host's clock."""
        (drawings,) = image
        times: dict[str, float] = {}
        before = 0.0
        for number, name in enumerate(STEPS, start=1):
            call = self._made(number)
            launch = partial(call.launch, drawings.ctypes.data, out.ctypes.data)
            now = min(timeit.repeat(launch, number=1, repeat=TURNS)) * 1e3
            times[name] = max(0.0, now - before)
            before = now
        return times


VARIANT = NetworkVariant(
    key="network-cpu",
    title="CPU, sums in registers",
    device=DeviceKind.CPU,
    idea="Tiles of outputs stay in registers over the whole sum and are pooled there; vectors of maps, all "
    "cores. The fastest on a CPU.",
    # Which loads reach memory depends on the processor's registers and caches.
    work=lambda problem, block: None,
    prepare=lambda problem, weights, block: RegisterTiles(problem, weights),
    roundings=roundings,
)
