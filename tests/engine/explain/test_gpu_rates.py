"""The kernels that measure a GPU: the compiler leaves each of them all its work. It needs NVVM, no device."""

import re

import pytest

from engine.device.device_list import missing
from engine.device.numba_cuda import cuda, float32, int32
from engine.explain import gpu_limits_code as rates

pytestmark = [
    pytest.mark.slow,
    pytest.mark.nvvm,
    pytest.mark.skipif(bool(missing), reason="needs the CUDA compiler"),
]
CAPABILITIES = ((7, 5), (8, 6), (9, 0))
VALUES = (float32, float32, int32, int32, float32[::1])
CHAINED = rates._CHAINS * rates._STEPS
# What a round executes, by what the instruction begins with.
ARITHMETIC = {
    rates.MULTIPLY_ADDS: {"fma.rn.f32": CHAINED},
    rates.MIXED: {"fma.rn.f32": CHAINED, "add.s32": CHAINED // 2, "xor.b32": CHAINED // 2},
    rates.INT8_TENSOR: {"mma.sync.aligned.m16n8k32": 64},
}


def loops_of(kernel, signature, capability):
    """Return the instructions of each loop of a kernel: from a label to a branch back to it."""
    ptx, _ = cuda.compile_ptx(kernel.py_func, signature, cc=capability)
    found = re.findall(r"^(\$\w+):((?:(?!^\$).)*?)bra(?:\.uni)?\s+\1;", ptx, re.MULTILINE | re.DOTALL)
    return [body for _, body in found]


def count(body, name):
    """Return how many instructions begin with a name, but for the one that counts the rounds down."""
    return len(re.findall(rf"^\s+{re.escape(name)}(?!.*, -1;)", body, re.MULTILINE))


def test_that_a_round_of_arithmetic_has_as_many_instructions_as_are_counted():
    for (work, executed), capability in zip(ARITHMETIC.items(), CAPABILITIES, strict=True):
        (loop,) = loops_of(rates.arithmetic_kernel(work.name), VALUES, capability)
        assert {name: count(loop, name) for name in executed} == executed
        # A product of 16 x 8 sums of 32 counts its multiply-adds once for the 32 threads of the warp.
        each = 16 * 8 if work is rates.INT8_TENSOR else 1
        assert sum(executed.values()) * each == work.units


def test_that_a_round_of_loads_reads_what_is_counted_and_from_l2_passes_the_first_cache_by():
    shared = rates.shared_kernel(), (int32, float32[::1])
    l2 = rates.l2_kernel(), (float32[::1], int32, float32[::1])
    for capability in CAPABILITIES[::2]:
        for kernel, name, work in (
            (shared, "ld.volatile.shared.v4.f32", rates.SHARED_LOADS),
            (l2, "ld.global.cg.v4.f32", rates.L2_LOADS),
        ):
            assert 16 * max(count(loop, name) for loop in loops_of(*kernel, capability)) == work.units
