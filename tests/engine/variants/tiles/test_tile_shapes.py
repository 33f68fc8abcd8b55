"""Tiles of float32 and of bytes: what a thread loads at once, and from which banks."""

from dataclasses import replace

from engine.variants.ir.register_tile import VECTOR
from engine.variants.register_blocked.register_blocked import tile_shape
from engine.variants.tiles.byte_tile_shape import PIECE, WORD, byte_shape

# (mask shape, channels, samples left of the anchor, words across, rows, warps)
BYTE_SHAPES = [
    byte_shape((5, 5), 1, 2, 2, 3, 2), byte_shape((3, 3), 1, 1, 1, 4, 4), byte_shape((5, 5), 3, 6, 4, 2, 4),
    byte_shape((2, 4), 3, 0, 3, 2, 2), byte_shape((4, 7), 4, 24, 1, 1, 2),
]  # fmt: skip


def test_that_aligned_loads_cover_what_a_window_needs():
    for shape in BYTE_SHAPES:
        assert shape.tile_samples % PIECE == 0
        assert shape.before % PIECE == 0
        covered = [word + k for word, size in shape.loads for k in range(size)]
        assert covered == list(range(shape.window // WORD))
        for lane in range(32):
            for word, size in shape.loads:
                assert (shape.first_word + lane * shape.vectors + word) % size == 0
        first = shape.first_word * WORD + shape.shift
        assert first == shape.before - shape.left
        last_needed = first + 31 * shape.across + shape.across - 1 + (shape.mask_columns - 1) * shape.channels
        assert (
            last_needed < WORD * (shape.first_word + 31 * shape.vectors) + shape.window <= shape.tile_samples
        )


SHAPES = [tile_shape((side, side), side // 2, 1, 4) for side in (1, 2, 5, 9, 31)]
SHAPES += [tile_shape((5, 7), 0, channels, 1) for channels in (2, 3, 4)]
SHAPES += [replace(tile_shape((7, 7), 3, 1, 4), vectors=vectors, unrolled_rows=2) for vectors in (2, 4)]


def test_that_threads_that_read_at_once_meet_in_no_bank():
    for shape in SHAPES:
        for number in range(shape.window // VECTOR):
            # A quarter of a warp reads its 16 bytes per thread from the 32 banks at once (8 vectors).
            banks = {shape.vector_index(lane * shape.vectors + number) % 8 for lane in range(8)}
            assert len(banks) == 8
