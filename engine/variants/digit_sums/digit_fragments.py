"""Where each lane needs which weight: a mask's digits as the words that lanes give to the multiplications. Pure NumPy.

Source of the layout: PTX ISA 9.7.14.5.8, fragments of `mma.m16n8k32` with 8-bit integers: lane (g, t) gives of the matrix with 8
columns the 4 rows from 4 t on of column g, and of its second half the same.
"""

from functools import lru_cache

import numpy as np

from engine.variants.digit_sums.digit_shape import PIXELS, DigitShape


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
    """Return the words of all lanes, as they are loaded.

    Parameters
    ----------
    shape : DigitShape
    digits : ndarray of shape (digits, rows, columns)
        Whole numbers of -128 to 255; a byte is the same for -1 and 255, and which it is the multiplication says.

    Returns
    -------
    ndarray of uint32, flat: (digits, vectors, lanes, 4)
    """
    count = len(digits)
    flat = np.zeros((count, shape.mask_rows * shape.mask_columns + 1), np.uint8)
    flat[:, :-1] = digits.reshape(count, -1) & 255
    words = np.ascontiguousarray(flat[:, fragment_cells(shape)]).view(np.uint32)
    return np.ascontiguousarray(words.reshape(count, 32, -1, 4).swapaxes(1, 2)).ravel()


@lru_cache(maxsize=512)
def cell_places(shape: DigitShape, first_lane: int) -> tuple[tuple[int, int, int], ...]:
    """Return where four lanes, from a multiple of 4 on, have each cell: (lane, word, byte) of the first place, row after row."""
    cells = fragment_cells(shape)[first_lane : first_lane + 4]
    found = (np.argwhere(cells == cell)[0] for cell in range(shape.mask_rows * shape.mask_columns))
    return tuple((first_lane + int(lane), int(word), int(byte)) for lane, word, byte in found)
