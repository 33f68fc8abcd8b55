"""The shape of a warp's work when it streams down a strip, and how strips cover a picture. Pure integers."""

from dataclasses import dataclass

from engine.device.launches import Launch
from engine.geometry.block import Block
from engine.variants.ir.register_tile import VECTOR, TileShape, whole_vectors
from engine.variants.tiles.geometry import blocks_along, loads_of_tiles
from engine.variants.tiles.waves import rows_of_strips
from engine.work.filtering.problem import Problem

LANES = 32
STRIP_SAMPLES = LANES * VECTOR
"""Results of a warp in a row."""

WARPS = 4
"""Most warps of a block."""

LEAST_STRIP_ROWS = 8


def after_strip(along: TileShape) -> int:
    """Return the cells of a strip's row after those of its results."""
    return along.tile_samples - along.out_samples - along.before


def beside(along: TileShape) -> int:
    """Return the most cells of a row on one side of the picture that are copied, a power of two.

    On the right they begin after the last whole vector in the picture, up to 3 cells before its edge.
    """
    most = max(along.before, after_strip(along) + VECTOR)
    return 1 << (most - 1).bit_length()


def shares_out(along: TileShape, itemsize: int) -> bool:
    """Return whether the lanes share out the cells beside the picture: few cells, of one float32 channel.

    The last strip of a row then copies only what its results in the picture need. `low-rank-2` on 4096 x 4096
    float32: 15 x 15 85 -> 64 us, 31 x 31 183 -> 187, on three channels 31 x 31 555 -> 648 (H200).
    """
    return itemsize == 4 and along.channels == 1 and along.before <= 12 and beside(along) <= LANES


@dataclass(frozen=True, slots=True, kw_only=True)
class StripShape:
    """The shape of a warp's work on a strip; everything is known when the kernel is compiled.

    While a group of input rows is filtered, the next one is copied.
    """

    along: TileShape  # For an input row in shared memory: a mask of one row, a vector of results a thread.
    mask_rows: int
    rank: int  # Columns times rows that the mask is a sum of.
    group_rows: int  # Input rows that are copied as one group and filtered without a loop.

    @property
    def group_cells(self) -> int:
        """Cells of a group of input rows in shared memory."""
        return self.group_rows * self.along.tile_samples

    @property
    def ring_cells(self) -> int:
        """Cells that a warp has in shared memory: of the group that is filtered, and of the one under way."""
        return 2 * self.group_cells

    @property
    def shared_bytes(self) -> int:
        """Shared memory of a block of the most warps."""
        return 4 * WARPS * self.ring_cells

    @property
    def kept(self) -> int:
        """Sums that a thread keeps from one input row to the next: of results that wait for further rows."""
        return VECTOR * max(self.mask_rows - 1, 1)

    def groups(self, results: int) -> int:
        """Return the groups of input rows that a strip of so many rows of results needs."""
        return -(-(results + self.mask_rows - 1) // self.group_rows)

    @property
    def resident(self) -> int:
        """Blocks that are resident on a multiprocessor: as many as leave each thread registers for its sums.

        4, 3 and 2 blocks leave 128, 168 and 255 registers per thread. With these bounds at most 48 bytes are
        spilled up to 31 x 31 (CUDA 13), except for wrapped 16-bit pictures of four channels.
        """
        sums = self.rank * self.kept
        return 4 if sums <= 56 else 3 if sums <= 128 else 2

    @property
    def down_at(self) -> int:
        """Where the weights of the columns begin in constant memory."""
        return self.rank * self.along.weight_pitch

    @property
    def weights(self) -> int:
        """Weights in constant memory: the rows in whole vectors, then the columns, mask row by mask row."""
        return whole_vectors(self.down_at + self.rank * self.mask_rows)


@dataclass(frozen=True, slots=True)
class StripGrid:
    """The strips of a picture.

    Blocks lie side by side, and the last one of a row may have warps with no strip.
    """

    problem: Problem
    shape: StripShape

    @property
    def across(self) -> int:
        """Strips side by side."""
        return blocks_along(self.problem.width * self.problem.channels, STRIP_SAMPLES)

    @property
    def rows(self) -> int:
        """Rows of results of a strip, in whole groups of input rows.

        It has at least half as many as the mask has above one result, so that little is filtered twice.
        """
        above = self.shape.mask_rows - 1
        least = max(LEAST_STRIP_ROWS, above // 2)
        warps = min(self.across, WARPS)
        across, resident = blocks_along(self.across, warps), self.shape.resident * WARPS // warps
        step = self.shape.group_rows
        return rows_of_strips(self.problem, across, resident, step=step, beyond=above, least=least)

    @property
    def bands(self) -> int:
        """Strips one below the other."""
        return blocks_along(self.problem.height, self.rows)

    def launch(self) -> Launch:
        """Return the launch: a warp per strip, up to `WARPS` of them in a block."""
        warps = min(self.across, WARPS)
        grid = (blocks_along(self.across, warps), self.bands, 1)
        tile, results = Block(warps * STRIP_SAMPLES, self.rows), self.problem.samples
        block, used = (LANES, warps, 1), self.shape.shared_bytes
        return Launch(grid, block, used, 4 * self.shape.weights, tile, results)

    @property
    def groups(self) -> list[int]:
        """The groups of input rows of each strip, from the top of the picture down."""
        height, rows = self.problem.height, self.rows
        return [self.shape.groups(min(rows, height - top)) for top in range(0, height, rows)]

    @property
    def input_rows(self) -> int:
        """The input rows of all strips below one another."""
        return sum(self.groups) * self.shape.group_rows

    @property
    def row_cells(self) -> int:
        """Cells that the strips of a row copy of each input row: what results in the picture need."""
        return (self.across - 1) * self.shape.along.tile_samples + self._last_cells

    @property
    def _last_cells(self) -> int:
        along = self.shape.along
        if not shares_out(along, self.problem.itemsize):
            return along.tile_samples
        rest = self.problem.width * self.problem.channels - (self.across - 1) * STRIP_SAMPLES
        return along.tile_samples - (STRIP_SAMPLES - whole_vectors(rest))

    @property
    def loads(self) -> int:
        """The elements of the picture that all strips load."""
        shape, rows = self.shape, self.rows
        *lefts, last = [strip * STRIP_SAMPLES - shape.along.before for strip in range(self.across)]
        bands = [
            (band * rows - self.problem.anchor[0], groups * shape.group_rows)
            for band, groups in enumerate(self.groups)
        ]
        whole = loads_of_tiles(self.problem, lefts, shape.along.tile_samples, bands)
        return whole + loads_of_tiles(self.problem, [last], self._last_cells, bands)
