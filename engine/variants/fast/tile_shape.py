"""The shapes of a block's work: which samples it loads, which results it and its threads have. Pure integers.

With a tile of float32, integers are converted on their way into it, so a thread has to wait for them, and
reads four bytes of shared memory per sample. Where the tile of an 8-bit picture stays bytes, 16 samples at a
time are copied without waiting, a thread reads four samples with each word and converts each for all its
results. What is added up, and in which order, is the same.

Where digits of weights are summed on tensor cores, one multiplication (`mma.m16n8k32`) has 16 rows, 8
columns and 32 products per sum. A row is a position in the picture: 8 lanes along a row of it, each with two
fours of pixels of one channel. A column is one of 2 neighbouring results in 4 rows, one below the other. The
32 products are two halves: each 4 pixels of 4 rows, the same ones counted from every position. So a lane
multiplies samples that it loaded itself, and two of them with each piece of the mask make 4 rows of results
of all 16 fours.

A lane (g, t) = (lane / 4, lane modulo 4) holds samples of rows t, t + 4, ... of the tile, and gets results of
row t. Of the matrix with 8 columns it holds rows 4 t to 4 t + 3 of column g, and the same of its second half
(PTX ISA 9.7.14.5.8, fragments of `mma.m16n8k32` with 8-bit integers).
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from engine.variants.passes import VECTOR, Shape, whole_vectors
from engine.work.problem import Problem

WARPS = 4
"""Warps of a block, one above the other."""
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


LANES = 32
SHARED_BYTES = 48 * 1024


class BlockSize(NamedTuple):
    """The results of a block and of its threads."""

    out_samples: int  # Results per row, 128 at most.
    results: int  # Neighbouring results that a thread filters along a row.
    rows: int  # Rows of results that a thread filters down its columns.
    columns: int  # Its neighbouring columns, 4 or 1.
    warps: int
    is_ring: bool = True  # whether the block moves down; else it takes one step.


@dataclass(frozen=True, slots=True)
class Windows:
    """Neighbouring windows of a line whose cells lie some samples apart."""

    length: int  # Cells of a window.
    apart: int  # Samples from one cell to the next: channels of a row, or columns of a thread.
    count: int  # Windows, each beginning one sample after the one before it; at least `apart`.

    @property
    def samples(self) -> int:
        """Samples under all windows."""
        return self.count + (self.length - 1) * self.apart

    @property
    def groups(self) -> list[range]:
        """Windows that have cells in common, and are summed together."""
        neighbours = -(-self.count // self.apart)
        groups = -(-neighbours // self.length)
        size = -(-neighbours // groups) * self.apart
        return [range(first, min(first + size, self.count)) for first in range(0, self.count, size)]

    @property
    def weighed(self) -> int:
        """How often a cell is multiplied by the weight as it enters a sum."""
        return sum(min(self.apart, len(group)) * (self.length - 1) + len(group) for group in self.groups)


class FusedShape(Shape):
    """The shape of a block's work on a problem.

    `rank` is the number of columns times rows, with their weights in constant memory; 0: all weights are one.
    """

    def __init__(self, problem: Problem, rank: int, size: BlockSize) -> None:
        self.size, self.rank, self.channels = size, rank, problem.channels
        results, is_ring = size.results, size.is_ring
        mask_rows, mask_columns = problem.mask_shape
        self.products = max(rank, 1)  # filtered rows that each input row makes
        # Whether filtered rows lie where their samples were.
        self.is_in_place = not is_ring and self.products == 1
        # Samples of an input row before the first result: those left of the anchor, in whole vectors; from a
        # vector to the first one under a thread's windows along a row.
        left = problem.anchor[1] * problem.channels
        self.before = whole_vectors(left)
        self.shift = self.before - left
        # The windows of a thread's results along a row, and down its columns, row after row.
        self.along = Windows(mask_columns, problem.channels, results)
        self.down = Windows(mask_rows, size.columns, size.rows * size.columns)
        self.read = whole_vectors(self.shift + self.along.samples)  # samples that a thread reads along a row
        # Rows that are filtered at once along themselves, by a warp and by the block.
        self.warp_rows = LANES * results // size.out_samples
        self.round_rows = size.warps * self.warp_rows
        self.column_threads = size.out_samples // size.columns  # side by side when columns are filtered
        self.step_rows = size.rows * LANES * size.warps // self.column_threads  # of results of the block
        # Input rows loaded at once: of a ring a step's, of a tile all, in whole rounds of a warp.
        under = self.step_rows + mask_rows - 1
        self.lot_rows = self.step_rows if is_ring else -(-under // self.warp_rows) * self.warp_rows
        # Samples of an input row: an odd number of vectors, against bank conflicts among 8 threads.
        samples = max(size.out_samples - results + self.read, LANES * VECTOR)
        self.pitch = samples + (VECTOR if samples % (2 * VECTOR) == 0 else 0)
        # The input rows, as they are loaded.
        beyond = self.pitch - LANES * VECTOR
        self.input = TileShape((1, 1), problem.channels, self.before, beyond, warps=size.warps)
        # Filtered rows: those of other products lie beside one. Of a ring those under all windows of a step.
        self.kept_pitch = self.pitch if self.is_in_place else self.products * size.out_samples + VECTOR
        self.kept_at = 0 if self.is_in_place else self.lot_rows * self.pitch
        self.kept_rows = -(-under // size.rows) * size.rows if is_ring else self.lot_rows
        # Steps of a ring before the first results, and rows above the first window that the first one loads.
        self.early_steps = -(-(mask_rows - 1) // self.step_rows) if is_ring else 0
        self.early_rows = self.early_steps * self.step_rows - mask_rows + 1 if is_ring else 0
        self.shared_cells = self.kept_at + self.kept_rows * self.kept_pitch
        self.shared_bytes = 4 * self.shared_cells
        # Weights in constant memory: rows of whole vectors, then the columns.
        self.row_weights = whole_vectors(mask_columns)
        self.weights = rank * self.row_weights + whole_vectors(rank * mask_rows)

    @property
    def multiply_adds(self) -> float:
        """About how many a result of a tile takes, with those of warps that are idle meanwhile."""
        filtered = -(-self.lot_rows // self.round_rows) * self.round_rows
        return filtered * self.along.length / self.step_rows + self.down.length

    def steps(self, rows: int) -> int:
        """Return how often a block with so many rows of results loads `lot_rows` input rows."""
        return -(-rows // self.step_rows) + self.early_steps if self.size.is_ring else 1


def first_fitting(problem: Problem, rank: int, sizes: Iterable[BlockSize]) -> FusedShape:
    """Return the shape with the first of some sizes that there is shared memory for, else with the last."""
    *others, last = (FusedShape(problem, rank, size) for size in sizes)
    return next((one for one in others if one.shared_bytes <= SHARED_BYTES), last)


PIXELS = 4
"""Neighbouring pixels of one channel in a word, and rows of results that four lanes share."""

POSITIONS = 4
"""Fours of pixels in a row of one lane: 16 bytes per channel, the most that it stores at once."""

Sample = tuple[int, int]
"""A lane's word of samples of one channel: (row of the tile in steps of 4 rows, four of pixels)."""


class ProductStep(NamedTuple):
    """A multiplication: the lane's four words of samples, and the first of its two words of digits."""

    samples: tuple[Sample, Sample, Sample, Sample]
    first_word: int


class ProductChain(NamedTuple):
    """Multiplications that add to the same four sums, and which of the lane's pixels these are."""

    steps: list[ProductStep]
    pixels: tuple[int, int, int, int]


class DigitShape(Shape):
    """The shape of a block's work; `left_pixels` are columns left of the anchor."""

    def __init__(self, mask_shape: tuple[int, int], channels: int, left_pixels: int) -> None:
        self.mask_rows, self.mask_columns = mask_shape
        self.channels, self.left_pixels = channels, left_pixels
        # Fours of rows that a warp computes one after another, which share the rows of a tile around them.
        # On several channels nothing was gained (RGB 5 x 5, H200: 59.5 us with two rounds, 58.0 with one).
        self.rounds = 4 if channels == 1 else 1
        # Registers that a lane is granted, as measured (H200); None where the compiler decides. By itself it
        # takes fewer, and loads digits only when they are multiplied. On one channel more blocks make up for
        # that up to 9 x 9, on several up to 5 x 5 (RGB 3 x 3, one digit: 44 instead of 47 us with 96). Masks
        # longer than 11 cells need more than these.
        limits = {9: None, 11: 128} if channels == 1 else {5: None, 9: 128, 11: 168}
        longest = max(mask_shape)
        self.registers = next((registers for side, registers in limits.items() if longest <= side), None)
        self.threads = 32 * WARPS
        self.across = PIXELS * POSITIONS * channels  # samples of results in a row of one lane
        self.out_samples = 8 * self.across  # samples of results in a row of a warp and of the block
        self.out_rows = WARPS * self.rounds * PIXELS  # rows of results of the block
        # The pixels of a row that a lane's results need, counted from its first one, and the fours of these.
        self.pixels = range(-left_pixels, PIXELS * POSITIONS + self.mask_columns - 1 - left_pixels)
        self.pixel_groups = range(self.pixels.start // PIXELS, -(-self.pixels.stop // PIXELS))
        # Samples left and right of the anchor; of the tile before the results: the former, in whole pieces.
        self.left = left_pixels * channels
        self.right = (self.mask_columns - 1) * channels - self.left
        self.before = -(-self.left // PIECE) * PIECE
        self.tile_rows = self.out_rows + self.mask_rows - 1  # that a result needs
        # Samples, and bytes, in a row of the tile: an odd multiple of 32. Then 16 bytes of each of 8 lanes
        # that are served at once, 2 in each of 4 rows, lie in different banks.
        self.tile_samples = 32 * (-(-(self.before + self.out_samples + self.right) // 32) | 1)
        # Fours of rows that lie under one four of rows of results.
        self.fours_of_rows = -(-(self.mask_rows + 3) // PIXELS)
        # The tile, and rows after it that are only multiplied by zeros.
        self.shared_bytes = (self.out_rows + PIXELS * (self.fours_of_rows - 1)) * self.tile_samples
        # Loads of 4 words of one digit of the weights that a lane multiplies with.
        self.digit_vectors = -(-sum(len(self.half_steps(pair)) for pair in (0, 1)) // 4)

    def half_steps(self, pair: int) -> list[Sample | None]:
        """Return the halves of the multiplications for results 2 pair and 2 pair + 1 of each four, in pairs.

        None is a half of zeros. Where possible both halves of a multiplication are fours of rows of one
        column: then others use the same words.
        """
        first = 2 * pair - self.left_pixels
        groups = range(first // PIXELS, (first + self.mask_columns) // PIXELS + 1)
        paired = self.fours_of_rows // 2 * 2
        halves: list[Sample | None] = [
            (rows + below, group) for group in groups for rows in range(0, paired, 2) for below in (0, 1)
        ]
        halves += [(paired, group) for group in groups if self.fours_of_rows % 2]
        return [*halves, None] if len(halves) % 2 else halves

    def sources(self, group: int, channel: int) -> list[tuple[int, int] | None]:
        """Return the (word, byte) of the 4 samples of a four of pixels, counted from the lane's first result.

        None for samples that no result needs.
        """
        return [
            divmod(self.channels * pixel + channel, 4) if pixel in self.pixels else None
            for pixel in range(PIXELS * group, PIXELS * (group + 1))
        ]

    def loads_of(self, channel: int) -> list[tuple[int, int]]:
        """Return the loads of a row of the tile that a lane needs for a channel, (first word, words).

        They are those of all channels, as wide as every lane's alignment allows.
        """
        first, end = self.pixels.start * self.channels // 4, -(-self.pixels.stop * self.channels // 4)
        needed = {(self.channels * pixel + channel) // 4 for pixel in self.pixels}
        loads = aligned_loads(first, end, math.gcd(self.across // 4, 4))
        return [load for load in loads if needed & set(range(load[0], sum(load)))]


def chains_of(shape: DigitShape) -> list[ProductChain]:
    """Return what a lane multiplies with one digit in one channel, per pair of results and 2 fours of pixels.

    The two lie half of the lane's fours apart: then fewer words are used twice (of 4, the inner ones by 5
    columns).
    """
    apart = POSITIONS // 2

    def chain(position: int, pair: int) -> ProductChain:
        halves = shape.half_steps(pair)
        before, steps = len(shape.half_steps(0)) * pair, []
        for number in range(0, len(halves), 2):
            first, second = halves[number : number + 2]
            # Only the last one may be of zeros, which may meet any samples.
            assert first is not None
            both = [(rows, group + position) for rows, group in (first, second or first)]
            a, b, c, d = ((rows, group + far) for rows, group in both for far in (0, apart))
            steps.append(ProductStep((a, b, c, d), before + number))
        w, x, y, z = (PIXELS * (position + far) + 2 * pair + one for far in (0, apart) for one in (0, 1))
        return ProductChain(steps, (w, x, y, z))

    return [chain(position, pair) for position in range(apart) for pair in (0, 1)]


@lru_cache(maxsize=64)
def fragment_cells(shape: DigitShape) -> np.ndarray:
    """Return the mask's cell in each byte, row after row; one past the last for a zero: (lanes, words, 4)."""
    nothing = shape.mask_rows * shape.mask_columns
    cells = np.full((32, 4 * shape.digit_vectors, 4), nothing)
    result_row, result_of_pair, row_of_four = np.unravel_index(np.arange(32)[:, None], (4, 2, 4))
    halves = [(pair, half) for pair in (0, 1) for half in shape.half_steps(pair)]
    for word, (pair, half) in enumerate(halves):
        if half is None:
            continue
        rows = PIXELS * half[0] + row_of_four - result_row
        columns = PIXELS * half[1] + np.arange(4) - 2 * pair - result_of_pair + shape.left_pixels
        is_cell = (rows >= 0) & (rows < shape.mask_rows) & (columns >= 0) & (columns < shape.mask_columns)
        cells[:, word] = np.where(is_cell, rows * shape.mask_columns + columns, nothing)
    return cells


def fragments_of(shape: DigitShape, digits: np.ndarray) -> np.ndarray:
    """Return the words of all lanes as they are loaded: flat uint32 (digits, vectors, lanes, 4).

    `digits` has shape (digits, rows, columns), integers of -128 to 255; -1 and 255 are the same byte, which
    the multiplication takes as signed or not.
    """
    count = len(digits)
    # One cell past the last is a zero.
    padded = np.pad((digits.reshape(count, -1) & 255).astype(np.uint8), ((0, 0), (0, 1)))
    words = np.ascontiguousarray(padded[:, fragment_cells(shape)]).view(np.uint32)
    return np.ascontiguousarray(words.reshape(count, 32, -1, 4).swapaxes(1, 2)).ravel()
