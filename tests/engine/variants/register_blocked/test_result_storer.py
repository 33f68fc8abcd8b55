"""What stores a thread's results: the emitted code on this machine's processor, and its plain twin.

What only a GPU has (`cvt.rni`, `cvt.pack`) is replaced by plain instructions; all else is the very code that kernels have.
"""

from dataclasses import dataclass

import numpy as np
import pytest
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from engine.variants.ir import cuda_quantise
from engine.variants.ir.cuda_ir import I8, I32, constant
from engine.variants.ir.cuda_quantise import quantised_twin
from engine.variants.register_blocked.cuda_result_storer import result_storer

RANDOM = np.random.default_rng(5)


@dataclass(frozen=True)
class Results:
    """Rows of results of a thread."""

    rows: int
    across: int


def packed_plainly(builder: ir.IRBuilder, values: list[ir.Value]) -> ir.Value:
    """Do what `packed_word` does with whole numbers from 0 to 255."""
    word: ir.Value = constant(0)
    for k, value in enumerate(values):
        byte = builder.zext(builder.fptoui(value, I8), I32)
        word = builder.or_(word, builder.shl(byte, constant(8 * k)))
    return word


def quantised_plainly(builder: ir.IRBuilder, value: ir.Value, itemsize: int) -> ir.Value:
    """Do what `quantised_value` does with whole numbers that the type has."""
    return builder.fptoui(value, ir.IntType(8 * itemsize))


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float32"])
@pytest.mark.parametrize(
    "block", [Results(3, 4), Results(2, 8), Results(1, 12), Results(2, 16), Results(8, 1)], ids=str
)
def test_that_results_are_stored_where_they_belong_and_nothing_past_the_picture(
    block: Results, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cuda_quantise, "packed_word", packed_plainly)
    monkeypatch.setattr(cuda_quantise, "quantised_value", quantised_plainly)
    store = result_storer(block, np.dtype(dtype).itemsize)

    @intrinsic
    def store_here(typingctx, out, row, sample, samples, results):
        _, codegen = store._defn(typingctx, out, row, sample, samples, results)
        return types.void(out, row, sample, samples, results), codegen

    run = njit(lambda out, row, sample, samples, results: store_here(out, row, sample, samples, results))
    values = RANDOM.integers(0, 256, block.rows * block.across)
    results = tuple(np.float32(value) for value in values)
    # Rows of whole vectors; rows that begin anywhere; a picture of fewer rows and columns than a thread has; one that ends
    # before a thread's last sample, and one that ends before its last row.
    pictures = ((9, 64, 64, 2), (9, 63, 63, 2), (2, 3, 16, 0))
    last = block.rows
    pictures += ((9, 3 * block.across - 1, 64, 2), (last, 64, 64, 2), (last + 1, 64, 64, 2))
    for height, width, row_pixels, first in pictures:
        # Three rows more than the picture has.
        wanted = np.full((height + 3, row_pixels, 1), 99, dtype)
        emitted, plain, sample = wanted.copy(), wanted.copy(), first * block.across
        inside = wanted[1 : min(1 + last, height), sample : min(sample + block.across, width), 0]
        inside[:] = values.reshape(block.rows, block.across)[: inside.shape[0], : inside.shape[1]]
        run(emitted[:height], 1, sample, width, results)
        store.py_func(plain[:height], 1, sample, width, results)
        assert np.array_equal(emitted, wanted)
        assert np.array_equal(plain, wanted)


@pytest.mark.parametrize(
    ("value", "byte"), [(0.5, 0), (1.5, 2), (254.5, 254), (255.5, 255), (-3.0, 0), (1e30, 255), (np.nan, 0)]
)
def test_that_a_result_becomes_the_nearest_even_byte_and_nan_becomes_0(value: float, byte: int) -> None:
    assert quantised_twin(np.float32(value), 1) == byte
