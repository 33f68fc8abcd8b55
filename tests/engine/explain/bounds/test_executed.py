"""The least that kernels execute beside what an H200 did, by Nsight Compute (`bench.ncu`)."""

import pytest

from bench.executed import executed
from bench.ncu import BLOCKS, MASK_SIDES, TEACHING
from engine.explain.code.listing import Form
from tests.engine.explain.sass import NEEDS_NVDISASM
from tests.engine.variants.emitted import NEEDS_NVVM

pytestmark = [*NEEDS_NVVM, pytest.mark.slow]


def some_of(key, form, masks):
    """Return launches of a kernel: those masks, by number, each with one block, others with the next one.

    `python -m bench.executed` has all of them.
    """
    shift = TEACHING.index(key) % len(BLOCKS)

    def is_asked(number):
        mask, block = divmod(number, len(BLOCKS))
        return mask in masks and (mask + shift) % len(BLOCKS) == block

    found = [*executed(key, form, is_asked)]
    assert len(found) >= len(masks)
    return found


@pytest.mark.parametrize("key", TEACHING)
def test_that_the_least_by_ptx_is_no_more_than_what_was_executed(key):
    assert all(0.4 <= one.instructions <= 1.0 for one in some_of(key, Form.PTX, range(len(MASK_SIDES))))


# Every way of reading and weights in each memory, the masks in turn: to assemble a launch takes 0.8 s.
@NEEDS_NVDISASM
@pytest.mark.parametrize(("number", "key"), [*enumerate(TEACHING[::2])])
def test_that_the_least_by_sass_is_near_what_was_executed(number, key):
    for one in some_of(key, Form.SASS, (number % len(MASK_SIDES),)):
        # Sums of millions, of which a solver knows nine digits.
        assert 0.6 <= one.instructions <= 1.0 + 1e-6
        assert max(one.integers, one.multiply_adds) <= 1.0 + 1e-6
