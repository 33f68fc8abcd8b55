"""Kernels compiled to PTX for tests of what the compiler makes of them; refusals."""

import re

import numpy as np
import pytest

from engine.device import interpreter
from engine.device.device_list import missing
from engine.geometry.block import Limits
from tests.engine.variants.case_lists import compiled_anyhow

NEEDS_NVVM = pytest.mark.nvvm, pytest.mark.skipif(bool(missing), reason=missing or "numba-cuda is there")
RANDOM = np.random.default_rng(11)


def needs_nvvm(test):
    """Mark a test that compiles kernels: it needs NVVM, no device."""
    for mark in NEEDS_NVVM:
        test = mark(test)
    return test


def refused(variant, problem, mask, limits=None, block=None):
    """Return the reason of a refusal, which offers no block; empty where there is none."""
    refusal = variant.unsupported(problem, mask, block or variant.default_block, limits or Limits())
    assert refusal is None or refusal.nearest_block is None
    return str(refusal) if refusal else ""


def compiled(step, capability=(9, 0)):
    """Return the PTX of a pass for a compute capability, with lines: of 9.0 what the simulator runs."""
    from engine.device.kernel_code import explained_ptx  # There is none without NVVM.

    return explained_ptx(step.kernel, step.signature, capability)


def ptx_of(variant, problem, mask, capability=(9, 0)):
    """Return what the compiler makes of a variant's one pass; it keeps nothing in local memory."""
    (step,) = variant.passes(problem, mask, variant.default_block)
    ptx = compiled(step, capability)
    assert re.findall(r"__local_depot|\b(?:ld|st)\.local|\.ftz", ptx) == []
    return ptx


def simulated_codes(variant):
    """Return the problems whose code `test_variants` compiles, each with its one pass's code."""
    found = []
    for case, _ in compiled_anyhow(variant):
        (step,) = variant.passes(case.problem(), case.mask(), case.block)
        found.append((case.problem(), interpreter.ptx_of(step)))
    return found


def bytes_of(memory, ptx):
    """Return the static bytes that the code declares in shared or in constant memory."""
    return sum(int(size) for size in re.findall(rf"\.{memory}\b[^;]*\.b8\s+[^\s\[]+\[(\d+)\]", ptx))


def assert_as_planned(ptx, launch, *, has_local=False, sums_in_float64=False):
    """Check that code has a plan's bytes, registers alone, no flushed subnormal numbers, no float64 unasked.

    The rounding bound counts on subnormal numbers, and on divisions and roots that are rounded correctly. The
    assembler chooses no rounding: the interpreter has the bits of a device.
    """
    planned = launch.shared_bytes, launch.constant_bytes
    assert (bytes_of("shared", ptx), bytes_of("const", ptx)) == planned
    assert bool(re.search(r"__local_depot|\b(?:ld|st)\.local", ptx)) == has_local
    assert ".ftz" not in ptx
    assert re.findall(r"\b(?:div|sqrt)\.(?:approx|full)", ptx) == []
    # A register may be named %f64, and an unused one may be declared.
    of_float64 = set(re.findall(r"\b\S+\.f64(?:\.\S+)?(?=\s)", re.sub(r"\.reg[^;]*;", "", ptx))) - {"mov.f64"}
    assert of_float64 == ({"cvt.f64.f32", "add.f64", "cvt.rn.f32.f64"} if sums_in_float64 else set())

    assert free_pairs(ptx) == []


def assert_rounded(ptx, result_dtype):
    """Check that the code of a last pass stores results of that type: 8 and 16 bit rounded in float32."""
    if result_dtype != "float32":
        # Wider stores are of several results at once.
        assert re.search(rf"\bst\.global(?:\.v[24])?\.[ub]{result_dtype.removeprefix('uint')}\b", ptx)
        assert re.findall(r"\bst\.global\S*\.f32\b", ptx) == []


def free_pairs(ptx):
    """Return the products that one sum of their basic block takes: the assembler may round both as one."""
    return [
        product
        for block in re.split(r"(?m)^\S+:|\bbra\b", ptx)
        for product in re.findall(r"\bmul\.f(?:32|64)\s+(%\w+),", block)
        if len(re.findall(rf"{product}\b", ptx)) == 2
        and re.search(rf"\b(?:add|sub)\.f(?:32|64)\b[^;]*,[^;]*{product}\b", block)
    ]


def multiply_adds(ptx):
    """Return the multiply-adds in the code, with those that begin a sum and add nothing."""
    return ptx.count("fma.rn.f32") + ptx.count("mul.f32")
