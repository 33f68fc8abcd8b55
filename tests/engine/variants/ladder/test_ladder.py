"""The ladder's weights in constant memory, `tiled-input`, a warp down a column, 1-D: who loads what."""

import numpy as np
import pytest

from engine.geometry.block import Block, Limits
from engine.geometry.border import Border
from engine.mask.mask import Mask
from engine.work.filter_task import describe_problem
from engine.work.filtering.variants import VARIANTS, MaskClass, variant
from engine.work.problem import Problem
from tests.engine.variants.cases import result_of
from tests.engine.variants.executed import check_executed

BLOCK = Block(8, 4)


def kernel_for(key, mask, border=Border.ZERO):
    problem = Problem(9, 9, 1, "float32", mask.shape, mask.anchor, border)
    return variant(key).passes(problem, mask, BLOCK)[0].kernel


def test_that_kernels_that_are_compared_all_know_the_masks_lengths_when_they_are_compiled_or_none():
    """Where one has straight-line code and another a loop, a table would compare that instead of memories."""
    for keys in [
        "naive constant",
        "tiled-input tiled cached cached-constant",
        "separable-l0 separable-l1 separable-l2",
        "row-naive row-constant row-tiled row-tiled-constant row-cached row-cached-constant",
    ]:
        rows, found = 1 if keys.startswith("row") else 3, set()
        for key in keys.split():
            short, long = (Mask(np.ones((rows, columns))) for columns in (3, 5))
            found.add(kernel_for(key, short) is kernel_for(key, long))
        assert len(found) == 1


@pytest.mark.parametrize("block", [Block(16, 16), Block(8, 3), Block(1, 1)], ids=str)
def test_that_x_counts_rows_and_y_columns_where_a_warp_goes_down_a_column(block):
    chosen = variant("naive-uncoalesced")
    problem = Problem(50, 33, 3, mask_shape=(3, 3), anchor=(1, 1))
    (launch,) = chosen.plan(problem, block)
    assert launch.grid == (-(-50 // block.x), -(-33 // block.y), 3)
    assert launch.block == (block.x, block.y, 1)
    random = np.random.default_rng(7)
    image, mask = random.random((9, 4, 1), np.float32), Mask(random.standard_normal((3, 3)))
    problem = describe_problem(image, mask, Border.ZERO, 0.0)
    check_executed(chosen, problem, mask, image, block)
    assert chosen.work(problem, block) == variant("naive").work(problem, block)


def test_that_a_float64_sum_is_rounded_once():
    # One large sample after many small ones: a float32 sum loses all of these.
    image = np.full((1, 33, 1), 2.0**-24, np.float32)
    image[0, 0] = 1.0
    mask = Mask(np.ones((1, 33)), anchor=(0, 16))
    problem = describe_problem(image, mask, Border.ZERO, 0.0)
    exact = np.float32(1 + 32 * 2.0**-24)
    found = {
        key: result_of(variant(key), problem, mask, Block(16, 1), image)[0, 16, 0]
        for key in ("naive-uncoalesced", "naive")
    }
    assert found["naive-uncoalesced"] == exact
    assert found["naive"] != exact


ROWS = [known for known in VARIANTS if known.masks is MaskClass.ONE_ROW]
every_row_variant = pytest.mark.parametrize("known", ROWS, ids=lambda known: known.key)


# (taps, anchor, border, picture, type, block): the halo is wider than the block, or as wide.
WIDE = [
    (127, 63, Border.MIRROR, (3, 5, 1), "float32", Block(63, 2)),
    (127, 126, Border.CONSTANT, (2, 7, 3), "uint8", Block(126, 3)),
    (126, 63, Border.REFLECT, (1, 70, 1), "uint16", Block(64, 1)),
    (64, 10, Border.ZERO, (2, 130, 1), "float32", Block(53, 1)),
    (127, 0, Border.WRAP, (1, 2, 1), "float32", Block(126, 1)),
]


@pytest.mark.slow
@every_row_variant
def test_that_wide_masks_agree_with_the_oracle_and_with_the_model(known):
    taps, anchor, border, shape, dtype, block = WIDE[ROWS.index(known) % len(WIDE)]
    random = np.random.default_rng([taps, anchor])
    image = random.integers(0, 256, shape).astype(dtype)
    mask = Mask(random.standard_normal((1, taps)), (0, anchor), offset=2.5)
    problem = describe_problem(image, mask, border, 7.0)
    assert known.unsupported(problem, mask, block, Limits()) is None
    check_executed(known, problem, mask, image, block)
