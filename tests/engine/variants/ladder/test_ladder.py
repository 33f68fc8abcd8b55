"""The ladder: who loads what, a warp down a column, 1-D; two passes; a bank of masks in one launch."""

from itertools import cycle
from math import prod

import numpy as np
import pytest
from msgspec.structs import replace

from engine.geometry.block import MAX_GRID_Y, Block, Limits
from engine.geometry.border import Border
from engine.mask.factors import factor
from engine.mask.generators import gaussian
from engine.mask.mask import Mask
from engine.process import interprets
from engine.variants import mask_classes
from engine.variants.ladder import implicit_gemm
from engine.variants.ladder.implicit_gemm import TILE_K, VARIANT, bank_block, for_bank
from engine.work.filter_task import describe_problem
from engine.work.filtering import oracle
from engine.work.filtering.oracle import is_exact_class
from engine.work.filtering.variants import VARIANTS, MaskClass, variant
from engine.work.problem import Problem
from tests.engine.variants.case_lists import compiled_anyhow, one_case
from tests.engine.variants.cases import error_in_bounds, problem_of, result_of, verified
from tests.engine.variants.executed import check_executed, executed, observed

SMALL_BLOCK = Block(8, 4)


def kernel_for(key, mask, border=Border.ZERO):
    problem = Problem(9, 9, 1, "float32", mask.shape, mask.anchor, border)
    return variant(key).passes(problem, mask, SMALL_BLOCK)[0].kernel


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
    problem = describe_problem(image, mask, one_case(chosen).border, 0.0)
    check_executed(chosen, problem, mask, image, block)
    assert chosen.work(problem, block) == variant("naive").work(problem, block)


def test_that_a_float64_sum_is_rounded_once():
    # One large sample after many small ones: a float32 sum loses all of these.
    image = np.full((1, 33, 1), 2.0**-24, np.float32)
    image[0, 0] = 1.0
    mask = Mask(np.ones((1, 33)), anchor=(0, 16))
    exact, found = np.float32(1 + 32 * 2.0**-24), {}
    for key in ("naive-uncoalesced", "naive"):
        # The sum has no ghost cell.
        problem = describe_problem(image, mask, one_case(variant(key)).border, 0.0)
        found[key] = result_of(variant(key), problem, mask, Block(16, 1), image)[0, 16, 0]
    assert found["naive-uncoalesced"] == exact
    assert found["naive"] != exact


ROWS = [known for known in VARIANTS if known.masks is MaskClass.ONE_ROW]
# (taps, anchor, border, picture, type, block): the halo is wider than the block, or as wide.
WIDE = [
    (127, 63, Border.MIRROR, (3, 5, 1), "float32", Block(63, 2)),
    (127, 126, Border.CONSTANT, (2, 7, 3), "uint8", Block(126, 3)),
    (126, 63, Border.REFLECT, (1, 70, 1), "uint16", Block(64, 1)),
    (64, 10, Border.ZERO, (2, 130, 1), "float32", Block(53, 1)),
    (127, 0, Border.WRAP, (1, 2, 1), "float32", Block(126, 1)),
]
# Constant memory changes nothing about a halo that is not loaded, and `row-naive` has none.
MARKS = {key: [pytest.mark.matrix] for key in ("row-naive", "row-constant", "row-cached-constant")}
WITH_MARKS = [pytest.param(one, marks=MARKS.get(one.key, []), id=one.key) for one in ROWS]


@pytest.mark.slow
@pytest.mark.parametrize("known", WITH_MARKS)
def test_that_wide_masks_agree_with_the_oracle_and_with_the_model(known):
    taps, anchor, border, shape, dtype, block = WIDE[ROWS.index(known) % len(WIDE)]
    random = np.random.default_rng([taps, anchor])
    image = random.integers(0, 256, shape).astype(dtype)
    mask = Mask(random.standard_normal((1, taps)), (0, anchor), offset=2.5)
    problem = describe_problem(image, mask, border, 7.0)
    assert known.unsupported(problem, mask, block, Limits()) is None
    check_executed(known, problem, mask, image, block)


SEPARABLE = [variant(key) for key in ("separable-l0", "separable-l1", "separable-l2")]
every_separable_variant = pytest.mark.parametrize("known", SEPARABLE, ids=lambda known: known.key)


def all_compiled():
    """Return all cases of these whose code is compiled anyhow, each with its variant and type of results."""
    return [(known, case, result) for known in SEPARABLE for case, result in compiled_anyhow(known)]


def agrees(known, image, mask, border, cval=0.0, block=None, result="float32"):
    """Run a variant's source on a picture (H x W), have the result verified, and return it."""
    samples = np.ascontiguousarray(image)[:, :, np.newaxis]
    problem = describe_problem(samples, mask, border, cval, result)
    assert known.unsupported(problem, mask, block, Limits()) is None
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        result = result_of(known, problem, mask, block, samples)
    verified(result, samples, mask, problem)
    return result


def agrees_as_one(known, image, column, row):
    """Do so with the code of `one_case`, with a column of 3 weights times a row of 4; ghost cells are 0."""
    case = one_case(known)
    return agrees(known, image, Mask(np.outer(column, row), (1, 1)), case.border, block=case.block)


@pytest.mark.slow
def test_that_whole_numbers_are_exact_under_every_border_and_ghost_rows_the_value_times_the_rows_weights():
    random = np.random.default_rng(1)
    for known, case, result in all_compiled():
        image = random.integers(0, 256, (5, 6)).astype(case.dtype)
        row, column = (random.integers(-1, 3, side) for side in case.mask_shape)
        for divisor in (1, 64):
            mask = Mask(np.outer(row, column) / divisor, case.anchor, offset=5.0)
            assert is_exact_class(image, mask, 7.0) == (case.dtype != "float32")
            found = agrees(known, image, mask, case.border, 7.0, case.block, result)
            if result == "float32":
                right = oracle.correlate(image[:, :, np.newaxis], mask, case.border, 7.0)
                assert np.array_equal(found, right)
        if case.border is Border.CONSTANT:
            # Every cell is a ghost cell or 0: the whole result is what ghost rows and columns give.
            mask = Mask(np.outer(*(np.arange(1, side + 1) for side in case.mask_shape)) / 64, case.anchor)
            image = np.zeros((1, 1), case.dtype)
            found = agrees(known, image, mask, Border.CONSTANT, 2.0, case.block, result)
            right = 2.0 * (mask.total - mask.weights[mask.anchor])
            assert found.tolist() == [[[right if result == "float32" else np.rint(right)]]]
            problem, factors = problem_of(1, 1, mask, border=Border.CONSTANT, cval=2.0), factor(mask)
            assert mask_classes.ghost_row_value(problem, factors) == 2.0 * factors.row.sum()
    assert {case.border for _, case, _ in all_compiled()} == {*Border}


FACTORS = (
    ([1, 0, 2], [0.5, 0.25, 0.1, 0]), ([0.1, -0.2, 0], [1, 0, -3, 2]), ([0, 0, 0], [1, 2, 0, 1]),
    ([1e-18, 1, 0], [0, 0, 1, 1e-18]),
)  # fmt: skip


@pytest.mark.slow
@every_separable_variant
def test_that_nan_and_infinity_spread_as_in_the_direct_sum(known):
    image, first = np.random.default_rng(2).standard_normal((6, 7)).astype(np.float32), SEPARABLE.index(known)
    # Each pair of factors with each of these in some variant.
    for number, (column, row) in enumerate(FACTORS, first):
        bad = image.copy()
        bad[2, 3] = (np.nan, np.inf, -np.inf)[number % 3]
        agrees_as_one(known, bad, column, row)
    bad = image.copy()
    bad[1, 1], bad[3, 3] = np.inf, -np.inf
    result = agrees_as_one(known, bad, [1 / 3] * 3, [1 / 4] * 4)
    assert np.isnan(result).any()
    assert np.isinf(result).any()


@pytest.mark.slow
@every_separable_variant
def test_that_nothing_overflows_between_the_passes(known):
    image = np.full((4, 5), np.finfo(np.float32).max / 2, np.float32)
    assert np.isfinite(agrees_as_one(known, image, [1 / 3] * 3, [1 / 4] * 4)).all()
    # The huge sample is only ever multiplied by 0: its row's weights are 1e30, its column's 0.
    image = np.ones((4, 5), np.float32)
    image[0] = 1e20
    result = agrees_as_one(known, image, [0, 0, 1e30], [0, 1, 0, 0])
    assert result[1, :, 0].tolist() == [float(np.float32(1e30))] * 5
    # Here by 1e20, and in the first row by 1e30, where the direct sum overflows too.
    image = np.zeros((2, 3), np.float32)
    image[0] = 1e15
    result = agrees_as_one(known, image, [1e20, 1e30, 0.0], [1.0, 0.5, 0.0, 0.0])
    assert np.isfinite(result[1]).all()
    assert np.isinf(result[0]).all()


@pytest.mark.slow
def test_that_extreme_weights_and_the_smallest_masks_agree():
    random = np.random.default_rng(3)
    image = random.random((5, 6)).astype(np.float32)
    for scale in (1e-30, 1e30):
        agrees_as_one(SEPARABLE[0], image, [0.3 * scale, scale, 0.3 * scale], [0.1, 0.5, 1, 0.5])
        agrees_as_one(SEPARABLE[1], image, [1, 0.3, 0.1], [1, scale, 0.7, 0.2])
    # One bright pixel on black, far from the middle of a Gaussian that falls to 1e-18 of it.
    large = (of[:2] for of in all_compiled() if of[1].mask_shape == (15, 14))
    known, case = next((known, case) for known, case in large if case.dtype == "float32")
    image = np.zeros(case.mask_shape, np.float32)
    image[0, 0] = 255.0
    mask = Mask(gaussian(15, sigma=1.1).weights[:, :14], case.anchor)
    assert 0.0 < agrees(known, image, mask, case.border, 0.0, case.block)[case.mask().anchor] < 1e-15
    # The worst case of these is beyond the bound; half of it is the most that was ever seen.
    for known, case, _ in (of for of in all_compiled() if of[1].mask_shape in ((2, 2), (1, 4))):
        image = (random.random((9, 9)) * 255).astype(case.dtype)
        mask = Mask(np.outer(*(random.standard_normal(side) for side in case.mask_shape)), offset=0.3)
        agrees(known, image, mask, case.border, 0.0, case.block)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("known", "side"), [(SEPARABLE[1], 2), pytest.param(SEPARABLE[2], 1, marks=pytest.mark.matrix)]
)
def test_that_aprons_wider_than_the_block_agree(known, side):
    image = np.random.default_rng(3).integers(0, 256, (5, 7), np.uint8)
    border = Border.REFLECT if side > 1 else Border.CONSTANT
    for anchor in ((0, 0), (6, 10), (3, 5)):
        agrees(known, image, Mask(np.ones((7, 11)), anchor), border, 4.0, Block(side, side))


RANDOM = np.random.default_rng(8)
LIMITS = Limits()


def random_bank(masks, shape, anchor=None):
    return tuple(Mask(RANDOM.standard_normal(shape), anchor, 3.0 * number) for number in range(masks))


def counted(bank, problem, block, image):
    """Run the kernel over a bank in the simulator; return what it did and its results, one per mask."""
    height, width, channels = image.shape
    out = np.full((len(bank) * height, width + 3, channels), np.nan, np.float32)
    padded = np.pad(image, ((0, 0), (0, 2), (0, 0)), constant_values=77)
    with interprets.within(True), observed(counted=True) as launches:
        for_bank(bank).prepare(problem, bank[0], block).launch(padded, out)
    assert np.isnan(out[:, width:]).all()
    return executed(launches), out[:, :width].reshape(len(bank), *image.shape)


def test_that_blocks_run_along_pixels_of_the_whole_picture_and_along_the_masks():
    for height, width, masks in [(1, 1, 1), (4, 8, 2), (5, 9, 7), (97, 31, 12)]:
        for block in [Block(1, 1), Block(8, 4), Block(33, 3), Block(490, 1)]:
            bank = random_bank(masks, (3, 5))
            (launch,) = for_bank(bank).plan(problem_of(height, width, bank[0], 3), block)
            pixel_blocks, mask_blocks, deep = launch.grid
            assert (pixel_blocks - 1) * block.x < height * width <= pixel_blocks * block.x
            assert (mask_blocks - 1) * block.y < masks <= mask_blocks * block.y
            assert deep == 3
            assert launch.block == (block.x, block.y, 1)
            assert launch.shared_bytes == 15 * (block.x + block.y) * 4

    # Tiles grow up to one phase.
    (large,) = VARIANT.plan(problem_of(9, 9, Mask(np.ones((63, 63)))), Block(64, 8))
    assert large.shared_bytes == TILE_K * 72 * 4


def test_that_a_bank_of_more_masks_than_rows_of_blocks_is_refused_with_a_block_that_takes_two():
    mask = Mask([[1.0]])
    bank = (mask,) * (MAX_GRID_Y + 1)
    refusal = for_bank(bank).unsupported(problem_of(3, 3, mask), mask, Block(8, 1), LIMITS)
    assert "65,536 masks need 65,536 blocks of 8 × 1 down; CUDA allows 65,535" in str(refusal)
    assert refusal.nearest_block == Block(8, 2)


def test_that_the_block_for_a_bank_shares_the_masks_out_evenly():
    sides = {1: (256, 1), 2: (256, 2), 3: (160, 3), 8: (64, 8), 9: (96, 5), 17: (64, 6), 32: (64, 8)}
    for masks, block in ((masks, Block(*of_block)) for masks, of_block in sides.items()):
        assert bank_block(masks) == block
        bank = (Mask(np.ones((15, 15))),) * masks
        assert for_bank(bank).default_block == block
        assert for_bank(bank).unsupported(problem_of(99, 99, bank[0]), bank[0], block, LIMITS) is None


@pytest.mark.slow
def test_that_a_bank_agrees_with_the_oracle_and_the_model():
    # Fewer masks than the rows of threads of some blocks and more than those of others.
    for (case, _), masks in zip(compiled_anyhow(VARIANT), cycle((1, 2, 5)), strict=False):
        image = (RANDOM.random((3, 5, 2)) * 255).astype(case.dtype)
        bank = random_bank(masks, case.mask_shape, case.anchor)
        problem = describe_problem(image, bank[0], case.border, 2.5)
        found, results = counted(bank, problem, case.block, image)
        model = for_bank(bank).work(problem, case.block)
        assert model.minimum_bytes == image.nbytes + masks * image.size * 4
        assert replace(found, minimum_bytes=model.minimum_bytes) == model
        for mask, result in zip(bank, results, strict=True):
            assert error_in_bounds(VARIANT, problem, mask, image, result) <= 1


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_that_nothing_is_multiplied_to_fill_up_a_phase(value):
    # A padded tap of weight 0 would make NaN of its cell.
    of_floats = (case for case, _ in compiled_anyhow(VARIANT) if case.dtype == "float32")
    case = next(case for case in of_floats if prod(case.mask_shape) > TILE_K)
    rows, columns = case.mask_shape
    assert rows * columns % TILE_K
    image = np.zeros((2 * rows, 40, 1), np.float32)
    image[rows, 20] = value
    bank = (Mask(np.ones((rows, columns)), (0, 0)),)
    problem = describe_problem(image, bank[0], case.border, 0.0)
    _, (result,) = counted(bank, problem, case.block, image)
    # Of these windows none has a ghost cell.
    touched = np.zeros((rows + 1, 21), bool)
    touched[1:, 21 - columns :] = True
    assert np.array_equal(~np.isfinite(result[: rows + 1, :21, 0]), touched)


def test_that_every_bank_of_one_shape_and_block_runs_the_same_compiled_kernel():
    block = Block(64, 8)
    two, nine = random_bank(2, (5, 5)), random_bank(9, (5, 5))
    problem = problem_of(50, 60, two[0])
    (one,) = VARIANT.passes(problem, two[0], block)
    for bank in (two, nine):
        (step,) = for_bank(bank).passes(problem, bank[0], block)
        assert step.kernel is one.kernel
        assert step.signature == one.signature
    assert implicit_gemm.kernel(Border.WRAP, (5, 5), block) is not one.kernel
