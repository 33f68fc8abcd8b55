"""The shape of a block's work in `register-blocked`. Pure integers."""

from dataclasses import dataclass

VECTOR = 4
"""Samples that are loaded and stored at once: 16 bytes of float32."""

MOST_UNROLLED = 1300
"""Multiply-adds in a row that the instruction cache of a multiprocessor takes well: 21 KB of code."""


@dataclass(frozen=True, slots=True)
class TileShape:
    """The shape of a block's work; everything is known when the kernel is compiled.

    Parameters
    ----------
    mask_rows, mask_columns, channels : int
    before : int
        Samples of the input tile before the output tile: those left of the anchor, rounded up to whole vectors.
    shift : int
        Samples from the first one of a thread's window to the one under the mask's first column.
    groups : int
        Vectors of results in a row of one thread, 32 x 4 samples apart.
    rows : int
        Rows of results of one thread.
    warps : int
        Warps of a block, one above the other.
    """

    mask_rows: int
    mask_columns: int
    channels: int
    before: int
    shift: int
    groups: int
    rows: int
    warps: int

    @property
    def multiply_adds(self) -> int:
        """Multiply-adds of a thread."""
        return self.rows * self.groups * VECTOR * self.mask_rows * self.mask_columns

    @property
    def unrolled(self) -> bool:
        """Whether the multiply-adds are few enough to be written one after another, without a loop."""
        return self.multiply_adds <= MOST_UNROLLED

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return 32 * self.warps

    @property
    def out_samples(self) -> int:
        """Samples of results in a row of the block."""
        return 32 * VECTOR * self.groups

    @property
    def out_rows(self) -> int:
        """Rows of results of the block."""
        return self.rows * self.warps

    @property
    def window(self) -> int:
        """Samples that a thread reads of an input row for one vector of results, in whole vectors."""
        needed = self.shift + VECTOR + (self.mask_columns - 1) * self.channels
        return -(-needed // VECTOR) * VECTOR

    @property
    def tile_samples(self) -> int:
        """Samples in a row of the input tile."""
        return self.out_samples + self.window - VECTOR

    @property
    def tile_rows(self) -> int:
        """Rows of the input tile."""
        return self.out_rows + self.mask_rows - 1

    @property
    def tap_pitch(self) -> int:
        """Weights from one mask row to the next in shared memory, in whole vectors."""
        return -(-self.mask_columns // VECTOR) * VECTOR

    @property
    def shared_bytes(self) -> int:
        """Input tile and weights."""
        return 4 * (self.tile_rows * self.tile_samples + self.mask_rows * self.tap_pitch)
