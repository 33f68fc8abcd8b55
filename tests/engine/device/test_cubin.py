"""What a kernel takes, read from its machine code, compiled here for GPUs that are not here."""

import struct

import numpy as np
import pytest

from engine.device.device_list import missing
from engine.device.kernel_code import resources_of
from engine.geometry.block import Block, Limits
from engine.mask.mask import Mask
from engine.tasks.network.operands import trained_weights
from engine.tasks.network.problem import ForwardPass
from engine.tasks.network.task import network_variant
from engine.work.filtering.variants import variant
from engine.work.operations.contract import operation_variant
from engine.work.problem import OperationProblem, Parameters, Problem

if not missing:
    from engine.device.kernel_code import compiled, with_code
    from engine.device.numba_cuda import cuda, float32, int64

pytestmark = [
    pytest.mark.nvvm,
    pytest.mark.slow,
    pytest.mark.skipif(bool(missing), reason="needs the CUDA compiler"),
]
# The oldest, those from which the headers differ, and the newest.
CAPABILITIES = ((7, 5), (9, 0), (12, 1))


def code_of(step, capability):
    return with_code(step.kernel, step.signature, capability, bytes)


def passes_of(key):
    mask = Mask(np.ones((5, 7)))
    problem = Problem(100, 200, mask_shape=mask.shape, anchor=mask.anchor)
    return variant(key).passes(problem, mask, Block(32, 8))


def registers_of_the_code_section(content):
    """Return the registers that the headers of machine code of before 9.0 have too."""
    (first,), (size, count, _) = struct.unpack_from("<Q", content, 40), struct.unpack_from("<3H", content, 58)
    sections = [struct.unpack_from("<IIQQQQII", content, first + n * size) for n in range(count)]
    executable = 4
    (found,) = [section[7] >> 24 for section in sections if section[2] & executable]
    return found


def test_that_shared_memory_and_constants_are_those_of_the_plan_on_every_architecture():
    for capability in CAPABILITIES:
        (tiled,), (constant,) = passes_of("tiled"), passes_of("constant")
        found = [resources_of(code_of(step, capability)) for step in (tiled, constant)]
        assert [one.shared_bytes for one in found] == [tiled.launch.shared_bytes, 0]
        assert [one.constant_bytes for one in found] == [0, constant.launch.constant_bytes]
        assert [one.barriers for one in found] == [1, 0]
        assert all(16 <= one.registers <= 255 for one in found)


def test_that_registers_are_those_of_the_section_of_code():
    for key, capability in (("tiled", (7, 5)), ("cached-constant", (8, 6))):
        (step,) = passes_of(key)
        code = code_of(step, capability)
        assert resources_of(code).registers == registers_of_the_code_section(code)


def test_that_a_function_that_a_kernel_calls_is_not_taken_for_the_kernel():
    """The kernel divides 64-bit integers by a function of the compiler's own, which has attributes too."""
    known = network_variant("network-constant")
    step = known.passes(ForwardPass(100), trained_weights(), known.default_block)[0]
    code = code_of(step, (9, 0))
    assert b".text.__cuda_sm20_div_s64" in code
    assert resources_of(code).constant_bytes == step.launch.constant_bytes


def test_that_an_array_of_a_thread_is_local_memory():
    shape = 64, 64, 1
    settings = Parameters((("size", 3),))
    problem = OperationProblem("median", *shape, "float32", shape, "float32", settings)
    chosen = operation_variant("median-local", "median")
    assert chosen.unsupported(problem, None, Block(16, 16), Limits()) is None
    (step,) = chosen.passes(problem, None, Block(16, 16))
    # Nine samples of a window, float32.
    assert resources_of(code_of(step, (9, 0))).local_bytes >= 9 * 4


def test_that_registers_that_have_no_room_are_local_memory():
    def summed(values, count):
        parts = cuda.local.array(48, float32)
        for k in range(48):
            parts[k] = values[k, count]
        for k in range(48):
            values[k, count] = parts[47 - k] + parts[0]

    signature = (float32[:, ::1], int64)
    free, bounded = (
        resources_of(compiled(cuda.jit(max_registers=most)(summed), signature, (9, 0))) for most in (255, 24)
    )
    assert free.registers > 24 >= bounded.registers
    assert bounded.local_bytes > 0


def test_that_what_is_no_machine_code_of_a_kernel_is_refused():
    (step,) = passes_of("naive")
    code = code_of(step, (8, 6))
    for damaged in (b"", code[:300], b"\0" * len(code)):
        with pytest.raises(ValueError, match="not the machine code"):
            resources_of(damaged)
