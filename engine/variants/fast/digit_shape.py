"""The shape of a block's work where digits of weights are summed on tensor cores. Pure integers.

One multiplication (`mma.m16n8k32`) has 16 rows, 8 columns and 32 products per sum. A row is a position in the
picture: 8 lanes along a row of it, each with two fours of pixels of one channel. A column is one of 2
neighbouring results in 4 rows, one below the other. The 32 products are two halves: each 4 pixels of 4 rows,
the same ones counted from every position. So a lane multiplies samples that it loaded itself, and two of them
with each piece of the mask make 4 rows of results of all 16 fours.

A lane (g, t) = (lane / 4, lane modulo 4) holds samples of rows t, t + 4, ... of the tile, and gets results of
row t. Of the matrix with 8 columns it holds rows 4 t to 4 t + 3 of column g, and the same of its second half
(PTX ISA 9.7.14.5.8, fragments of `mma.m16n8k32` with 8-bit integers).
"""

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from engine.variants.fast.tile_shape import PIECE, aligned_loads
from engine.variants.passes import Shape

PIXELS = 4
"""Neighbouring pixels of one channel in a word, and rows of results that four lanes share."""

POSITIONS = 4
"""Fours of pixels in a row of one lane: 16 bytes per channel, the most that it stores at once."""

WARPS = 4
"""Warps of a block, one above the other."""

Sample = tuple[int, int]
"""A lane's word of samples of one channel: (row of the tile in steps of 4 rows, four of pixels)."""


class Step(NamedTuple):
    """A multiplication: the lane's four words of samples, and the first of its two words of digits."""

    samples: tuple[Sample, Sample, Sample, Sample]
    first_word: int


class Chain(NamedTuple):
    """Multiplications that add to the same four sums, and which of the lane's pixels these are."""

    steps: list[Step]
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


def chains_of(shape: DigitShape) -> list[Chain]:
    """Return what a lane multiplies with one digit in one channel, per pair of results and 2 fours of pixels.

    The two lie half of the lane's fours apart: then fewer words are used twice (of 4, the inner ones by 5
    columns).
    """
    apart = POSITIONS // 2

    def chain(position: int, pair: int) -> Chain:
        halves = shape.half_steps(pair)
        before, steps = len(shape.half_steps(0)) * pair, []
        for number in range(0, len(halves), 2):
            first, second = halves[number : number + 2]
            # Only the last one may be of zeros, which may meet any samples.
            assert first is not None
            both = [(rows, group + position) for rows, group in (first, second or first)]
            a, b, c, d = ((rows, group + far) for rows, group in both for far in (0, apart))
            steps.append(Step((a, b, c, d), before + number))
        w, x, y, z = (PIXELS * (position + far) + 2 * pair + one for far in (0, apart) for one in (0, 1))
        return Chain(steps, (w, x, y, z))

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
