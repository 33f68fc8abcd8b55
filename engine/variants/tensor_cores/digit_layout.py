"""What lanes give to multiplications: samples, digits, and whose results the sums are. Pure NumPy.

Source of the layout of digits: PTX ISA 9.7.14.5.8, fragments of `mma.m16n8k32` with 8-bit integers: lane (g,
t) holds of the matrix with 8 columns rows 4 t to 4 t + 3 of column g, and the same of its second half.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from engine.variants.tensor_cores.digit_shape import PIXELS, POSITIONS, DigitShape
from engine.variants.tensor_cores.fragments import with_zero, words_of

Sample = tuple[int, int]
"""A lane's word of samples of one channel: (row of the tile in steps of 4 rows, four of pixels)."""

Samples = tuple[Sample, Sample, Sample, Sample]


@dataclass(frozen=True, slots=True)
class Step:
    """A multiplication: the lane's four words of samples, and the first of its two words of digits."""

    samples: Samples
    first_word: int


@dataclass(frozen=True, slots=True)
class Chain:
    """Multiplications that add to the same four sums, and which of the lane's pixels these are."""

    steps: tuple[Step, ...]
    pixels: tuple[int, int, int, int]


def chains_of(shape: DigitShape) -> list[Chain]:
    """Return what a lane multiplies with one digit in one channel, per pair of results and 2 fours of pixels.

    The two lie half of the lane's fours apart: then fewer words are used twice (of 4, the inner ones by 5
    columns).
    """
    apart = POSITIONS // 2

    def chain(position: int, pair: int) -> Chain:
        halves = shape.half_steps(pair)
        before = len(shape.half_steps(0)) if pair else 0
        steps = []
        for number in range(0, len(halves), 2):
            first = halves[number]
            # Only the last of them may be one of zeros, which may meet any samples.
            assert first is not None
            second = halves[number + 1] or first
            both = ((rows, group + position) for rows, group in (first, second))
            a, b, c, d = ((rows, group + far) for rows, group in both for far in (0, apart))
            steps.append(Step((a, b, c, d), before + number))
        w, x, y, z = (PIXELS * (position + far) + 2 * pair + one for far in (0, apart) for one in (0, 1))
        return Chain(tuple(steps), (w, x, y, z))

    return [chain(position, pair) for position in range(apart) for pair in (0, 1)]


@lru_cache(maxsize=64)
def fragment_cells(shape: DigitShape) -> np.ndarray:
    """Return the mask's cell in each byte, row after row; one past the last for a zero: (lanes, words, 4)."""
    cells = np.full((32, 4 * shape.digit_vectors, 4), shape.mask_rows * shape.mask_columns)
    halves = [(pair, half) for pair in (0, 1) for half in shape.half_steps(pair)]
    for lane in range(32):
        column, row_of_four = divmod(lane, 4)
        result_row, result_of_pair = divmod(column, 2)
        for word, (pair, half) in enumerate(halves):
            if half is None:
                continue
            mask_row = PIXELS * half[0] + row_of_four - result_row
            for byte in range(4):
                result = 2 * pair + result_of_pair
                mask_column = PIXELS * half[1] + byte - result + shape.left_pixels
                if 0 <= mask_row < shape.mask_rows and 0 <= mask_column < shape.mask_columns:
                    cells[lane, word, byte] = mask_row * shape.mask_columns + mask_column
    return cells


def fragments_of(shape: DigitShape, digits: np.ndarray) -> np.ndarray:
    """Return the words of all lanes as they are loaded: flat uint32 (digits, vectors, lanes, 4).

    `digits` has shape (digits, rows, columns), integers of -128 to 255; -1 and 255 are the same byte, which
    the multiplication takes as signed or not.
    """
    count = len(digits)
    flat = with_zero(digits.reshape(count, -1) & 255, np.uint8)
    words = words_of(flat, fragment_cells(shape))
    return np.ascontiguousarray(words.reshape(count, 32, -1, 4).swapaxes(1, 2)).ravel()
