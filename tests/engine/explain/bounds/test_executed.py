"""The least that kernels execute beside what an H200 did, by Nsight Compute (`bench.ncu`)."""

import pytest

from bench.executed import executed
from bench.ncu import TEACHING
from engine.explain.code.listing import Form
from tests.engine.explain.sass import NEEDS_NVDISASM
from tests.engine.variants.emitted import NEEDS_NVVM

pytestmark = [*NEEDS_NVVM, pytest.mark.slow]


@pytest.mark.parametrize("key", TEACHING)
def test_that_the_least_by_ptx_is_no_more_than_what_was_executed(key):
    assert all(0.4 <= one.instructions <= 1.0 for one in executed(key, Form.PTX))


@NEEDS_NVDISASM
@pytest.mark.parametrize("key", TEACHING)
def test_that_the_least_by_sass_is_near_what_was_executed(key):
    for one in executed(key, Form.SASS):
        # Sums of millions, of which a solver knows nine digits.
        assert 0.6 <= one.instructions <= 1.0 + 1e-6
        assert max(one.integers, one.multiply_adds) <= 1.0 + 1e-6
