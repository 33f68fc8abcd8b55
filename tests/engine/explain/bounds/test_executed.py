"""The least that kernels execute beside what an H200 did, by Nsight Compute (`bench.ncu`)."""

import pytest

from bench.executed import executed
from bench.ncu import BLOCKS, MASK_SIDES, TEACHING
from engine.explain.code.listing import Form
from tests.engine.explain.sass import NEEDS_NVDISASM
from tests.engine.variants.emitted import NEEDS_NVVM

pytestmark = [*NEEDS_NVVM, pytest.mark.slow]


def some_of(key, form):
    """Return three of the nine launches of a kernel: each mask and each block once, others with the next one.

    `python -m bench.executed` has all of them; each takes a third of a second.
    """
    shift = TEACHING.index(key) % len(BLOCKS)

    def is_asked(number):
        mask, block = divmod(number, len(BLOCKS))
        return (mask + shift) % len(BLOCKS) == block

    found = [*executed(key, form, is_asked)]
    assert len(found) >= len(MASK_SIDES)
    return found


@pytest.mark.parametrize("key", TEACHING)
def test_that_the_least_by_ptx_is_no_more_than_what_was_executed(key):
    assert all(0.4 <= one.instructions <= 1.0 for one in some_of(key, Form.PTX))


# Every way of reading and weights in each memory: their assembly takes 4 s each.
@NEEDS_NVDISASM
@pytest.mark.parametrize("key", TEACHING[::2])
def test_that_the_least_by_sass_is_near_what_was_executed(key):
    for one in some_of(key, Form.SASS):
        # Sums of millions, of which a solver knows nine digits.
        assert 0.6 <= one.instructions <= 1.0 + 1e-6
        assert max(one.integers, one.multiply_adds) <= 1.0 + 1e-6
