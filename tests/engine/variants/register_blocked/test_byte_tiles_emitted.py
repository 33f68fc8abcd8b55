"""Tiles of bytes: their shapes, and the emitted code on this machine's processor and on plain numbers."""

from typing import Any

import numpy as np
import pytest
from numba import njit

from engine.geometry.border import Border
from engine.variants.register_blocked.byte_accumulator import byte_accumulator
from engine.variants.register_blocked.byte_loader import byte_tile_loader
from engine.variants.register_blocked.byte_tile_shape import PIECE, WORD, ByteTileShape
from tests.engine.variants.on_processor import on_the_processor

RANDOM = np.random.default_rng(3)
# (mask rows, mask columns, channels, samples left of the anchor, words across, rows, warps)
SHAPES = [
    ByteTileShape(5, 5, 1, 2, 2, 3, 2),
    ByteTileShape(3, 3, 1, 1, 1, 4, 4),
    ByteTileShape(5, 5, 3, 6, 4, 2, 4),
    ByteTileShape(2, 4, 3, 0, 3, 2, 2),
    ByteTileShape(4, 7, 4, 24, 1, 1, 2),
]
by_shape = pytest.mark.parametrize("shape", SHAPES, ids=lambda s: f"{s.mask_columns}x{s.channels}")


@by_shape
def test_that_every_load_of_a_window_is_aligned_and_they_cover_what_is_needed(shape: ByteTileShape) -> None:
    assert shape.tile_samples % PIECE == 0
    assert shape.before % PIECE == 0
    covered = [word + k for word, size in shape.loads for k in range(size)]
    assert covered == list(range(shape.words))
    for lane in range(32):
        for word, size in shape.loads:
            assert (shape.first_word + lane * shape.vectors + word) % size == 0
    first = shape.first_word * WORD + shape.shift
    assert first == shape.before - shape.left
    last_needed = first + 31 * shape.across + shape.across - 1 + (shape.mask_columns - 1) * shape.channels
    assert last_needed < WORD * (shape.first_word + 31 * shape.vectors + shape.words) <= shape.tile_samples


def load_on_the_processor(shape: ByteTileShape, border: Border) -> Any:
    """Return `load(tile, image, samples, top, lane, warp, left, ghost_value)`, compiled for this machine."""
    load, threads = on_the_processor(byte_tile_loader(shape, border.rule)), shape.threads

    @njit
    def load_all(tile, image, samples, top, left, ghost_value):
        for thread in range(threads):
            load(tile, image, samples, top, thread % 32, thread // 32, left, ghost_value)

    return load_all


@by_shape
@pytest.mark.parametrize("border", [Border.CONSTANT, Border.REFLECT, Border.WRAP])
def test_that_a_tile_holds_what_the_border_says_wherever_it_lies(
    shape: ByteTileShape, border: Border
) -> None:
    load, channels = load_on_the_processor(shape, border), shape.channels
    # The second one has rows of whole pieces, the third of whole words; in the fourth some tiles lie inside; the last is smaller
    # than the mask.
    for height, width, row_pixels in ((9, 35, 35), (9, 45, 48), (9, 36, 36), (40, 432, 432), (2, 1, 1)):
        samples = width * channels
        image = RANDOM.integers(0, 256, (height, row_pixels, channels)).astype(np.uint8)
        for block_row in range(-(-height // shape.out_rows)):
            for block in range(-(-samples // shape.out_samples)):
                top, left = block_row * shape.out_rows - 1, block * shape.out_samples - shape.before
                tile = np.zeros(shape.shared_bytes + 4 * PIECE, np.uint8)
                load(tile, image, samples, top, left, np.float32(7))
                begin = shape.before - shape.left
                for row in range(shape.tile_rows):
                    y = border.rule(top + row, height)
                    for cell in range(begin, min(shape.tile_samples, samples + shape.right - left)):
                        column, channel = divmod(left + cell, channels)
                        x = border.rule(column, width)
                        wanted = image[y, x, channel] if x >= 0 and y >= 0 else 7
                        assert tile[row * shape.tile_samples + cell] == wanted, (
                            height,
                            width,
                            top,
                            left,
                            row,
                            cell,
                        )
                assert not tile[shape.tile_rows * shape.tile_samples :].any()


@by_shape
def test_that_both_backends_give_the_correlation(shape: ByteTileShape) -> None:
    lane, start = 21, np.float32(3.0)
    tile = RANDOM.integers(0, 256, shape.shared_bytes).astype(np.uint8)
    mask = RANDOM.integers(-9, 10, (shape.mask_rows, shape.mask_columns))
    weights = np.zeros((shape.mask_rows, shape.weight_pitch), np.float32)
    weights[:, : shape.mask_columns] = mask
    accumulate = byte_accumulator(shape)
    emitted = on_the_processor(accumulate)(tile, 0, lane, weights.ravel(), start)
    plain = accumulate.py_func(tile, 0, lane, weights, start)
    rows = tile.reshape(-1, shape.tile_samples).astype(np.int64)
    for place, got in enumerate(emitted):
        i, k = divmod(place, shape.across)
        first = shape.before - shape.left + lane * shape.across + k
        last = first + shape.mask_columns * shape.channels
        wanted = start + int((rows[i : i + shape.mask_rows, first : last : shape.channels] * mask).sum())
        assert float(got) == wanted
        assert float(plain[place]) == wanted
