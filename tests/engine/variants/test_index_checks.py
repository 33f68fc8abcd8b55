import pytest

from tests.fresh_python import fresh_python

SHIFT = """
import numpy as np
from engine.device.numba_cuda import cuda
from tests.engine.variants.index_checks import refuse_negative_indices

@cuda.jit
def shift(source, out):
    out[cuda.threadIdx.x] = source[cuda.threadIdx.x - 1]

shift[1, 2](np.ones(2), np.zeros(2))
refuse_negative_indices()
try:
    shift[1, 2](np.ones(2), np.zeros(2))
except IndexError as error:
    print(error)
"""


@pytest.mark.slow
def test_that_a_negative_index_in_a_simulated_kernel_is_refused():
    printed = fresh_python("-c", SHIFT, simulated=True)
    assert printed == "tid=[0, 0, 0] ctaid=[0, 0, 0]: negative index -1\n"
