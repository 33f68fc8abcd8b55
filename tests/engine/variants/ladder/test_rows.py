"""The 1-D variants: the lecture's own numbers, who loads which cell, wide masks, and what is refused."""

from dataclasses import dataclass, field

import numpy as np
import pytest

from engine.device.launches import Operand
from engine.geometry.block import Block, Limits
from engine.geometry.border import Border
from engine.mask.mask import MAX_LINE, Mask
from engine.run.resolve import describe_problem
from engine.variants.contract import MaskClass
from engine.variants.registry import VARIANTS, variant
from tests.engine.variants.counting import CountingArray, Counts, count, run_pass
from tests.engine.variants.emitted import check_counted

LIMITS = Limits()
ROWS = [known for known in VARIANTS if known.masks is MaskClass.ONE_ROW]
every_row_variant = pytest.mark.parametrize("known", ROWS, ids=lambda known: known.key)
TILE = Block(8, 1)
FIVE = Mask([[1, 2, 3, 4, 5]])


def row_of(cells, dtype="float32"):
    return np.arange(cells, dtype=dtype).reshape(1, cells, 1)


def work_of(key, cells, border):
    return variant(key).work(describe_problem(row_of(cells), FIVE, border, 0.0), TILE)


@pytest.mark.parametrize(("key", "loads"), [("row-naive", 40), ("row-tiled", 12), ("row-cached", 14)])
def test_that_an_inner_block_of_the_lecture_loads_12_cells_instead_of_40(key, loads):
    # `row-cached`: its own 8, and 2 + 1 taps of halo on each side.
    longer, shorter = (work_of(key, cells, Border.ZERO).picture_loads for cells in (32, 24))
    assert longer - shorter == loads
    # In a picture of one tile that wraps, the only block is an inner one; the source says the same.
    problem = describe_problem(row_of(8), FIVE, Border.WRAP, 0.0)
    assert count(variant(key), problem, FIVE, TILE, row_of(8)).picture_loads == loads
    assert work_of(key, 8, Border.WRAP).picture_loads == loads


@dataclass
class _Recording(CountingArray):
    """A picture that writes down which columns are read, in order."""

    columns: list[int] = field(default_factory=list)

    def __getitem__(self, index):
        self.columns.append(index[1])
        return super().__getitem__(index)


def columns_loaded(mask, width=24):
    """Return the columns that `row-tiled` reads, thread by thread: all its loads lie before the barrier."""
    counts = Counts()
    problem = describe_problem(row_of(width), mask, Border.ZERO, 0.0)
    picture = _Recording(row_of(width), counts, "picture")
    out = CountingArray(np.empty(picture.shape, np.float32), counts, "out")
    (step,) = variant("row-tiled").passes(problem, mask, TILE)
    run_pass(step, counts, {Operand.IMAGE: picture, Operand.OUT: out}, in_order=True)
    return picture.columns


def test_that_the_last_threads_load_the_left_halo_and_the_first_the_right_one():
    # Of each block threads 0 and 1 load right halo cells too, 6 and 7 left halo cells, ghost cells excepted.
    first = [0, 8, 1, 9, 2, 3, 4, 5, 6, 7]
    inner = [8, 16, 9, 17, 10, 11, 12, 13, 6, 14, 7, 15]
    last = [16, 17, 18, 19, 20, 21, 14, 22, 15, 23]
    assert columns_loaded(FIVE) == first + inner + last
    # Each halo is as wide as the anchor says.
    to_the_right = columns_loaded(Mask([[1, 2, 3, 4]], (0, 0)))
    assert to_the_right[:11] == [0, 8, 1, 9, 2, 10, 3, 4, 5, 6, 7]
    to_the_left = columns_loaded(Mask([[1, 2, 3, 4]], (0, 3)))
    assert to_the_left[-11:] == [16, 17, 18, 19, 20, 13, 21, 14, 22, 15, 23]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("taps", "anchor", "border", "shape", "dtype", "block"),
    [
        (127, 63, Border.MIRROR, (3, 5, 1), "float32", Block(63, 2)),
        (127, 0, Border.WRAP, (1, 1, 1), "float32", Block(126, 1)),
        (127, 126, Border.CONSTANT, (2, 7, 3), "uint8", Block(126, 3)),
        (126, 63, Border.REFLECT, (1, 70, 1), "uint16", Block(64, 1)),
        (64, 10, Border.ZERO, (2, 130, 1), "float32", Block(53, 1)),
    ],
    ids=str,
)
@every_row_variant
def test_that_wide_masks_agree_with_the_oracle_and_with_the_model(
    known, taps, anchor, border, shape, dtype, block
):
    random = np.random.default_rng([taps, anchor])
    image = random.integers(0, 256, shape).astype(dtype)
    mask = Mask(random.standard_normal((1, taps)), (0, anchor), offset=2.5)
    problem = describe_problem(image, mask, border, 7.0)
    assert known.unsupported(problem, mask, block, LIMITS) is None
    check_counted(known, problem, mask, image, block)


def refusal_of(known, mask, block, height=9):
    problem = describe_problem(np.zeros((height, 9, 1), np.uint8), mask, Border.ZERO, 0.0)
    return known.unsupported(problem, mask, block, LIMITS)


@pytest.mark.parametrize("wider", ["naive", "tiled", "cached"])
@pytest.mark.parametrize("shape", [(2, 1), (63, 63)], ids=str)
def test_that_a_mask_of_several_rows_is_refused_with_the_2d_kernel_that_takes_it(wider, shape):
    refusal = refusal_of(variant(f"row-{wider}"), Mask(np.ones(shape)), Block(256, 1))
    assert refusal.reason == (
        f"A 1-D kernel takes a mask of one row, and this one has {shape[0]}. Take a mask of one row, or "
        f"{wider}, which does the same with a mask of several rows."
    )
    assert refusal.nearest_block is None
    assert refusal_of(variant(wider), Mask(np.ones(shape)), Block(16, 16)) is None


@pytest.mark.parametrize(("anchor", "wider"), [(4, 4), (0, 8), (8, 8), (6, 6)])
def test_that_a_tile_narrower_than_a_halo_is_refused_and_one_as_wide_is_not(anchor, wider):
    mask, tiled = Mask(np.ones((1, 9)), (0, anchor)), variant("row-tiled")
    assert refusal_of(tiled, mask, Block(wider, 3)) is None
    refusal = refusal_of(tiled, mask, Block(wider - 1, 3))
    assert f"halo of this mask is {wider} cells wide" in refusal.reason
    assert f"a block of {wider - 1} x 3 has {wider - 1} threads across" in refusal.reason
    assert refusal.nearest_block == Block(wider, 3)
    # The others load halos without a tile of their own.
    assert all(refusal_of(known, mask, Block(wider - 1, 3)) is None for known in ROWS if known is not tiled)


def test_that_a_high_narrow_block_is_answered_with_one_that_is_legal_in_both_ways():
    mask, tiled = Mask(np.ones((1, MAX_LINE))), variant("row-tiled")
    nearest = refusal_of(tiled, mask, Block(1, 1024)).nearest_block
    assert nearest.x == 63
    assert refusal_of(tiled, mask, nearest) is None


@every_row_variant
def test_that_a_picture_too_high_for_one_row_a_block_is_answered_with_two(known):
    refusal = refusal_of(known, FIVE, Block(256, 1), height=65_536)
    assert "65,536 rows need 65,536 blocks of 256 x 1 down; CUDA allows 65,535." in refusal.reason
    assert refusal.nearest_block == Block(256, 2)
