"""Tiles of bytes: their shapes, and the emitted code on this machine's processor against plain Python.

What only a GPU has (copies that nobody waits for, `bfe`) is replaced by plain instructions; all else is the very code that the
kernel has.
"""

from typing import Any

import numpy as np
import pytest
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from engine.geometry.border import Border
from engine.variants.ir.cuda_ir import F32, I32, constant, moved
from engine.variants.register_blocked import cuda_byte_loader, cuda_byte_walk
from engine.variants.register_blocked.byte_tile_shape import PIECE, WORD, ByteTileShape
from engine.variants.register_blocked.cuda_byte_loader import ByteTileFill
from engine.variants.register_blocked.cuda_byte_walk import ByteWalk, byte_accumulator
from tests.engine.variants.plain_copies import copied_at_once

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

    @intrinsic
    def load(typingctx, tile, image, samples, top, lane, warp, left, ghost_value):
        signature = types.void(tile, image, samples, top, lane, warp, left, ghost_value)

        def codegen(context, builder, signature, arguments):
            ByteTileFill(shape, border.rule, context, builder, signature.args, arguments).emit()
            return context.get_dummy_value()

        return signature, codegen

    threads = shape.threads

    @njit
    def load_all(tile, image, samples, top, left, ghost_value):
        for thread in range(threads):
            load(tile, image, samples, top, thread % 32, thread // 32, left, ghost_value)

    return load_all


@by_shape
@pytest.mark.parametrize("border", [Border.CONSTANT, Border.REFLECT, Border.WRAP])
def test_that_a_tile_holds_what_the_border_says_wherever_it_lies(
    shape: ByteTileShape, border: Border, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cuda_byte_loader, "copy_ahead", copied_at_once)
    monkeypatch.setattr(cuda_byte_loader, "close_group", lambda builder: None)
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


def plainly(builder: ir.IRBuilder, word: ir.Value) -> list[ir.Value]:
    """Do what `converted` does, with shifts and a conversion."""
    moved_down = [builder.lshr(word, constant(8 * byte)) for byte in range(WORD)]
    return [builder.uitofp(builder.and_(number, constant(255)), F32) for number in moved_down]


def walk_on_the_processor(shape: ByteTileShape, lane: int, start: float) -> Any:
    """Return a function of (tile, weights), flat, that runs the emitted walk of one thread on this machine."""
    count = shape.rows * shape.across

    @intrinsic
    def walk(typingctx, tile, weights):
        signature = types.UniTuple(types.float32, count)(tile, weights)

        def codegen(context, builder, signature, arguments):
            tile, weights = (
                context.make_array(kind)(context, builder, value).data
                for kind, value in zip(signature.args, arguments, strict=True)
            )
            first = moved(builder, tile, shape.first_word * WORD + lane * shape.across)
            words = builder.bitcast(first, I32.as_pointer())
            sums = ByteWalk(shape, builder, words, weights, ir.Constant(F32, start)).emit()
            return context.make_tuple(builder, signature.return_type, sums)

        return signature, codegen

    return njit(lambda tile, weights: walk(tile, weights))


@by_shape
def test_that_the_emitted_walk_and_its_plain_twin_give_the_correlation(
    shape: ByteTileShape, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cuda_byte_walk, "converted", plainly)
    lane, start = 21, 3.0
    tile = RANDOM.integers(0, 256, shape.shared_bytes).astype(np.uint8)
    mask = RANDOM.integers(-9, 10, (shape.mask_rows, shape.mask_columns))
    weights = np.zeros((shape.mask_rows, shape.weight_pitch), np.float32)
    weights[:, : shape.mask_columns] = mask
    emitted = walk_on_the_processor(shape, lane, start)(tile, weights.ravel())
    plain = byte_accumulator(shape).py_func(tile, 0, lane, weights, np.float32(start))
    rows = tile.reshape(-1, shape.tile_samples).astype(np.int64)
    for place, got in enumerate(emitted):
        i, k = divmod(place, shape.across)
        first = shape.before - shape.left + lane * shape.across + k
        last = first + shape.mask_columns * shape.channels
        wanted = start + int((rows[i : i + shape.mask_rows, first : last : shape.channels] * mask).sum())
        assert float(got) == wanted
        assert float(plain[place]) == wanted
