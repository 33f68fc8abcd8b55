"""The reference implementation of `digit_filter.py` in plain Python, which sums digits as integers too.

Four lanes exchange samples and digits in the multiplications, so the first of them does the work of all four.
"""

from collections.abc import Callable
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from engine.variants.digit_sums.digit_layout import cell_places
from engine.variants.digit_sums.digit_shape import PIXELS, POSITIONS, DigitShape
from engine.variants.ir.plain import PLAIN
from engine.variants.ir.quantise import stored_samples
from engine.variants.register_blocked.result_storer import store_block


def digit_sums_in_turn(shape: DigitShape) -> Callable[..., None]:
    """Return the reference of `digit_filter(shape)`; its results do not pass through the stage."""

    def filter_(
        tile: Any, at: int, lane: int, stage: int, fragments: Any, digits: int, unit: Any, offset: Any,
        out: Any, row: int, sample: int, samples: int,
    ) -> None:  # fmt: skip
        if lane % 4:
            return
        across = lane // 4 * shape.across
        results = np.zeros((PIXELS, PIXELS * POSITIONS, shape.channels), np.float32)
        for channel in range(shape.channels):
            cells = _cells(shape, tile, at + across, channel)
            totals = _totals(shape, cells, fragments, digits, lane)
            # In float64 one rounding is left, that of the multiply-add.
            results[..., channel] = totals.astype(np.float64) * float(unit) + float(offset)
        for row_of_four in range(PIXELS):
            own = stored_samples(PLAIN, list(results[row_of_four].ravel()), 1)
            store_block(PLAIN, out, row + row_of_four, sample + across, samples, own, 1, shape.across)

    return filter_


def _totals(shape: DigitShape, cells: np.ndarray, fragments: Any, digits: int, lane: int) -> np.ndarray:
    """Return float32 sums for four lanes in a channel: (rows, pixels), in units of the top digit."""
    alone = digits % 2
    totals = np.zeros((PIXELS, PIXELS * POSITIONS), np.float32)
    if alone:
        totals = _sums(shape, cells, _digit(shape, fragments, 0, lane)).astype(np.float32)
    for upper in range(alone, digits, 2):
        lower = [byte & 255 for byte in _digit(shape, fragments, upper + 1, lane)]
        both = 256.0 * _sums(shape, cells, _digit(shape, fragments, upper, lane)) + _sums(shape, cells, lower)
        unit = 256.0 ** -(upper + 1)
        totals = (both.astype(np.float32).astype(np.float64) * unit + totals).astype(np.float32)
    return totals


def _cells(shape: DigitShape, tile: Any, at: int, channel: int) -> np.ndarray:
    """Return the samples of one channel that four lanes load: (rows of the tile, columns)."""
    loads = shape.loads_of(channel)
    samples = [
        4 * word + byte for first, count in loads for word in range(first, first + count) for byte in range(4)
    ]
    loaded = [
        {sample: tile[at + row * shape.tile_samples + sample] for sample in samples}
        for row in range(PIXELS * shape.fours_of_rows)
    ]
    first = channel - shape.left
    columns = range(first, first + shape.across + shape.left + shape.right, shape.channels)
    cells = np.array([[row[sample] for sample in columns] for row in loaded])
    # The counting tests have numbers of their own in there.
    return cells.astype(np.int64) if cells.dtype == np.uint8 else cells


def _digit(shape: DigitShape, fragments: Any, number: int, first_lane: int) -> list[int]:
    """Return one digit of all weights, -128 to 127, row after row, from the words that four lanes load."""
    vectors = shape.digit_vectors
    words = {
        (lane, word): int(fragments[((number * vectors + word // 4) * 32 + lane) * 4 + word % 4])
        for lane in range(first_lane, first_lane + 4)
        for word in range(4 * vectors)
    }
    of_cells = ((words[lane, word] >> 8 * byte) & 255 for lane, word, byte in cell_places(shape, first_lane))
    return [(byte ^ 128) - 128 for byte in of_cells]


def _sums(shape: DigitShape, cells: np.ndarray, weights: list[int]) -> np.ndarray:
    """Return a digit's sums for the pixels of four lanes in a channel: (rows, pixels), exact in float64."""

    def products(number: int) -> np.ndarray:
        m, n = divmod(number, shape.mask_columns)
        return weights[number] * cells[m : m + PIXELS, n : n + PIXELS * POSITIONS]

    # Not `sum`: the counting tests count additions to its 0.
    return reduce(add, map(products, range(len(weights)))).astype(np.float64)
