"""The shape of a block's work in `box`: each thread's sums, and the rows in shared memory. Pure integers.

A tile is loaded whole, and each row's sums replace its samples. A ring has few input rows at a time; their
sums go into a ring of as many rows as the windows of a step need.
"""

from dataclasses import dataclass

from engine.variants.ir.register_tile import VECTOR, TileShape, whole_vectors
from engine.variants.tiles.geometry import loads_of_tiles
from engine.variants.tiles.window_sums import ColumnWindows, RowWindows, Windows
from engine.work.filtering.problem import Problem

LANES = 32
SHARED_BYTES = 48 * 1024


@dataclass(frozen=True, slots=True)
class BoxShape:
    """The shape of a block's work; everything is known when the kernel is compiled."""

    mask_rows: int
    mask_columns: int
    channels: int
    left: int  # Samples left of the anchor.
    out_samples: int  # Results per row: 128 or 64.
    results: int  # Neighbouring results that a thread sums up along a row.
    rows: int  # Rows of results that a thread sums up down its columns.
    columns: int  # Its neighbouring columns.
    warps: int
    is_ring: bool  # whether the block moves down; else it takes one step.

    @property
    def before(self) -> int:
        """Samples of an input row before the first result: those left of the anchor, in whole vectors."""
        return whole_vectors(self.left)

    @property
    def along(self) -> RowWindows:
        """What a thread sums up along a row."""
        return RowWindows(Windows(self.mask_columns, self.channels, self.results), self.before - self.left)

    @property
    def down(self) -> ColumnWindows:
        """What a thread sums up down its columns."""
        ring_rows = self.ring_rows if self.is_ring else 0
        return ColumnWindows(self.mask_rows, self.rows, self.columns, self.kept_pitch, ring_rows)

    @property
    def warp_rows(self) -> int:
        """Rows that a warp sums up at once, along themselves."""
        return LANES * self.results // self.out_samples

    @property
    def round_rows(self) -> int:
        """Rows that the block sums up at once, along themselves."""
        return self.warps * self.warp_rows

    @property
    def column_threads(self) -> int:
        """Threads side by side when columns are summed up."""
        return self.out_samples // self.columns

    @property
    def step_rows(self) -> int:
        """Rows of results of the block in one step."""
        return self.rows * LANES * self.warps // self.column_threads

    @property
    def lot_rows(self) -> int:
        """Input rows loaded at once: of a ring a step's, of a tile all, in whole rounds of a warp."""
        if self.is_ring:
            return self.step_rows
        return -(-(self.step_rows + self.mask_rows - 1) // self.warp_rows) * self.warp_rows

    @property
    def pitch(self) -> int:
        """Samples of an input row: an odd number of vectors, against bank conflicts among 8 threads."""
        samples = self.out_samples - self.results + self.along.read
        samples = max(samples, LANES * VECTOR)
        return samples + (VECTOR if samples % (2 * VECTOR) == 0 else 0)

    @property
    def input(self) -> TileShape:
        """The input rows, as they are loaded."""
        beyond = self.pitch - LANES * VECTOR
        return TileShape(1, 1, self.channels, self.before, beyond, 1, 1, self.warps, 1, 1)

    @property
    def kept_pitch(self) -> int:
        """Elements from one row of sums to the next."""
        return self.out_samples + VECTOR if self.is_ring else self.pitch

    @property
    def kept_at(self) -> int:
        """Where the rows of sums begin."""
        return self.lot_rows * self.pitch if self.is_ring else 0

    @property
    def ring_rows(self) -> int:
        """Rows of a ring: those under all windows of a step."""
        return -(-(self.step_rows + self.mask_rows - 1) // self.rows) * self.rows

    @property
    def early_steps(self) -> int:
        """Steps of a ring before the first results."""
        return -(-(self.mask_rows - 1) // self.step_rows) if self.is_ring else 0

    @property
    def early_rows(self) -> int:
        """Rows above the first window that the first step loads too."""
        return self.early_steps * self.step_rows - self.mask_rows + 1 if self.is_ring else 0

    @property
    def shared_cells(self) -> int:
        """Elements of shared memory."""
        return self.lot_rows * self.pitch + (self.ring_rows * self.kept_pitch if self.is_ring else 0)

    @property
    def shared_bytes(self) -> int:
        """Bytes of shared memory."""
        return 4 * self.shared_cells

    def lots(self, rows: int) -> int:
        """Return how often a block with so many rows of results loads `lot_rows` input rows."""
        return -(-rows // self.step_rows) + self.early_steps if self.is_ring else 1


def loads_of_lots(problem: Problem, shape: BoxShape, across: int, height: int) -> tuple[int, int, int, int]:
    """Return what all blocks, `across` side by side with `height` rows of results each, do.

    Loads from the picture, cells stored in shared memory, sums of threads along rows, and down columns.
    """
    tops = range(0, problem.height, height)
    lots = [shape.lots(min(height, problem.height - top)) for top in tops]
    lefts = [block * shape.out_samples - shape.before for block in range(across)]
    bands = [
        (top - problem.anchor[0] - shape.early_rows, count * shape.lot_rows)
        for top, count in zip(tops, lots, strict=True)
    ]
    rows = across * sum(lots) * shape.lot_rows
    along = rows * shape.out_samples // shape.results
    down = across * sum(count - shape.early_steps for count in lots) * LANES * shape.warps
    return loads_of_tiles(problem, lefts, shape.pitch, bands), rows * shape.pitch, along, down
