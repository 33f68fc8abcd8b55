"""Which masks of `constant` the compiler keeps in constant memory, and which become immediates."""

import struct

import numpy as np
import pytest

from engine.device.numba_cuda import cuda, missing
from engine.geometry.block import Block
from engine.geometry.border import Border
from engine.mask.mask import Mask
from engine.tasks.filtering.problem import Problem
from engine.variants.ladder import constant
from tests.ptx.test_ptx import CAPABILITIES, bytes_of, every_pair

pytestmark = [
    pytest.mark.slow,
    pytest.mark.nvvm,
    pytest.mark.skipif(bool(missing), reason=missing or "numba-cuda is there"),
]


def weights_of(rows, columns):
    return np.random.default_rng(3).standard_normal((rows, columns))


def compiled(mask, border, dtype, capability, channels=1):
    problem = Problem(100, 200, channels, dtype, mask.shape, mask.anchor, border)
    (step,) = constant.VARIANT.passes(problem, mask, Block(32, 8))
    return cuda.compile_ptx(step.kernel.py_func, step.signature, cc=capability)[0], step


@every_pair
def test_that_the_weights_of_a_3_by_3_mask_become_immediates(capability, dtype, border):
    mask = Mask(weights_of(3, 3))
    ptx, step = compiled(mask, border, dtype, capability)
    assert bytes_of("const", ptx) == step.launch.constant_bytes == 0
    assert "ld.const" not in ptx
    for weight in mask.weights32.flat:
        assert f"0f{struct.pack('>f', weight).hex().upper()}" in ptx


@pytest.mark.parametrize("capability", CAPABILITIES, ids=lambda pair: f"{pair[0]}.{pair[1]}")
@pytest.mark.parametrize(
    ("weights", "border"),
    [
        (weights_of(5, 5), Border.ZERO),
        # A compiler could see that every index of these gives the same.
        (np.ones((5, 5)) / 25, Border.REPLICATE),
        (np.zeros((1, 4)), Border.CONSTANT),
        (np.repeat([[1.0], [2.0], [3.0], [4.0]], 2, axis=1), Border.MIRROR),
        (weights_of(1, 127), Border.WRAP),
        (weights_of(127, 1), Border.ZERO),
        (weights_of(63, 63), Border.REFLECT),
    ],
    ids=["5x5", "5x5 box", "1x4 zeros", "4x2 equal columns", "1x127", "127x1", "63x63"],
)
def test_that_a_larger_mask_stays_in_constant_memory(weights, border, capability):
    ptx, step = compiled(Mask(weights), border, "float32", capability)
    assert bytes_of("const", ptx) == step.launch.constant_bytes == weights.size * 4
    assert "ld.const.f32" in ptx or "ld.const.b32" in ptx


@pytest.mark.parametrize("shape", [(1, 1), (1, 3), (3, 1), (2, 2), (3, 2)], ids=str)
def test_that_every_smaller_mask_becomes_immediates_too(shape):
    ptx, step = compiled(Mask(weights_of(*shape)), Border.MIRROR, "uint8", (9, 0), 3)
    assert bytes_of("const", ptx) == step.launch.constant_bytes == 0
