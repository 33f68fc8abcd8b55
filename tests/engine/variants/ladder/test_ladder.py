"""The ladder's weights in constant memory, `tiled-input`, a warp down a column, 1-D: who loads what."""

import itertools
from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest

from engine.device.launches import Operand
from engine.geometry.block import Block, Limits
from engine.geometry.border import Border
from engine.mask.mask import MAX_LINE, MAX_SIDE, Mask
from engine.variants.ladder import tiled_input
from engine.work.filter_task import describe_problem
from engine.work.filtering.problem import Problem
from engine.work.filtering.variants import VARIANTS, MaskClass, variant
from tests.engine.variants.cases import result_of
from tests.engine.variants.executed import check_executed, observed

BLOCK = Block(8, 4)


def kernel_for(key, mask, border=Border.ZERO):
    problem = Problem(9, 9, 1, "float32", mask.shape, mask.anchor, border)
    return variant(key).passes(problem, mask, BLOCK)[0].kernel


def test_that_an_array_of_the_largest_mask_or_of_the_masks_own_shape_holds_the_weights():
    for key, shape, wanted in [
        ("constant", (1, 1), 15_876),
        ("constant", (MAX_SIDE, MAX_SIDE), 15_876),
        ("constant", (MAX_LINE, 1), 15_876),
        ("row-constant", (1, 1), 508),
        ("row-constant", (1, MAX_LINE), 508),
        ("cached-constant", (1, 1), 4),
        ("row-tiled-constant", (1, 3), 508),
        ("row-cached-constant", (1, 3), 508),
        ("cached-constant", (5, 5), 100),
        ("cached-constant", (MAX_SIDE, MAX_SIDE), 15_876),
    ]:
        random = np.random.default_rng(5)
        mask = Mask(random.standard_normal(shape))
        problem = Problem(9, 9, mask_shape=shape, anchor=mask.anchor)
        (step,) = variant(key).passes(problem, mask, BLOCK)
        assert step.launch == variant(key).plan(problem, BLOCK)[0]
        assert step.launch.constant_bytes == step.constant[1].nbytes == wanted <= 64 * 1024
        assert np.array_equal(step.constant[1][: mask.taps], mask.weights32.ravel())


def test_that_an_edited_mask_has_the_same_kernel():
    mask = Mask(np.arange(25.0).reshape(5, 5))
    edited = mask.with_weight(2, 2, 0.5)
    for key in ("constant", "cached-constant"):
        assert kernel_for(key, mask) is kernel_for(key, edited)
        assert kernel_for(key, mask) is not kernel_for(key, mask, Border.WRAP)
    for key in ("row-constant", "row-tiled-constant", "row-cached-constant"):
        assert kernel_for(key, Mask([[1, 2, 3]])) is kernel_for(key, Mask([[3, 2, 1]]))


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


def test_that_the_weights_loads_alone_differ_from_those_with_a_mask_in_global_memory():
    mask = Mask(np.ones((1, 3)), anchor=(0, 0))
    pairs = [("constant", "naive"), ("row-constant", "row-naive"), ("cached-constant", "cached")]
    pairs += [("row-tiled-constant", "row-tiled"), ("row-cached-constant", "row-cached")]
    for (key, naive), border in itertools.product(pairs, Border):
        problem = Problem(3, 2, 2, "float32", mask.shape, mask.anchor, border, 1.5)
        model, other = (variant(one).work(problem, Block(4, 2)) for one in (key, naive))
        assert model.constant_loads == problem.multiply_adds
        assert replace(model, constant_loads=0) == replace(
            other,
            global_loads=other.global_loads - problem.multiply_adds,
            global_load_bytes=other.global_load_bytes - 4 * problem.multiply_adds,
        )


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


@pytest.mark.parametrize(("side", "percent"), [(3, 12), (5, 23), (15, 68)])
def test_that_as_many_threads_idle_as_the_docstring_says(side, percent):
    results = tiled_input.output_tile((side, side), Block(32, 32)).threads
    assert round(100 * (1 - results / 1024)) == percent
    assert f"{percent} %" in str(tiled_input.__doc__)


ROWS = [known for known in VARIANTS if known.masks is MaskClass.ONE_ROW]
every_row_variant = pytest.mark.parametrize("known", ROWS, ids=lambda known: known.key)
TILE = Block(8, 1)
FIVE = Mask([[1, 2, 3, 4, 5]])


def row_of(cells, dtype="float32"):
    return np.arange(cells, dtype=dtype).reshape(1, cells, 1)


def work_of(key, cells, border):
    return variant(key).work(describe_problem(row_of(cells), FIVE, border, 0.0), TILE)


@pytest.mark.slow
def test_that_an_inner_block_of_the_lecture_loads_12_cells_instead_of_40():
    for key, loads in [
        ("row-naive", 40),
        ("row-tiled", 12),
        ("row-cached", 14),
        ("row-tiled-constant", 12),
        ("row-cached-constant", 14),
    ]:
        # `row-cached`: its own 8, and 2 + 1 taps of halo on each side.
        longer, shorter = (work_of(key, cells, Border.ZERO).picture_loads for cells in (32, 24))
        assert longer - shorter == loads
        # In a picture of one tile that wraps, the only block is an inner one; the code says the same.
        problem = describe_problem(row_of(8), FIVE, Border.WRAP, 0.0)
        check_executed(variant(key), problem, FIVE, row_of(8), TILE)
        assert work_of(key, 8, Border.WRAP).picture_loads == loads


def columns_loaded(mask, width=24):
    """Return the columns that the threads of `row-tiled` read, block by block, thread by thread."""
    problem, columns = describe_problem(row_of(width), mask, Border.ZERO, 0.0), []
    for block in range(3):
        with observed(at=(block, 0, 0)) as launches:
            result_of(variant("row-tiled"), problem, mask, TILE, row_of(width))
        ((_, _, arrays, accesses),) = launches
        of_thread = defaultdict(list)
        for step in accesses:
            if step.array == arrays[Operand.IMAGE].name:
                for thread, address in zip(step.threads.tolist(), step.addresses.tolist(), strict=True):
                    of_thread[thread].append(address // 4)
        columns += itertools.chain.from_iterable(of_thread[thread] for thread in sorted(of_thread))
    return columns


@pytest.mark.slow
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
    first = ROWS.index(known)
    for taps, anchor, border, shape, dtype, block in (WIDE + WIDE)[first % 5 :][:2]:
        random = np.random.default_rng([taps, anchor])
        image = random.integers(0, 256, shape).astype(dtype)
        mask = Mask(random.standard_normal((1, taps)), (0, anchor), offset=2.5)
        problem = describe_problem(image, mask, border, 7.0)
        assert known.unsupported(problem, mask, block, Limits()) is None
        check_executed(known, problem, mask, image, block)
