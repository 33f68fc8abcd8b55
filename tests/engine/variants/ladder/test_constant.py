"""`constant`: its plan, when it compiles anew, and the kernel of small masks, whose loops are its own."""

import numpy as np
import pytest

from engine.geometry.block import Block
from engine.geometry.border import Border
from engine.mask.mask import MAX_LINE, MAX_SIDE, Mask
from engine.run.resolve import describe_problem
from engine.tasks.filtering.problem import Problem
from engine.variants.ladder import constant
from engine.variants.registry import variant
from tests.engine.variants.emitted import check_counted

CONSTANT_MEMORY = 64 * 1024
LARGEST, LONGEST = ((MAX_SIDE, MAX_SIDE), 15_876), ((1, MAX_LINE), 508)
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
    assert launch.constant_bytes == wanted <= CONSTANT_MEMORY
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
