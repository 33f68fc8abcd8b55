"""What the compiler makes of every CUDA kernel; it needs NVVM, no device."""

import itertools
import re
from dataclasses import replace
from functools import cache

import pytest

from engine.course.copy_variant import COPY
from engine.device.numba_cuda import cuda, missing
from engine.geometry.block import Block
from engine.geometry.border import Border
from engine.mask.mask import Mask
from engine.tasks.filtering.problem import Problem
from engine.variants.registry import VARIANTS
from tests.engine.variants.suited import LIMITS, block_for, mask_for, typed

pytestmark = [
    pytest.mark.slow,
    pytest.mark.nvvm,
    pytest.mark.skipif(bool(missing), reason=missing or "numba-cuda is there"),
]

CAPABILITIES = ((7, 5), (8, 6), (9, 0))
# The newest capability with every type, each with another border; the two older ones with one.
PAIRS = [
    (
        CAPABILITIES[i],
        ("uint8", "uint16", "float32")[j],
        (Border.CONSTANT, Border.MIRROR, Border.WRAP)[(i + j) % 3],
    )
    for i, j in itertools.product(range(3), range(3))
    if i == 2 or j == 2 - 2 * (i == 0)
]
CUDA = [variant for variant in VARIANTS if variant.has_kernels]
BLOCK = Block(32, 8)


def pairs_of(variant):
    """Return what a variant's code is looked at for; of sums of three products one pair is enough."""
    if variant.rank > 2:
        return PAIRS[-1:]
    pairs = [pair for pair in PAIRS if pair[1] in variant.picture_types and can_run(variant, pair[0])]
    return [*pairs, ((8, 6), "uint8", Border.CONSTANT)] if variant.uint8_only else pairs


def can_run(variant, capability):
    """Return whether a variant runs on devices of a compute capability; what does not says so in words."""
    mask = mask_for(variant, 5, 7)
    problem = typed(variant, Problem(100, 200, 3, "float32", mask.shape, mask.anchor))
    limits = replace(LIMITS, compute_capability=capability)
    refusal = variant.unsupported(problem, mask, block_for(variant, mask, BLOCK), limits)
    assert refusal is None or "compute capability" in refusal.reason, refusal
    return refusal is None


every_variant = pytest.mark.parametrize("variant", CUDA, ids=lambda variant: variant.key)
every_pair = pytest.mark.parametrize(
    ("capability", "dtype", "border"),
    PAIRS,
    ids=[f"{a}.{b}-{dtype}-{border}" for (a, b), dtype, border in PAIRS],
)
every_variant_and_pair = pytest.mark.parametrize(
    ("variant", "capability", "dtype", "border"),
    [
        pytest.param(variant, *pair, id=f"{variant.key}-{pair[0][0]}.{pair[0][1]}-{pair[1]}-{pair[2]}")
        for variant in CUDA
        for pair in pairs_of(variant)
    ],
)


@cache
def ptx_of(variant, capability, dtype, border, block=BLOCK):
    """Return the code of each pass."""
    mask = mask_for(variant, 5, 7)
    problem = typed(variant, Problem(100, 200, 3, dtype, mask.shape, mask.anchor, border))
    return tuple(
        cuda.compile_ptx(step.kernel.py_func, step.signature, cc=capability)[0]
        for step in variant.passes(problem, mask, block)
    )


def bytes_of(memory, ptx):
    """Return the static bytes that the code declares in shared or in constant memory."""
    return sum(int(size) for size in re.findall(rf"\.{memory}\b[^;]*\.b8\s+[^\s\[]+\[(\d+)\]", ptx))


def assert_in_float32(ptx, capability):
    """Check that code is for that device, without float64, local memory or flushed subnormal numbers."""
    lines = ptx.splitlines()
    assert any("fma.rn.f32" in line for line in lines)
    # A register may be named %f64, and an unused one may be declared.
    assert [line for line in lines if re.search(r"\.f64\b", line) and ".reg" not in line] == []
    assert re.findall(r"__local_depot|\b(?:ld|st)\.local", ptx) == []
    # The rounding bound counts on subnormal numbers.
    assert ".ftz" not in ptx
    assert re.search(rf"^\.target sm_{capability[0]}{capability[1]}\b", ptx, re.MULTILINE)


def assert_memory_as_planned(variant, codes, dtype, block):
    mask = mask_for(variant, 5, 7)
    launches = variant.plan(Problem(100, 200, 3, dtype, mask.shape, mask.anchor), block)
    assert [bytes_of("shared", ptx) for ptx in codes] == [launch.shared_bytes for launch in launches]
    assert [bytes_of("const", ptx) for ptx in codes] == [launch.constant_bytes for launch in launches]


# All of a kernel's code in one test: two processes that share the tests would compile most kernels twice.
@every_variant_and_pair
def test_that_code_is_in_float32_for_that_device_without_local_memory_and_with_the_planned_bytes(
    variant, capability, dtype, border
):
    codes = ptx_of(variant, capability, dtype, border)
    for ptx in codes:
        assert_in_float32(ptx, capability)
    assert_memory_as_planned(variant, codes, dtype, BLOCK)


@pytest.mark.parametrize("block", [Block(8, 4), Block(33, 3)], ids=str)
@every_variant
def test_that_shared_memory_follows_the_block(variant, block):
    block = block_for(variant, mask_for(variant, 5, 7), block)
    codes = ptx_of(variant, (9, 0), "float32", Border.ZERO, block)
    assert_memory_as_planned(variant, codes, "float32", block)


@every_variant
def test_that_places_in_pictures_past_2_to_the_31_are_computed_with_64_bits(variant):
    for ptx in ptx_of(variant, (9, 0), "float32", Border.WRAP):
        blocks = set(re.findall(r"mov\.u32\s+(%r\d+), %ctaid\.[xy];", ptx))
        assert blocks
        # A column or a row, the block's times a constant, fits 32 bits
        # (`engine.tasks.filtering.problem.MAX_SIDE`); a row times the pitch does not.
        factors = re.findall(r"\b(?:mul|mad)\.lo\.[sbu]32\s+%r\d+, (%?\w+), (%?\w+)", ptx)
        products = [
            pair for pair in factors if blocks & set(pair) and all(one.startswith("%") for one in pair)
        ]
        assert products == []
        assert re.search(r"\bmul\.wide\.[su]32\b|\b(?:mul|mad)\.lo\.[su]64\b", ptx)


@pytest.mark.parametrize(
    ("variant", "capability", "dtype", "bits"),
    [
        pytest.param(
            variant, capability, dtype, bits, id=f"{variant.key}-{capability[0]}.{capability[1]}-{dtype}"
        )
        for variant in CUDA
        if variant.integer_output
        # Between 8.0 and 9.0 nothing of it differs.
        for capability in (CAPABILITIES[0], CAPABILITIES[-1])
        if can_run(variant, capability)
        for dtype, bits in ((("uint8", 8),) if variant.uint8_only else (("uint8", 8), ("uint16", 16)))
    ],
)
def test_that_8_and_16_bit_results_are_rounded_in_float32_and_stored_as_such(
    variant, capability, dtype, bits
):
    mask = mask_for(variant, 5, 7)
    problem = Problem(100, 200, 3, dtype, mask.shape, mask.anchor, Border.MIRROR, result_dtype=dtype)
    *_, last = variant.passes(problem, mask, BLOCK)
    ptx = cuda.compile_ptx(last.kernel.py_func, last.signature, cc=capability)[0]
    lines = [line for line in ptx.splitlines() if ".reg" not in line]
    assert [line for line in lines if re.search(r"\.f64\b", line)] == []
    # Wider stores are of several results at once.
    assert re.search(rf"\bst\.global(?:\.v[24])?\.[ub]{bits}\b", ptx)
    assert re.findall(r"\bst\.global\S*\.f32\b", ptx) == []


def test_that_a_copy_reads_once_and_writes_once_and_computes_nothing():
    problem = Problem(100, 200, mask_shape=(1, 1), anchor=(0, 0))
    (step,) = COPY.passes(problem, Mask([[1.0]]), COPY.default_block)
    ptx, _ = cuda.compile_ptx(step.kernel.py_func, step.signature, cc=(9, 0))
    assert (ptx.count("ld.global"), ptx.count("st.global")) == (1, 1)
    assert not any(operation in ptx for operation in ("fma.", "mul.f32", ".f64 ", "__local_depot"))
