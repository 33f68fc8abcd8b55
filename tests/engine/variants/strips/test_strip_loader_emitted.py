"""Strips of float32: the emitted loader on this machine's processor, against the border's rule."""

from typing import Any

import numpy as np
import pytest
from numba import njit

from engine.geometry.border import Border
from engine.tasks.filtering.problem import Problem
from engine.variants.separable_fused.fused_strips import shape_of
from engine.variants.strips.strip_loader import strip_columns, strip_loader
from engine.variants.strips.strip_shape import LANES, FactorStripShape
from tests.engine.variants.on_processor import on_the_processor

RANDOM = np.random.default_rng(11)
GUARD = 16
GHOST = 7


def wanted(image: np.ndarray, border: Border, y: int, sample: int) -> int:
    """Return what stands at a row and a sample of it, in the picture or outside."""
    height, width, channels = image.shape
    column, channel = divmod(sample, channels)
    row, column = border.rule(y, height), border.rule(column, width)
    return GHOST if min(row, column) < 0 else int(image[row, column, channel])


def strip_on_the_processor(shape: FactorStripShape, itemsize: int, border: Border) -> Any:
    """Return `load(tile, at, image, samples, top, left, ghost_value)`, all lanes of a warp."""
    columns_of = on_the_processor(strip_columns(shape.along, border.rule))
    load = on_the_processor(strip_loader(shape.along, shape.group_rows, itemsize, border.rule))

    @njit
    def load_all(tile, at, image, samples, top, left, ghost_value):
        for lane in range(LANES):
            columns = columns_of(samples, lane, left)
            load(tile, at, image, samples, top, lane, left, columns, ghost_value)

    return load_all


@pytest.mark.parametrize("border", [Border.CONSTANT, Border.MIRROR, Border.WRAP])
@pytest.mark.parametrize(
    ("dtype", "channels", "side"), [("float32", 1, 9), ("uint8", 3, 7), ("uint16", 2, 6)]
)
def test_that_a_strip_holds_what_the_border_says_wherever_it_lies(
    dtype: str, channels: int, side: int, border: Border
) -> None:
    problem = Problem(64, 64, channels, dtype, (side, side), (side // 2, side // 2), border)
    shape = shape_of(problem, 2)
    load = strip_on_the_processor(shape, np.dtype(dtype).itemsize, border)
    along, rows = shape.along, shape.group_rows
    # Rows that begin anywhere; padded ones; a strip that lies inside; smaller than a vector.
    for height, width, row_pixels in ((7, 35, 35), (9, 45, 48), (14, 240, 240), (2, 1, 1)):
        samples = width * channels
        image = RANDOM.integers(0, 256, (height, row_pixels, channels)).astype(dtype)
        for top in (-2, height - rows + 1, height - rows, height - 1):
            for left in range(-along.before, samples, along.out_samples):
                tile = np.full(along.tile_samples * rows + 2 * GUARD, 999, np.float32)
                load(tile, GUARD, image, samples, top, left, np.float32(GHOST))
                cells = tile[GUARD:-GUARD].reshape(rows, -1)
                for row, cell in np.ndindex(cells.shape):
                    right = wanted(image[:, :width], border, top + row, left + cell)
                    assert cells[row, cell] == right, (height, width, top, left, row, cell)
                assert np.all(tile[:GUARD] == 999)
                assert np.all(tile[-GUARD:] == 999)
