"""The shape of a block's work in `network-fast`, pure integers, and what its threads do with their registers.

That is emitted (`docs/emission.md`).
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.device.kernel_factory import kernel_factory
from engine.tasks.network.problem import FILTER_CELLS, FILTER_SIDE, FIRST, FIRST_POOLED, HIDDEN, SECOND, SIDE

if TYPE_CHECKING:  # imported by `kernel_factory`
    from numba import types

    from engine.variants.emit.cuda_code import DeviceFunction, device_function

VECTOR = 4
"""Values that are loaded and stored at once: 16 bytes."""
ROWS, ACROSS = 2, 8
"""Outputs of a thread: two rows of eight, so that each average of a pool has its four in one thread."""
# Multiply-adds in a row that the instruction cache takes well: 16 KB of code.
MOST_UNROLLED = 1000


@dataclass(frozen=True, slots=True)
class ConvolutionShape:
    """A convolution with its pool; everything is known when the kernel is compiled.

    A thread computes 2 x 8 outputs of `filters` maps; threads of a block stand over all outputs of all maps
    of one drawing.
    """

    channels: int  # input maps
    side: int  # of an input map
    maps: int
    filters: int
    phase: int  # input maps that are in shared memory at once; the next ones arrive meanwhile

    @property
    def pooled(self) -> int:
        """Side of a map of averages."""
        return (self.side - FILTER_SIDE + 1) // 2

    @property
    def across(self) -> int:
        """Threads side by side over a row of outputs."""
        return (self.side - FILTER_SIDE + 1) // ACROSS

    @property
    def positions(self) -> int:
        """Threads over the outputs of a map."""
        return self.pooled * self.across

    @property
    def groups(self) -> int:
        """Threads over the maps."""
        return self.maps // self.filters

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.positions * self.groups

    @property
    def phases(self) -> int:
        """Phases of the sum."""
        return self.channels // self.phase

    @property
    def buffers(self) -> int:
        """Buffers in shared memory: two where a phase is copied while another is used."""
        return min(2, self.phases)

    @property
    def map_cells(self) -> int:
        """Values of one input map of one drawing."""
        return self.side**2

    @property
    def cells(self) -> int:
        """Values of the input maps in a buffer."""
        return self.phase * self.map_cells

    @property
    def weights(self) -> int:
        """Weights in a buffer."""
        return self.phase * FILTER_CELLS * self.maps

    @property
    def shared_bytes(self) -> int:
        """Bytes of all buffers."""
        return 4 * self.buffers * (self.cells + self.weights)

    @property
    def is_unrolled(self) -> bool:
        """Whether the five rows of a filter are written one after another; else they go through a loop."""
        return FILTER_CELLS * ROWS * ACROSS * self.filters <= MOST_UNROLLED


CONVOLUTIONS = (
    ConvolutionShape(1, SIDE, FIRST, filters=4, phase=1),
    # Two maps per thread, so that a block has a warp for each of a multiprocessor's four schedulers. With
    # four maps and four drawings per block 10,000 drawings take as long, 1,000 a tenth longer (H200).
    ConvolutionShape(FIRST, FIRST_POOLED, SECOND, filters=2, phase=2),
)
DRAWINGS, SLICES, AHEAD, DEPTH = 4, 4, 32, 512
"""Both connected layers in one block: its drawings, the threads that share a hidden value's sum, the weights
that a thread loads before it multiplies any of them (their latency overlaps), the values before that are in
shared memory at once."""
PARTS = SLICES * HIDDEN * DRAWINGS
"""Values of all parts of all sums."""


_WINDOW = ACROSS + FILTER_SIDE - 1


@kernel_factory
def phase_loader(shape: ConvolutionShape) -> "DeviceFunction":
    """Return the function `load(tile, maps, weights, filters, thread, buffer, ...)`, which waits for nothing.

    It copies the cells of some input maps from element `cells_from` of `maps` on, and their weights from
    element `weights_from` of `filters` on. Places are of 32 bits, and each further copy of a thread is a
    constant further on: with Numba's own loops and offsets of 64 bits a phase took a seventh more
    instructions.
    """
    at_once = shape.threads * VECTOR

    def load(code, tile, maps, weights, filters, thread, buffer, cells_from, weights_from):
        first, own = code.narrow(thread) * VECTOR, code.narrow(buffer)
        for target, source, count in (
            (code.shared(tile) + own * shape.cells, code.pointer(maps) + cells_from, shape.cells),
            (code.shared(weights) + own * shape.weights, code.pointer(filters) + weights_from, shape.weights),
        ):
            for beyond in range(0, count, at_once):
                there = None if beyond + at_once <= count else first < count - beyond
                code.copy_ahead(target + first, source + first, VECTOR, there, beyond, beyond)

    return device_function(types.void, load)


@kernel_factory
def accumulator(shape: ConvolutionShape) -> "DeviceFunction":
    """Return the function `accumulate(tile, at, weights, own, sums)`: the products of one input map.

    The thread's window begins at element `at` of the tile, its weights at element `own`. Each row of the
    window is loaded once: it serves the upper row of outputs under one row of the filter, and the lower row
    under the row before.
    """
    filters = shape.filters

    def accumulate(code, tile, at, weights, own, sums):
        cells, packed = code.shared(tile) + at, code.shared(weights) + own

        def window(number):
            row = cells + number * shape.side
            return [value for v in range(0, _WINDOW, VECTOR) for value in (row + v).load(VECTOR)]

        def filter_row(number, carried):
            totals, upper = list(carried[0]), carried[1]
            lower = window(number + 1)
            taps = packed + number * (FILTER_SIDE * shape.maps)
            for q in range(FILTER_SIDE):
                own_weights = (taps + q * shape.maps).load(filters)
                for f, weight in enumerate(own_weights):
                    for i, row in enumerate((upper, lower)):
                        for x in range(ACROSS):
                            offset = (f * ROWS + i) * ACROSS + x
                            totals[offset] = code.fma(row[q + x], weight, totals[offset])
            return [totals, lower]

        carried = [list(sums), window(0)]
        if not shape.is_unrolled:
            return code.repeat(FILTER_SIDE, carried, filter_row)[0]
        for number in range(FILTER_SIDE):
            carried = filter_row(number, carried)
        return carried[0]

    return device_function(types.UniTuple(types.float32, filters * ROWS * ACROSS), accumulate)


@kernel_factory
def pooled_store(shape: ConvolutionShape) -> "DeviceFunction":
    """Return the function `store(out, at, sums)`: the averages of the rectified outputs.

    `at` is the element of the first average of the first map.
    """
    averages, side = ACROSS // 2, shape.pooled

    def rectified(code, value):
        return code.select(value < code.f32(0.0), code.f32(0.0), value)

    def store(code, out, at, sums):
        target = code.pointer(out) + at
        for f in range(shape.filters):
            values = []
            for k in range(averages):
                upper, lower = ((f * ROWS + i) * ACROSS + 2 * k for i in range(ROWS))
                four = [rectified(code, sums[offset + j]) for offset in (upper, lower) for j in (0, 1)]
                values.append(((four[0] + four[1]) + (four[2] + four[3])) * code.f32(0.25))
            (target + f * side * side).store(values)

    return device_function(types.void, store)


@kernel_factory
def connected_accumulator() -> "DeviceFunction":
    """Return the function `accumulate(tile, at, weights, first, sums)`: some products of each drawing.

    `at` is the element of the tile with the first drawing's first value, `first` that of the weights.
    """

    def accumulate(code, tile, at, weights, first, sums):
        values, source = code.shared(tile) + at, code.pointer(weights) + first
        loaded = [(source + k * HIDDEN).load() for k in range(AHEAD)]
        totals = list(sums)
        for k, weight in enumerate(loaded):
            for d, value in enumerate((values + k * DRAWINGS).load(DRAWINGS)):
                totals[d] = code.fma(value, weight, totals[d])
        return totals

    return device_function(types.UniTuple(types.float32, DRAWINGS), accumulate)


@kernel_factory
def parts_store() -> "DeviceFunction":
    """Return the function `store(parts, at, sums)`: a sum for each drawing, a row of threads apart."""

    def store(code, parts, at, sums):
        target = code.shared(parts) + at
        for d, total in enumerate(sums):
            (target + d * HIDDEN).store(total)

    return device_function(types.void, store)
