"""What the compiler makes of every CUDA kernel; it needs NVVM, no device."""

import itertools
import re
from functools import cache

import numpy as np
import pytest

from engine.block import Block
from engine.border import Border
from engine.device.numba_cuda import cuda, missing
from engine.mask.mask import Mask
from engine.problem import Problem
from engine.variants.contract import DeviceKind, Variant
from engine.variants.registry import VARIANTS

pytestmark = [pytest.mark.nvvm, pytest.mark.skipif(bool(missing), reason=missing or "numba-cuda is there")]

CAPABILITIES = ((7, 5), (8, 6), (9, 0))
# Pairwise: every two of capability, type and border occur together, each in nine compilations a variant.
PAIRS = [
    (
        CAPABILITIES[i],
        ("uint8", "uint16", "float32")[j],
        (Border.CONSTANT, Border.MIRROR, Border.WRAP)[(i + j) % 3],
    )
    for i, j in itertools.product(range(3), range(3))
]
CUDA = [variant for variant in VARIANTS if variant.device is DeviceKind.CUDA]
BLOCK = Block(32, 8)
MASK = Mask(np.ones((5, 7)))

every_variant = pytest.mark.parametrize("variant", CUDA, ids=lambda variant: variant.key)
every_pair = pytest.mark.parametrize(
    ("capability", "dtype", "border"),
    PAIRS,
    ids=[f"{a}.{b}-{dtype}-{border}" for (a, b), dtype, border in PAIRS],
)


@cache
def ptx_of(
    variant: Variant, capability: tuple[int, int], dtype: str, border: Border, block: Block = BLOCK
) -> str:
    problem = Problem(100, 200, 3, dtype, MASK.shape, MASK.anchor, border)
    (source,) = variant.kernels(problem, MASK, block)
    ptx, _ = cuda.compile_ptx(source.function, source.signature, cc=capability)
    return ptx


def shared_bytes_of(ptx: str) -> int:
    return sum(int(size) for size in re.findall(r"\.shared\b[^;]*\.b8\s+\S+\[(\d+)\]", ptx))


@every_pair
@every_variant
def test_that_nothing_is_computed_in_float64(
    variant: Variant, capability: tuple[int, int], dtype: str, border: Border
) -> None:
    lines = ptx_of(variant, capability, dtype, border).splitlines()
    assert any("fma.rn.f32" in line for line in lines)
    # A register may be named %f64, and an unused one may be declared.
    assert [line for line in lines if re.search(r"\.f64\b", line) and ".reg" not in line] == []


@every_pair
@every_variant
def test_that_nothing_is_kept_in_local_memory(
    variant: Variant, capability: tuple[int, int], dtype: str, border: Border
) -> None:
    ptx = ptx_of(variant, capability, dtype, border)
    assert re.findall(r"__local_depot|\b(?:ld|st)\.local", ptx) == []


@every_pair
@every_variant
def test_that_shared_memory_is_what_the_plan_says(
    variant: Variant, capability: tuple[int, int], dtype: str, border: Border
) -> None:
    problem = Problem(100, 200, 3, dtype, MASK.shape, MASK.anchor, border)
    (launch,) = variant.plan(problem, BLOCK)
    assert shared_bytes_of(ptx_of(variant, capability, dtype, border)) == launch.shared_bytes


@pytest.mark.parametrize("block", [Block(8, 4), Block(33, 3)], ids=str)
@every_variant
def test_that_shared_memory_follows_the_block(variant: Variant, block: Block) -> None:
    (launch,) = variant.plan(Problem(100, 200, mask_shape=MASK.shape, anchor=MASK.anchor), block)
    ptx = ptx_of(variant, (9, 0), "float32", Border.ZERO, block)
    assert shared_bytes_of(ptx) == launch.shared_bytes


@every_variant
def test_that_subnormal_numbers_are_not_flushed_to_zero(variant: Variant) -> None:
    # The rounding bound counts on them.
    assert ".ftz" not in ptx_of(variant, (9, 0), "float32", Border.WRAP)


@every_variant
def test_that_a_device_of_the_oldest_capability_can_read_the_code(variant: Variant) -> None:
    assert re.search(r"^\.target sm_75\b", ptx_of(variant, (7, 5), "float32", Border.WRAP), re.MULTILINE)
