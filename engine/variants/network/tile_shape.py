"""The shape of a block's work in `network-fast`: how many drawings, outputs and maps. Pure integers."""

from dataclasses import dataclass

from engine.tasks.network.problem import FILTER_CELLS, FILTER_SIDE, FIRST, FIRST_POOLED, HIDDEN, SECOND, SIDE

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
