"""Tiles of float32: the emitted loader and store of rows on this machine's processor, against the border's rule."""

from typing import Any

import numpy as np
import pytest
from numba import njit

from engine.geometry.border import Border
from engine.variants.ir.register_tile import VECTOR, TileShape
from engine.variants.register_blocked.accumulator import row_store
from engine.variants.register_blocked.tile_loader import tile_loader
from tests.engine.variants.on_processor import on_the_processor

RANDOM = np.random.default_rng(9)
# (mask rows, mask columns, channels, samples before, shift, vectors, rows, warps, steps, unrolled rows, lanes), rows that are
# loaded, and the picture's type.
TILES = [
    (TileShape(1, 9, 1, 4, 0, 4, 1, 2, 1, 1, 8), 9, "float32"),
    (TileShape(1, 5, 3, 8, 2, 2, 1, 4, 1, 1, 16), 8, "uint8"),
    (TileShape(3, 4, 1, 4, 2, 1, 2, 2, 1, 3), 6, "float32"),
    (TileShape(3, 3, 4, 4, 0, 3, 1, 2, 1, 3), 5, "uint16"),
]
by_tile = pytest.mark.parametrize(
    ("shape", "rows", "dtype"), TILES, ids=[f"{tile[0].vectors} vectors" for tile in TILES]
)
GUARD = 16


def load_on_the_processor(shape: TileShape, rows: int, itemsize: int, border: Border) -> Any:
    """Return `load(tile, at, image, samples, top, left, ghost_value)`, all threads of a block, compiled for this machine."""
    load, threads = on_the_processor(tile_loader(shape, rows, itemsize, border.rule)), shape.threads

    @njit
    def load_all(tile, at, image, samples, top, left, ghost_value):
        for thread in range(threads):
            load(tile, at, image, samples, top, thread % 32, thread // 32, left, ghost_value)

    return load_all


@by_tile
@pytest.mark.parametrize("border", [Border.CONSTANT, Border.MIRROR])
def test_that_a_tile_holds_what_the_border_says_wherever_it_lies(
    shape: TileShape, rows: int, dtype: str, border: Border
) -> None:
    load, channels = load_on_the_processor(shape, rows, np.dtype(dtype).itemsize, border), shape.channels
    # Rows that begin anywhere; padded ones; some tiles lie inside; smaller than a vector.
    for height, width, row_pixels in ((7, 35, 35), (7, 45, 48), (14, 480, 480), (2, 1, 1)):
        samples = width * channels
        image = RANDOM.integers(0, 256, (height, row_pixels, channels)).astype(dtype)
        # The second one ends a row below the picture, the third one with it.
        for top in (-2, height - rows + 1, height - rows, height - 1):
            ys = [border.rule(top + row, height) for row in range(rows)]
            for left in range(-shape.before, samples, shape.out_samples):
                tile = np.full(shape.tile_samples * rows + 2 * GUARD, 999, np.float32)
                load(tile, GUARD, image, samples, top, left, np.float32(7))
                cells = tile[GUARD:-GUARD].reshape(rows, -1)
                for cell in range(shape.tile_samples):
                    column, channel = divmod(left + cell, channels)
                    x = border.rule(column, width)
                    place = shape.vector_index(cell // VECTOR) * VECTOR + cell % VECTOR
                    wanted = [image[y, x, channel] if x >= 0 and y >= 0 else 7 for y in ys]
                    assert cells[:, place].tolist() == wanted, (height, width, top, left, cell)
                assert np.all(tile[:GUARD] == 999)
                assert np.all(tile[-GUARD:] == 999)


@by_tile
def test_that_the_values_of_a_lane_are_kept_where_the_tile_has_its_columns(
    shape: TileShape, rows: int, dtype: str
) -> None:
    keep = row_store(shape)
    run = on_the_processor(keep)
    values = RANDOM.random((shape.lanes, shape.across)).astype(np.float32)
    emitted = np.full((3, shape.tile_samples), 999, np.float32)
    plain = emitted.copy()
    wanted = emitted.copy()
    for lane in range(shape.lanes):
        own = tuple(values[lane])
        run(emitted.ravel(), shape.tile_samples, lane, own)
        keep.py_func(plain.ravel(), shape.tile_samples, lane, own)
        for k in range(shape.across):
            column = lane * shape.across + k
            place = shape.vector_index(column // VECTOR) * VECTOR + column % VECTOR
            wanted[1, place] = values[lane, k]
    assert np.array_equal(emitted, wanted)
    assert np.array_equal(plain, wanted)
