"""The shape of a block's work in `register-blocked`, and of rows of a tile that is loaded. Pure integers."""

from dataclasses import dataclass
from typing import Any

VECTOR = 4
"""Samples that are loaded and stored at once: 16 bytes of float32."""


def whole_vectors(samples: int) -> int:
    """Return a number of samples rounded up to whole vectors."""
    return -(-samples // VECTOR) * VECTOR


@dataclass(frozen=True, slots=True)
class TileShape:
    """The shape of a block's work; everything is known when the kernel is compiled.

    A block computes `rows` x `warps` rows of results.
    """

    mask_rows: int
    mask_columns: int
    channels: int
    before: int  # Samples of the input tile before the output tile: those left of the anchor, whole vectors.
    shift: int  # Samples from a thread's window's first one to the one under the mask's first column.
    vectors: int = 1  # Neighbouring vectors of results in a row of one thread.
    rows: int = 1  # Rows of results that a thread holds at once.
    warps: int = 1  # Warps of a block, one above the other.
    unrolled_rows: int = 1  # Mask rows written one after another; more go through a loop over as many.

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return 32 * self.warps

    @property
    def across(self) -> int:
        """Samples of results in a row of one thread."""
        return VECTOR * self.vectors

    @property
    def out_samples(self) -> int:
        """Samples of results in a row of the block."""
        return 32 * self.across

    @property
    def out_rows(self) -> int:
        """Rows of results of the block."""
        return self.rows * self.warps

    @property
    def window(self) -> int:
        """Samples that a thread reads of an input row for its results in one row, in whole vectors."""
        return whole_vectors(self.shift + self.across + (self.mask_columns - 1) * self.channels)

    @property
    def tile_samples(self) -> int:
        """Samples in a row of the input tile, whole groups of vectors that `vector_index` exchanges."""
        group = VECTOR * (self.mixed + 1)
        return -(-(self.out_samples + self.window - self.across) // group) * group

    @property
    def mixed(self) -> int:
        """The bits of a vector's number in a row that `vector_index` changes.

        Threads whose windows begin an even number of vectors apart would meet in the same banks of shared
        memory.
        """
        return {2: 1, 4: 3, 6: 1}.get(self.vectors, 0)

    def vector_index(self, vector: Any) -> Any:
        """Return where vector number `vector` of a row of the input tile lies in it."""
        return vector ^ (vector >> 3 & self.mixed) if self.mixed else vector

    @property
    def tile_rows(self) -> int:
        """Rows of the input tile."""
        return self.out_rows + self.mask_rows - 1

    @property
    def weight_pitch(self) -> int:
        """Weights from one mask row to the next in constant memory: whole vectors, but for one column."""
        return 1 if self.mask_columns == 1 else whole_vectors(self.mask_columns)

    @property
    def weights(self) -> int:
        """Weights in constant memory, with what fills their rows up."""
        return self.mask_rows * self.weight_pitch

    @property
    def shared_bytes(self) -> int:
        """Bytes of the input tile."""
        return 4 * self.tile_rows * self.tile_samples
