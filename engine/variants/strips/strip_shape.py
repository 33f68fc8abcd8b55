"""The shape of a warp's work when it streams down a strip of the picture. Pure integers."""

from dataclasses import dataclass

from engine.variants.ir.register_tile import VECTOR, TileShape, whole_vectors

LANES = 32
STRIP_SAMPLES = LANES * VECTOR
"""Results of a warp in a row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StripShape:
    """The shape of a warp's work on a strip; everything is known when the kernel is compiled."""

    along: TileShape  # Of an input row in shared memory: a mask of one row, a vector of results per thread.
    mask_rows: int
    group_rows: int  # Input rows that are copied as one group and filtered without a loop.
    ahead: int  # Groups that are under way while one is filtered.
    warps: int  # Most warps of a block.

    @property
    def group_cells(self) -> int:
        """Cells of a group of input rows in shared memory."""
        return self.group_rows * self.along.tile_samples

    @property
    def ring_cells(self) -> int:
        """Cells that a warp has in shared memory: the group that is filtered, and those under way."""
        return (self.ahead + 1) * self.group_cells

    @property
    def shared_bytes(self) -> int:
        """Of a block of the most warps."""
        return 4 * self.warps * self.ring_cells

    @property
    def kept(self) -> int:
        """Sums that a thread keeps from one input row to the next: of results that wait for further rows."""
        return VECTOR * max(self.mask_rows - 1, 1)

    def groups(self, results: int) -> int:
        """Return the groups of input rows that a strip of so many rows of results needs."""
        return -(-(results + self.mask_rows - 1) // self.group_rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class FactorStripShape(StripShape):
    """The shape where a mask is a sum of `rank` columns times rows."""

    rank: int

    @property
    def down_at(self) -> int:
        """Where the weights of the columns begin in constant memory."""
        return self.rank * self.along.weight_pitch

    @property
    def weights(self) -> int:
        """Weights in constant memory: the rows in whole vectors, then the columns, mask row by mask row."""
        return whole_vectors(self.down_at + self.rank * self.mask_rows)
