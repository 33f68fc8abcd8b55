"""What the compiler makes of the kernels that multiply matrices; it needs NVVM, no device."""

import re
from functools import cache

import pytest

from engine.device.launches import DeviceKind
from engine.device.numba_cuda import cuda, missing
from engine.geometry.block import Block
from engine.tasks.product.problem import MatrixProduct
from engine.variants.matmul.contract import MatmulVariant
from engine.variants.registry import MATMUL_VARIANTS

pytestmark = [pytest.mark.nvvm, pytest.mark.skipif(bool(missing), reason=missing or "numba-cuda is there")]

CUDA = [variant for variant in MATMUL_VARIANTS if variant.device is DeviceKind.CUDA]
PRODUCT = MatrixProduct(100, 70, 200)

every_variant = pytest.mark.parametrize("variant", CUDA, ids=lambda variant: variant.key)
every_capability = pytest.mark.parametrize(
    "capability", [(7, 5), (8, 6), (9, 0)], ids=lambda c: f"{c[0]}.{c[1]}"
)
every_tile = pytest.mark.parametrize("tile", [2, 7, 16, 32])


@cache
def ptx_of(variant: MatmulVariant, capability: tuple[int, int], tile: int) -> str:
    (step,) = variant.passes(PRODUCT, None, Block(tile, tile))
    return cuda.compile_ptx(step.kernel.py_func, step.signature, cc=capability)[0]


@every_tile
@every_capability
@every_variant
def test_that_the_code_is_as_planned(variant: MatmulVariant, capability: tuple[int, int], tile: int) -> None:
    ptx = ptx_of(variant, capability, tile)
    lines = ptx.splitlines()
    assert any("fma.rn.f32" in line for line in lines)
    # A register may be named %f64, and an unused one may be declared.
    assert [line for line in lines if re.search(r"\.f64\b", line) and ".reg" not in line] == []
    assert re.findall(r"__local_depot|\b(?:ld|st)\.local", ptx) == []
    shared = sum(map(int, re.findall(r"\.shared\b[^;]*\.b8\s+[^\s\[]+\[(\d+)\]", ptx)))
    (launch,) = variant.plan(PRODUCT, Block(tile, tile))
    assert shared == launch.shared_bytes
    assert ".const" not in ptx
    # The rounding bound counts on subnormal numbers.
    assert ".ftz" not in ptx
    assert re.search(rf"^\.target sm_{capability[0]}{capability[1]}\b", ptx, re.MULTILINE)
    # Two barriers a phase, and phases may be unrolled.
    barriers = ptx.count("bar.sync")
    assert (barriers > 0, barriers % 2) == (variant.key == "matmul-tiled", 0)
