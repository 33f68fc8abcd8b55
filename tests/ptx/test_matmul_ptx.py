"""What the compiler makes of the kernels that multiply matrices; it needs NVVM, no device."""

import pytest

from engine.device.launches import DeviceKind
from engine.device.numba_cuda import cuda, missing
from engine.geometry.block import Block
from engine.tasks.product.problem import MatrixProduct
from engine.variants.registry import MATMUL_VARIANTS
from tests.ptx.test_ptx import CAPABILITIES, assert_in_float32, bytes_of

pytestmark = [pytest.mark.nvvm, pytest.mark.skipif(bool(missing), reason=missing or "numba-cuda is there")]
CUDA = [variant for variant in MATMUL_VARIANTS if variant.device is DeviceKind.CUDA]
PRODUCT = MatrixProduct(100, 70, 200)


@pytest.mark.slow
@pytest.mark.parametrize("tile", [2, 7, 16, 32])
@pytest.mark.parametrize("capability", CAPABILITIES, ids=lambda pair: f"{pair[0]}.{pair[1]}")
@pytest.mark.parametrize("variant", CUDA, ids=lambda variant: variant.key)
def test_that_the_code_is_as_planned(variant, capability, tile):
    (step,) = variant.passes(PRODUCT, None, Block(tile, tile))
    ptx, _ = cuda.compile_ptx(step.kernel.py_func, step.signature, cc=capability)
    assert_in_float32(ptx, capability)
    assert bytes_of("shared", ptx) == step.launch.shared_bytes
    assert ".const" not in ptx
    # Two barriers a phase, and phases may be unrolled.
    barriers = ptx.count("bar.sync")
    assert (barriers > 0, barriers % 2) == (variant.key == "matmul-tiled", 0)
