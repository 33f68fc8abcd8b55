"""The shape of a block's work in `network-fast`: how many drawings, outputs and maps. Pure integers."""

from dataclasses import dataclass

from engine.geometry.block_rules import blocks_along
from engine.tasks.network.problem import FILTER_CELLS, FILTER_SIDE

VECTOR = 4
"""Values that are loaded and stored at once: 16 bytes."""
ROWS, ACROSS = 2, 8
"""Outputs of a thread: two rows of eight, so that each average of a pool has its four in one thread."""
MOST_THREADS = 512
MOST_SHARED_BYTES = 40 * 1024
# Multiply-adds in a row that the instruction cache takes well: 16 KB of code.
MOST_UNROLLED = 1000


@dataclass(frozen=True, slots=True)
class ConvolutionShape:
    """A convolution with its pool; everything is known when the kernel is compiled.

    A thread computes 2 x 8 outputs of `filters` maps of one drawing; threads of a block stand over all
    outputs of `groups` x `filters` maps of `drawings` drawings.
    """

    channels: int  # input maps
    side: int  # of an input map
    maps: int
    filters: int
    groups: int
    drawings: int
    phase: int  # input maps that are in shared memory at once; the next ones arrive meanwhile

    @property
    def out_side(self) -> int:
        """Side of a map of outputs."""
        return self.side - FILTER_SIDE + 1

    @property
    def pooled(self) -> int:
        """Side of a map of averages."""
        return self.out_side // 2

    @property
    def across(self) -> int:
        """Threads side by side over a row of outputs."""
        return blocks_along(self.out_side, ACROSS)

    @property
    def positions(self) -> int:
        """Threads over the outputs of a map."""
        return self.pooled * self.across

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.drawings * self.positions * self.groups

    @property
    def maps_per_block(self) -> int:
        """Maps that a block computes."""
        return self.groups * self.filters

    @property
    def map_blocks(self) -> int:
        """Blocks that share a drawing."""
        return blocks_along(self.maps, self.maps_per_block)

    @property
    def packed_maps(self) -> int:
        """Maps of the packed weights: whole blocks of them, the last ones 0."""
        return self.map_blocks * self.maps_per_block

    @property
    def pitch(self) -> int:
        """Values from a row to the next in shared memory: whole vectors, and what the last thread reads."""
        return -(-max(self.side, ACROSS * self.across + FILTER_SIDE - 1) // VECTOR) * VECTOR

    @property
    def vector(self) -> int:
        """Values that are copied at once."""
        return VECTOR if self.side % VECTOR == 0 else 1

    @property
    def buffers(self) -> int:
        """Buffers in shared memory: two where a phase is copied while another is used."""
        return 1 if self.phase >= self.channels else 2

    @property
    def phases(self) -> int:
        """Phases of the sum."""
        return blocks_along(self.channels, self.phase)

    @property
    def map_cells(self) -> int:
        """Values of one input map of one drawing in shared memory."""
        return self.side * self.pitch

    @property
    def cells(self) -> int:
        """Values of the input maps in a buffer."""
        return self.drawings * self.phase * self.map_cells

    @property
    def weights(self) -> int:
        """Weights in a buffer."""
        return self.phase * FILTER_CELLS * self.maps_per_block

    @property
    def shared_bytes(self) -> int:
        """Bytes of all buffers."""
        return 4 * self.buffers * (self.cells + self.weights)

    @property
    def is_unrolled(self) -> bool:
        """Whether the five rows of a filter are written one after another; else they go through a loop."""
        return FILTER_CELLS * ROWS * ACROSS * self.filters <= MOST_UNROLLED


def convolution_shape(
    channels: int, side: int, maps: int, *, filters: int, drawings: int
) -> ConvolutionShape:
    """Return the shape for a convolution: as many maps and drawings per block as threads and memory allow."""

    def shape(groups: int, several: int, phase: int) -> ConvolutionShape:
        return ConvolutionShape(channels, side, maps, filters, groups, several, phase)

    one = shape(1, 1, 1)
    # The weights of a block's maps are copied as whole vectors.
    unit = VECTOR // filters
    wanted = min(-(-blocks_along(maps, filters) // unit) * unit, MOST_THREADS // one.positions)
    groups = max(unit, wanted // unit * unit)
    several = max(1, min(drawings, MOST_THREADS // (one.positions * groups)))
    while groups > unit and shape(groups, several, 1).shared_bytes > MOST_SHARED_BYTES:
        groups -= unit
    fitting = (
        phase
        for phase in (channels, 2, 1)
        if phase <= 4 and shape(groups, several, phase).shared_bytes <= MOST_SHARED_BYTES
    )
    return shape(groups, several, next(fitting, 1))


@dataclass(frozen=True, slots=True)
class ConnectedShape:
    """Both connected layers in one block: `drawings` drawings, `slices` parts of the sum side by side."""

    inner: int
    hidden: int
    classes: int
    drawings: int

    @property
    def lanes(self) -> int:
        """Threads side by side, one for each hidden value, in whole warps."""
        return -(-self.hidden // 32) * 32

    @property
    def slices(self) -> int:
        """Threads that share a hidden value's sum."""
        return max(1, min(4, MOST_THREADS // self.lanes))

    @property
    def ahead(self) -> int:
        """Weights that a thread loads before it multiplies any of them: their latency overlaps.

        With few drawings there are few blocks, and registers for more.
        """
        return 32 if self.drawings <= VECTOR else 8

    @property
    def depth(self) -> int:
        """Values before that are in shared memory at once."""
        return (128 if self.drawings <= VECTOR else 32) * self.slices

    @property
    def packed_inner(self) -> int:
        """Rows of the packed weights: whole phases, the last rows 0."""
        return blocks_along(self.inner, self.depth) * self.depth

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.lanes * self.slices

    @property
    def partial_values(self) -> int:
        """Values of all parts of all sums."""
        return self.slices * self.drawings * self.lanes

    @property
    def shared_bytes(self) -> int:
        """Bytes of the values before and of the parts of the sums."""
        return 4 * (self.depth * self.drawings + self.partial_values)


def connected_shape(inner: int, hidden: int, classes: int, *, drawings: int) -> ConnectedShape:
    """Return the shape for the connected layers: fewer drawings where shared memory is short."""
    while drawings > VECTOR and ConnectedShape(inner, hidden, classes, drawings).shared_bytes > 48 * 1024:
        drawings //= 2
    return ConnectedShape(inner, hidden, classes, drawings)
