"""Strips of float32: the emitted loader on this machine's processor, against the border's rule."""

import numpy as np
import pytest
from numba import njit

from engine.geometry.border import Border
from engine.tasks.filtering.problem import Problem
from engine.variants.low_rank.product_strips import shape_of
from engine.variants.strips.strip_loader import strip_columns, strip_loader
from engine.variants.strips.strip_shape import LANES
from tests.engine.variants.ir.emitted import GHOST, RANDOM, cells_by_rule
from tests.engine.variants.on_processor import on_the_processor

GUARD = 16


@pytest.mark.slow
@pytest.mark.parametrize("border", [Border.CONSTANT, Border.MIRROR, Border.WRAP])
@pytest.mark.parametrize(
    ("dtype", "channels", "side"), [("float32", 1, 9), ("uint8", 3, 7), ("uint16", 2, 6)]
)
def test_that_a_strip_holds_what_the_border_says_wherever_it_lies(dtype, channels, side, border):
    problem = Problem(64, 64, channels, dtype, (side, side), (side // 2, side // 2), border)
    shape = shape_of(problem, 2)
    along, rows = shape.along, shape.group_rows
    columns_of = on_the_processor(strip_columns(along, border.rule))
    load_of_lane = on_the_processor(strip_loader(along, rows, np.dtype(dtype).itemsize, border.rule))

    @njit
    def load(tile, at, image, samples, top, left, ghost_value):
        for lane in range(LANES):
            columns = columns_of(samples, lane, left)
            load_of_lane(tile, at, image, samples, top, lane, left, columns, ghost_value)

    # Rows that begin anywhere; padded ones; a strip that lies inside; smaller than a vector.
    for height, width, row_pixels in ((7, 35, 35), (9, 45, 48), (14, 240, 240), (2, 1, 1)):
        samples = width * channels
        image = RANDOM.integers(0, 256, (height, row_pixels, channels)).astype(dtype)
        for top in (-2, height - rows + 1, height - rows, height - 1):
            for left in range(-along.before, samples, along.out_samples):
                tile = np.full(along.tile_samples * rows + 2 * GUARD, 999, np.float32)
                load(tile, GUARD, image, samples, top, left, np.float32(GHOST))
                wanted = cells_by_rule(image[:, :width], border, top, rows, left, along.tile_samples)
                assert np.array_equal(tile[GUARD:-GUARD].reshape(rows, -1), wanted), (
                    height, width, top, left,
                )  # fmt: skip
                assert np.all(tile[:GUARD] == 999)
                assert np.all(tile[-GUARD:] == 999)
