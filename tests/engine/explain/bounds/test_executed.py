"""The instructions that are counted beside those that an H200 executed, by Nsight Compute (`bench.ncu`)."""

import pytest

from bench.executed import executed
from bench.ncu import TEACHING
from tests.engine.variants.emitted import NEEDS_NVVM

pytestmark = [*NEEDS_NVVM, pytest.mark.slow]


def test_that_no_kernel_is_counted_with_more_instructions_than_were_executed():
    for number, key in enumerate(TEACHING):
        # Of nine cells of a mask and a block each; `python -m bench.executed` has all of them.
        found = [*executed(key, lambda cell, first=number % 4: cell % 4 == first)]
        assert found
        assert all(0.65 <= one <= 1.0 for one in found), key
