"""The shape of a block's work in `register-blocked`, and of rows of a tile that is loaded. Pure integers.

With a tile of float32, integers are converted on their way into it, so a thread has to wait for them, and
reads four bytes of shared memory per sample. Where the tile of an 8-bit picture stays bytes, 16 samples at a
time are copied without waiting, a thread reads four samples with each word and converts each for all its
results. What is added up, and in which order, is the same.
"""

from dataclasses import dataclass
from typing import Any

from engine.variants.passes import VECTOR, whole_vectors
from engine.work.problem import Problem


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


WORD = 4
"""Samples of a word: what a thread reads of shared memory at least."""

PIECE = 16
"""Samples that are copied at once; a tile's rows are whole pieces, and begin on one in the picture."""

WARPS = 4
# By channels: for masks of up to so many rows and columns, the words of results in a row of a thread, and its
# rows: the fastest of what was tried (H200). Each row shares the input rows of the others, but all code has
# to stay in the instruction cache; larger masks, and pixels of two samples, take the kernel for all types.
SHAPES = {
    1: ((3, 2, 8), (5, 2, 6), (7, 2, 4)),
    3: ((3, 4, 4), (5, 2, 8)),
    4: ((5, 4, 4),),
}


def aligned_loads(first: int, end: int, widest: int) -> list[tuple[int, int]]:
    """Return loads of words `first` to `end` - 1, (first word, words), each aligned to all of its words."""
    loads = []
    while first < end:
        size = widest
        while first % size or first + size > end:
            size //= 2
        loads.append((first, size))
        first += size
    return loads


@dataclass(frozen=True, slots=True)
class ByteTileShape(TileShape):
    """The shape of a block's work on bytes: `before` is whole pieces, `vectors` are words."""

    left: int = 0  # Samples left of the anchor: its column x channels.

    @property
    def right(self) -> int:
        """Samples of the mask right of the anchor."""
        return (self.mask_columns - 1) * self.channels - self.left

    @property
    def first_word(self) -> int:
        """Where the window of a row's first thread begins in a row of the tile, words."""
        return (self.before - self.left - self.shift) // WORD

    @property
    def loads(self) -> tuple[tuple[int, int], ...]:
        """The loads of a window, (first word, words): as wide as they are aligned for every thread."""
        first, widest = self.first_word, min(4, self.vectors & -self.vectors)
        loads = aligned_loads(first, first + self.window // WORD, widest)
        return tuple((word - first, size) for word, size in loads)

    @property
    def tile_samples(self) -> int:
        """Samples, and bytes, in a row of the input tile, whole pieces."""
        samples = WORD * self.first_word + self.out_samples - self.across + self.window
        return -(-samples // PIECE) * PIECE

    @property
    def shared_bytes(self) -> int:
        """Bytes of the input tile."""
        return self.tile_rows * self.tile_samples

    @property
    def weight_pitch(self) -> int:
        """Weights from one mask row to the next in constant memory: in whole vectors."""
        return whole_vectors(self.mask_columns)


def byte_tile_shape(problem: Problem) -> ByteTileShape | None:
    """Return the shape of a block's work, or None where a tile of float32 is to be used."""
    if (problem.dtype, problem.result_dtype) != ("uint8", "uint8"):
        return None
    ghost = problem.ghost_value
    if not (0 <= ghost <= 255 and float(ghost).is_integer()):
        return None
    left, own = problem.anchor[1] * problem.channels, (*problem.mask_shape, problem.channels)
    before = -(-left // PIECE) * PIECE
    for most_cells, vectors, rows in SHAPES.get(problem.channels, ()):
        if max(problem.mask_shape) <= most_cells:
            return ByteTileShape(*own, before, -left % WORD, vectors, rows, WARPS, left=left)
    return None
