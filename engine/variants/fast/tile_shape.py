"""The shape of a block's work in `register-blocked`, and of rows of a tile that is loaded. Pure integers.

With a tile of float32, integers are converted on their way into it, so a thread has to wait for them, and
reads four bytes of shared memory per sample. Where the tile of an 8-bit picture stays bytes, 16 samples at a
time are copied without waiting, a thread reads four samples with each word and converts each for all its
results. What is added up, and in which order, is the same.
"""

from typing import Any

from engine.variants.passes import VECTOR, Shape, whole_vectors
from engine.work.problem import Problem

# Multiply-adds in a row that the instruction cache of a multiprocessor takes well: 20 KB of code.
MOST_UNROLLED = 1300


class TileShape(Shape):
    """The shape of a block's work. A block computes `rows` x `warps` rows of results."""

    def __init__(
        self,
        mask_shape: tuple[int, int],
        channels: int,
        before: int,
        shift: int = 0,
        vectors: int = 1,
        rows: int = 1,
        warps: int = 1,
    ) -> None:
        self.mask_rows, self.mask_columns = mask_shape
        self.channels = channels
        # Samples of the tile before its results, those left of the anchor in whole vectors; and of a thread's
        # window before the one under the mask's first column.
        self.before, self.shift = before, shift
        # Neighbouring vectors of results in a row of one thread; rows that it holds at once; warps of a
        # block, one above the other.
        self.vectors, self.rows, self.warps = vectors, rows, warps
        self.threads = 32 * warps
        self.across = VECTOR * vectors  # samples of results in a row of one thread
        self.out_samples, self.out_rows = 32 * self.across, rows * warps  # results of the block
        # Samples that a thread reads of an input row for its results in one row, in whole vectors.
        self.window = whole_vectors(shift + self.across + (self.mask_columns - 1) * channels)
        # The bits of a vector's number in a row that `vector_index` changes. Threads whose windows begin an
        # even number of vectors apart would meet in the same banks of shared memory.
        self.mixed = {2: 1, 4: 3, 6: 1}.get(vectors, 0)
        # Samples in a row of the input tile, whole groups of vectors that `vector_index` exchanges.
        group = VECTOR * (self.mixed + 1)
        self.tile_samples = -(-(self.out_samples + self.window - self.across) // group) * group
        self.tile_rows = self.out_rows + self.mask_rows - 1
        self.shared_bytes = 4 * self.tile_rows * self.tile_samples
        # Weights from one mask row to the next in constant memory: whole vectors, but for one column.
        self.weight_pitch = 1 if self.mask_columns == 1 else whole_vectors(self.mask_columns)
        self.weights = self.mask_rows * self.weight_pitch
        # Mask rows that are written one after another: all of them if they are few enough. Else a multiple of
        # the thread's rows, so that the window of input rows needs no moves from one round to the next.
        one = rows * self.across * self.mask_columns
        is_short = self.mask_rows * one <= MOST_UNROLLED
        some_rows = rows * max(1, min(2, MOST_UNROLLED // (one * rows)))
        self.unrolled_rows = self.mask_rows if is_short else some_rows

    def vector_index(self, vector: Any) -> Any:
        """Return where vector number `vector` of a row of the input tile lies in it."""
        return vector ^ (vector >> 3 & self.mixed) if self.mixed else vector


WORD = 4
"""Samples of a word: what a thread reads of shared memory at least."""

PIECE = 16
"""Samples that are copied at once; a tile's rows are whole pieces, and begin on one in the picture."""

WARPS = 4
# By channels: for masks of up to so many rows and columns, the words of results in a row of a thread, and its
# rows: the fastest of what was tried (H200). Each row shares the input rows of the others, but all code has
# to stay in the instruction cache; larger masks, and pixels of two samples, take the kernel for all types.
SHAPES = {1: ((3, 2, 8), (5, 2, 6), (7, 2, 4)), 3: ((3, 4, 4), (5, 2, 8)), 4: ((5, 4, 4),)}


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


class ByteTileShape(TileShape):
    """The shape of a block's work on bytes: `before` is whole pieces, `vectors` are words.

    `left` are the samples left of the anchor: its column x channels.
    """

    def __init__(
        self, mask_shape: tuple[int, int], channels: int, left: int, vectors: int, rows: int
    ) -> None:
        before = -(-left // PIECE) * PIECE
        super().__init__(mask_shape, channels, before, -left % WORD, vectors, rows, WARPS)
        # Samples of the mask left and right of the anchor.
        self.left, self.right = left, (self.mask_columns - 1) * channels - left
        # Where the window of a row's first thread begins in a row of the tile, words.
        self.first_word = (before - left - self.shift) // WORD
        # The loads of a window, (first word, words): as wide as they are aligned for every thread.
        widest = min(4, vectors & -vectors)
        loads = aligned_loads(self.first_word, self.first_word + self.window // WORD, widest)
        self.loads = tuple((word - self.first_word, size) for word, size in loads)
        # Samples, and bytes, in a row of the input tile, whole pieces.
        samples = WORD * self.first_word + self.out_samples - self.across + self.window
        self.tile_samples = -(-samples // PIECE) * PIECE
        self.shared_bytes = self.tile_rows * self.tile_samples
        self.weight_pitch = whole_vectors(self.mask_columns)
        self.weights = self.mask_rows * self.weight_pitch


def byte_tile_shape(problem: Problem) -> ByteTileShape | None:
    """Return the shape of a block's work, or None where a tile of float32 is to be used."""
    if (problem.dtype, problem.result_dtype) != ("uint8", "uint8"):
        return None
    ghost = problem.ghost_value
    if not (0 <= ghost <= 255 and float(ghost).is_integer()):
        return None
    left = problem.anchor[1] * problem.channels
    for most_cells, vectors, rows in SHAPES.get(problem.channels, ()):
        if max(problem.mask_shape) <= most_cells:
            return ByteTileShape(problem.mask_shape, problem.channels, left, vectors, rows)
    return None
