"""The ladder's `constant`, `tiled-input` and 1-D variants: plans, refusals, and who loads what."""

from dataclasses import dataclass, field

import numpy as np
import pytest

from engine.device.launches import Operand
from engine.geometry.block import Block, Limits
from engine.geometry.border import Border
from engine.mask.mask import MAX_LINE, MAX_SIDE, Mask
from engine.run.resolve import describe_problem
from engine.tasks.filtering.problem import Problem
from engine.variants.contract import MaskClass
from engine.variants.ladder import constant, tiled_input
from engine.variants.registry import VARIANTS, variant
from tests.engine.variants.counting import CountingArray, Counts, count, run_pass
from tests.engine.variants.emitted import check_counted

BLOCK = Block(8, 4)


def kernel_for(mask, border=Border.ZERO):
    problem = Problem(9, 9, 1, "float32", mask.shape, mask.anchor, border)
    return constant.VARIANT.passes(problem, mask, BLOCK)[0].kernel


@pytest.mark.parametrize(
    ("shape", "wanted"),
    [
        ((1, 1), 0), ((3, 3), 0), ((1, 3), 0), ((1, 4), 16), ((4, 1), 16), ((5, 5), 100),
        ((MAX_SIDE, MAX_SIDE), 15_876), ((1, MAX_LINE), 508),
    ],
)  # fmt: skip
def test_that_masks_beyond_3_by_3_take_4_bytes_a_weight(shape, wanted):
    (launch,) = constant.VARIANT.plan(Problem(9, 9, mask_shape=shape, anchor=(0, 0)), BLOCK)
    assert launch.constant_bytes == wanted <= 64 * 1024
    assert launch.shared_bytes == 0


def test_that_an_edited_mask_is_compiled_anew_and_an_equal_one_is_not():
    mask = Mask(np.arange(25.0).reshape(5, 5))
    edited = mask.with_weight(2, 2, 0.5)
    assert kernel_for(mask) is kernel_for(mask.with_name("another").with_offset(3.0))
    assert kernel_for(mask) is not kernel_for(edited)
    assert kernel_for(mask) is not kernel_for(mask, Border.WRAP)
    assert kernel_for(Mask(np.ones((1, 4)))) is not kernel_for(Mask(np.ones((4, 1))))
    # Only the last few are kept.
    for number in range(40):
        kernel_for(Mask([[float(number)]]))
    assert constant.kernel.cache_info().currsize <= 32


@pytest.mark.parametrize("border", list(Border))
@pytest.mark.parametrize("shape", [(3, 3), (1, 1), (2, 3), (3, 1)], ids=str)
def test_that_small_masks_load_what_the_model_says(shape, border):
    random = np.random.default_rng(5)
    image = random.standard_normal((3, 2, 2), np.float32)
    mask = Mask(random.standard_normal(shape), anchor=(shape[0] - 1, 0))
    problem = describe_problem(image, mask, border, 1.5)
    counts = check_counted(constant.VARIANT, problem, mask, image, Block(4, 2))
    model = constant.VARIANT.work(problem, Block(4, 2))
    assert counts.weight_loads == 0
    assert counts.constant_loads == counts.multiplications == problem.multiply_adds
    # A weight and a cell of each tap: half of the loads of `naive` are left where no tap meets a ghost cell.
    if not border.has_ghost_cells:
        assert model.global_loads * 2 == variant("naive").work(problem, Block(4, 2)).global_loads


def test_that_people_are_told_that_each_edit_compiles_and_that_3_by_3_is_no_constant_memory():
    remark = variant("constant").remark
    assert "each edit of the mask compiles it anew" in remark
    assert "3 x 3 becomes immediates" in remark


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
    assert known.unsupported(problem, mask, block, Limits()) is None
    check_counted(known, problem, mask, image, block)
