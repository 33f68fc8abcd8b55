"""What the compiler makes of the copy that the effective bandwidth is measured with."""

import pytest

from engine.course.copy_variant import COPY
from engine.device.numba_cuda import cuda, missing
from engine.mask.mask import Mask
from engine.tasks.filtering.problem import Problem

pytestmark = [pytest.mark.nvvm, pytest.mark.skipif(bool(missing), reason=missing or "numba-cuda is there")]


def test_that_a_copy_reads_once_and_writes_once_and_computes_nothing() -> None:
    problem = Problem(100, 200, mask_shape=(1, 1), anchor=(0, 0))
    (step,) = COPY.passes(problem, Mask([[1.0]]), COPY.default_block)
    ptx, _ = cuda.compile_ptx(step.kernel.py_func, step.signature, cc=(9, 0))
    assert (ptx.count("ld.global"), ptx.count("st.global")) == (1, 1)
    assert not any(operation in ptx for operation in ("fma.", "mul.f32", ".f64 ", "__local_depot"))
