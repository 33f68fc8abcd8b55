"""`split-float16`: refusals, work, code, weights as two float16, products as matrices, groups not split."""

import itertools
import re

import numpy as np
import pytest
from numba import types

from engine.geometry.border import Border
from engine.mask.float_step import may_be_exact
from engine.mask.mask import Mask
from engine.tasks.filtering.agreement import rounding_bound
from engine.tasks.filtering.problem import Problem
from engine.tasks.filtering.resolve import describe_problem
from engine.variants.ir.device_function import device_function
from engine.variants.tensor_cores import weight_halves
from engine.variants.tensor_cores.split_float16 import BLOCKS, LANES, VARIANT, WARPS, kernel, shape_of
from engine.variants.tensor_cores.split_shape import EIGHT, PAIR
from engine.variants.tensor_cores.split_sums import PLACES, pair_storer, split_accumulator
from tests.engine.variants.cases import problem_of
from tests.engine.variants.emitted import check_counted, needs_nvvm, on_the_processor, ptx_of

RANDOM = np.random.default_rng(44)
NORMAL = Mask(RANDOM.standard_normal((9, 9)))
ZEROS = Mask(np.zeros((7, 7)))


def sums_of(halves):
    return (
        halves.upper.astype(np.float64) + halves.lower.astype(np.float64) / weight_halves.LOWER_SCALE
    ) * halves.unit


@pytest.mark.parametrize("scale", [1.0, 2.0**-29, 2.0**29, 1 / 255])
def test_that_the_parts_are_the_weights_but_for_two_roundings(scale):
    mask = Mask(NORMAL.weights * scale)
    halves, wanted = weight_halves.halves_of(mask), mask.weights32.astype(np.float64)
    assert halves.upper.dtype == halves.lower.dtype == np.float16
    assert np.frexp(halves.unit)[0] == 0.5
    assert np.all(np.abs(sums_of(halves) - wanted) <= 2 * 2.0**-24 * np.abs(wanted))
    assert 0.0 < halves.rest <= 2.0
    assert np.abs(halves.upper).max() < 2**13


@pytest.mark.parametrize("mask", [Mask(RANDOM.integers(-(2**21), 2**21, (8, 8)).astype(float)), ZEROS])
def test_that_weights_of_22_bits_have_no_rest(mask):
    halves = weight_halves.halves_of(mask)
    assert halves.rest == 0.0
    assert np.array_equal(sums_of(halves), mask.weights)


def test_that_weights_too_far_apart_need_more_roundings():
    near, far = Mask([[1.0, 1 / 3, 1e-3 / 3]]), Mask([[1.0, 1 / 3, 1e-9 / 3]])
    assert weight_halves.halves_of(near).rest <= 2.0 < weight_halves.halves_of(far).rest
    assert (
        weight_halves.roundings_of(near, 4, 2)
        == weight_halves.roundings_of(Mask([[1.0]]), 4, 2)
        < weight_halves.roundings_of(far, 4, 2) - 10
    )
    assert weight_halves.roundings_of(NORMAL, 1, 1) < min(
        weight_halves.roundings_of(NORMAL, 2, 1), weight_halves.roundings_of(NORMAL, 1, 2)
    )


def test_that_the_largest_weight_decides_about_the_range():
    for largest, fits in ((2.0**31, False), (2.0**30, True), (2.0**-30, True), (2.0**-31, False)):
        assert weight_halves.is_in_range(Mask([[largest, 0.0], [largest / 1024, -largest / 3]])) == fits
    assert weight_halves.is_in_range(ZEROS)
    assert may_be_exact(np.ones((9, 9)))
    assert may_be_exact(np.arange(49.0).reshape(7, 7) / 1024)
    assert not may_be_exact(NORMAL.weights32)


BLOCK = VARIANT.default_block
LANE = 11
# (mask shape, anchor's column)
MASKS = [((7, 7), 3), ((9, 9), 4), ((9, 9), 0), ((8, 10), 9)]
MASKS += [((13, 13), 6), ((17, 17), 8), ((9, 31), 15), ((21, 2), 1)]


def mask_of(rows, columns, **others):
    return Mask(RANDOM.standard_normal((rows, columns)), **others)


def shape_for(mask_shape, left):
    return shape_of(Problem(500, 700, 1, "float32", mask_shape, (0, left)))


@pytest.mark.slow
@pytest.mark.parametrize("border", [Border.CONSTANT, Border.MIRROR])
def test_that_the_model_counts_what_the_source_does(border):
    image = RANDOM.standard_normal((9, 21, 1)).astype(np.float32)
    mask = mask_of(7, 8, offset=1.5)
    problem = describe_problem(image, mask, border, 2.5)
    # On plain numbers everything is added up in float32, cell by cell.
    check_counted(VARIANT, problem, mask, image, uncounted="shared_loads")
    model, shape, (launch,) = VARIANT.work(problem, BLOCK), shape_of(problem), VARIANT.plan(problem, BLOCK)
    assert model.constant_loads == 0
    assert model.global_store_bytes == image.nbytes
    assert model.global_loads - model.picture_loads == launch.blocks * LANES * shape.fragments


@pytest.mark.parametrize(("mask_shape", "left"), MASKS, ids=str)
def test_that_rows_that_overlap_times_moved_weights_are_the_sums_of_the_mask(mask_shape, left):
    shape = shape_for(mask_shape, left)
    mask = Mask(RANDOM.standard_normal(mask_shape), anchor=(0, left))
    halves = weight_halves.halves_of(mask)
    words = (
        weight_halves.fragments_of(shape, halves)
        .view(np.float16)
        .reshape(2, shape.mask_rows, shape.eights, 32, 2)
    )
    lanes = np.arange(32)
    # Of each eight: lane (g, t) has rows 2 t and 2 t + 1 of column g.
    moved = np.zeros((2, shape.mask_rows, EIGHT * shape.eights, EIGHT))
    for eight, half in np.ndindex(shape.eights, 2):
        moved[:, :, EIGHT * eight + 2 * (lanes % 4) + half, lanes // 4] = words[:, :, eight, :, half]
    weights = (moved[0] + moved[1] / weight_halves.LOWER_SCALE) * halves.unit
    rows = RANDOM.standard_normal((shape.mask_rows, shape.along.tile_samples))
    windows = np.lib.stride_tricks.sliding_window_view(rows, EIGHT * shape.eights, axis=1)
    overlapping = windows[:, ::EIGHT][:, :16]
    assert overlapping.shape == (shape.mask_rows, 16, EIGHT * shape.eights)
    results = np.einsum("mrk,mkn->rn", overlapping, weights).ravel()
    exact = mask.weights32.astype(np.float64)
    for result in (0, 1, 7, 8, 63, 64, 127):
        under = rows[:, result + shape.shift : result + shape.shift + shape.mask_columns]
        # What the halves leave of the weights, and float64.
        bound = 2.0**-23 * 1.001 * np.abs(under * exact).sum()
        assert abs(results[result] - (under * exact).sum()) <= bound
    # A result lies `before` samples after the first cell, its first cell under the mask as many before it as
    # the anchor says.
    assert shape.along.before - shape.shift == left
    assert sum(count for _, count in shape.products) == shape.eights
    assert shape.along.tile_samples == 128 + EIGHT * (shape.eights - 1)


def never_split(shape):
    """Return the function (cells of a group, accumulators, mask, offset) -> results, accumulators.

    It takes the way of groups with NaN, whatever they hold: the other one is a GPU's alone.
    """
    accumulate_group = split_accumulator(shape).emit

    def accumulate(code, cells, accumulators, mask, offset):
        code.has_warp, lane, unit = False, code.integer(LANE), code.f32(1.0)
        return accumulate_group(code, cells, 0, lane, accumulators, [], [], mask, unit, offset)[:2]

    counts = 4 * shape.group_rows, shape.kept
    return device_function(types.Tuple([types.UniTuple(types.float32, k) for k in counts]), accumulate)


@pytest.mark.parametrize(("mask_shape", "left"), [*MASKS[:4], ((1, 60), 7)], ids=str)
@pytest.mark.slow
def test_that_groups_that_are_not_split_give_each_result_its_correlation(mask_shape, left):
    shape, offset = shape_for(mask_shape, left), np.float32(0.75)
    mask = Mask(RANDOM.standard_normal(mask_shape), anchor=(0, left))
    groups = shape.groups(4)
    rows = RANDOM.standard_normal((groups * shape.group_rows, shape.along.tile_samples)).astype(np.float32)
    rows[2, PAIR * LANE + shape.shift + 1] = np.nan
    run, reference = on_the_processor(never_split(shape)), split_accumulator(shape).py_func
    results = []
    accumulators = plain = (np.float32(0.0),) * shape.kept
    for group in rows.reshape(groups, -1):
        made, after = run(group, accumulators, mask.weights32, offset)
        accumulators = tuple(map(np.float32, after))
        results.append(made)
        expected, plain, _ = reference(group, 0, LANE, plain, None, None, mask.weights32, 1.0, offset)
        assert np.allclose(expected, made, rtol=0.0, atol=1e-3, equal_nan=True)
    found = np.concatenate(results).reshape(-1, 4)
    weights = mask.weights32.astype(np.float64)
    for top in range(len(rows) - shape.mask_rows + 1):
        for place, apart in enumerate(PLACES):
            first = PAIR * LANE + apart + shape.shift
            under = rows[top : top + shape.mask_rows, first : first + shape.mask_columns].astype(np.float64)
            value, wanted = found[top + shape.mask_rows - 1, place], (under * weights).sum() + float(offset)
            bound = rounding_bound(np.array(np.abs(under * weights).sum() + 0.75), mask.taps)
            assert np.isnan(value) if np.isnan(wanted) else abs(value - wanted) <= bound


@pytest.mark.parametrize("width", [100, 101, 66, 64, 1])
@pytest.mark.slow
def test_that_pairs_are_stored_just_where_they_belong(width):
    store = pair_storer(3)
    run = on_the_processor(store)
    results = tuple(np.float32(value) for value in RANDOM.standard_normal(12))
    # Rows of even and of odd length, padded or not.
    for row_pixels in (width, width + 3):
        for row, sample in itertools.product((-2, 1, 2, 6), (0, 34, 62)):
            found, plain, wanted = (np.full((9, row_pixels, 1), -1.0, np.float32) for _ in range(3))
            run(found, row, 1, 8, sample, width, results)
            store.py_func(plain, row, 1, 8, sample, width, results)
            for number, value in enumerate(results):
                y, x = row + number // 4, sample + PLACES[number % 4]
                if 1 <= y < 8 and x < width:
                    wanted[y, x, 0] = value
            assert np.array_equal(found, wanted), (row_pixels, row, sample)
            assert np.array_equal(plain, wanted)


@pytest.mark.slow
@needs_nvvm
@pytest.mark.parametrize("columns", [4, 31])
def test_that_masks_of_few_and_of_many_columns_compile(columns):
    mask = mask_of(9, columns)
    ptx_of(VARIANT, problem_of(500, 700, mask), mask, launch_bounds=(LANES * WARPS, BLOCKS))


@pytest.mark.slow
@needs_nvvm
@pytest.mark.parametrize("side", [9, 17])
def test_that_each_product_is_one_instruction(side):
    mask = mask_of(side, side)
    problem = problem_of(500, 700, mask)
    shape, bounds = shape_of(problem), (LANES * WARPS, BLOCKS)
    assert kernel(problem.border, shape).targetoptions["launch_bounds"] == bounds
    ptx = ptx_of(VARIANT, problem, mask, launch_bounds=bounds)
    rows_on_results = side * shape.group_rows
    deep, shallow = divmod(shape.eights, 2)
    pairs = 3 * shape.group_rows
    counts = {
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32": 3 * deep * rows_on_results,
        "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32": 3 * shallow * rows_on_results,
        # Two roundings a pair, of upper and lower parts, and each load of a pair is one.
        "cvt.rn.f16x2.f32": 2 * pairs,
        "ld.shared.v2.f32": pairs,
        # Of two sums for each result, and of a mask row in float32.
        "fma.rn.f32": 2 * 4 * shape.touched + 4 * side,
        "shfl.sync.idx": 4 * (shape.eights - 1) * shape.group_rows,
        "vote.sync.any": 1,
        "redux.sync.max": 1,
        "redux.sync.min": 1,
        "bar.sync": 0,
    }
    assert {words: ptx.count(words) for words in counts} == counts
    assert VARIANT.work(problem, BLOCK).shared_loads % (LANES * PAIR * pairs) == 0
    assert "bar.warp.sync" in ptx
    assert re.search(r"\.maxntid\s+128", ptx)
    assert re.search(r"\.minnctapersm\s+2", ptx)
    assert re.findall(r"\.f64\b(?! )", ptx) == []
