"""`implicit-gemm`: its tiles, its refusals, and a bank of masks counted and compared."""

from dataclasses import replace

import numpy as np
import pytest

from engine.device.per_thread import interprets
from engine.geometry.block import MAX_GRID_Y, Block, Limits
from engine.geometry.border import Border
from engine.mask.mask import Mask
from engine.variants.ladder import implicit_gemm
from engine.variants.ladder.implicit_gemm import TILE_K, VARIANT, bank_block, for_bank
from engine.work.filter_task import describe_problem
from tests.engine.variants.cases import error_in_bounds, problem_of
from tests.engine.variants.executed import executed, observed

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


def test_that_tiles_grow_up_to_one_phase():
    (large,) = VARIANT.plan(problem_of(9, 9, Mask(np.ones((63, 63)))), Block(64, 8))
    assert large.shared_bytes == TILE_K * 72 * 4


def test_that_a_bank_of_more_masks_than_rows_of_blocks_is_refused_with_a_block_that_takes_two():
    mask = Mask([[1.0]])
    bank = (mask,) * (MAX_GRID_Y + 1)
    refusal = for_bank(bank).unsupported(problem_of(3, 3, mask), mask, Block(8, 1), LIMITS)
    assert "65,536 masks need 65,536 blocks of 8 × 1 down; CUDA allows 65,535" in str(refusal)
    assert refusal.nearest_block == Block(8, 2)


def test_that_the_block_for_a_bank_shares_the_masks_out_evenly():
    for masks, block in [
        (1, Block(256, 1)),
        (2, Block(256, 2)),
        (3, Block(160, 3)),
        (8, Block(64, 8)),
        (9, Block(96, 5)),
        (17, Block(64, 6)),
        (32, Block(64, 8)),
    ]:
        assert bank_block(masks) == block
        bank = (Mask(np.ones((15, 15))),) * masks
        assert for_bank(bank).default_block == block
        assert for_bank(bank).unsupported(problem_of(99, 99, bank[0]), bank[0], block, LIMITS) is None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("masks", "shape", "anchor", "block", "border"),
    [
        (1, (5, 6), (0, 5), Block(5, 3), Border.ZERO),
        (2, (3, 3), None, Block(4, 2), Border.WRAP),
        (5, (4, 8), (3, 0), Block(16, 3), Border.CONSTANT),
        (3, (1, 2), (0, 0), Block(1, 1), Border.REFLECT),
    ],
    ids=["one mask, more rows of threads", "a tile of masks", "two phases, a last short tile", "one thread"],
)
def test_that_a_bank_agrees_with_the_oracle_and_the_model(masks, shape, anchor, block, border):
    image = RANDOM.integers(0, 65536, (3, 5, 2), np.uint16)
    bank = random_bank(masks, shape, anchor)
    problem = describe_problem(image, bank[0], border, 2.5)
    found, results = counted(bank, problem, block, image)
    model = for_bank(bank).work(problem, block)
    assert model.minimum_bytes == image.size * 2 + masks * image.size * 4
    assert replace(found, minimum_bytes=model.minimum_bytes) == model
    for mask, result in zip(bank, results, strict=True):
        assert error_in_bounds(VARIANT, problem, mask, image, result) <= 1


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_that_nothing_is_multiplied_to_fill_up_a_phase(value):
    # 26 taps are a phase of 25 and one of 1: a padded tap of weight 0 would make NaN of its cell.
    image = np.zeros((1, 40, 1), np.float32)
    image[0, 30] = value
    bank = (Mask(np.ones((1, 26)), (0, 0)),)
    _, (result,) = counted(bank, describe_problem(image, bank[0], Border.ZERO, 0.0), Block(8, 2), image)
    touched = ~np.isfinite(result[0, :, 0])
    assert touched.nonzero()[0].tolist() == list(range(5, 31))


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
