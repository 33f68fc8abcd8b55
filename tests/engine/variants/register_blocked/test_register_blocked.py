"""`register-blocked`: its refusals, its shapes, and the emitted code's arithmetic in both backends."""

import re
from dataclasses import replace

import numpy as np
import pytest

from engine.device.numba_cuda import cuda, missing
from engine.geometry.block import Block, Limits
from engine.mask.mask import Mask
from engine.tasks.filtering.problem import Problem
from engine.variants.register_blocked.register_blocked import SHARED_BYTES, VARIANT, tile_shape

BLOCK = VARIANT.default_block


def problem_of(height: int, width: int, side: int, channels: int = 1, dtype: str = "float32") -> Problem:
    mask = Mask(np.ones((side, side)))
    return Problem(height, width, channels, dtype, mask.shape, mask.anchor)


@pytest.mark.parametrize("shape", [(32, 3), (3, 32), (63, 63), (1, 127)])
def test_that_a_mask_over_31_is_refused_with_what_would_do(shape: tuple[int, int]) -> None:
    mask = Mask(np.ones(shape))
    problem = Problem(50, 50, mask_shape=mask.shape, anchor=mask.anchor)
    refusal = VARIANT.unsupported(problem, mask, BLOCK, Limits())
    assert refusal is not None
    assert f"A mask of {shape[0]} x {shape[1]}" in refusal.reason
    assert "up to 31 rows and columns. Use tiled." in refusal.reason


def test_that_a_picture_higher_than_the_grid_is_refused_and_the_highest_is_not() -> None:
    mask = Mask(np.ones((3, 3)))
    assert VARIANT.unsupported(problem_of(65_535 * 16, 3, 3), mask, BLOCK, Limits()) is None
    refusal = VARIANT.unsupported(problem_of(65_535 * 16 + 1, 3, 3), mask, BLOCK, Limits())
    assert refusal is not None
    assert (
        "1,048,561 rows need more blocks down than CUDA allows; it takes up to 1,048,560." in refusal.reason
    )


@pytest.mark.parametrize("itemsize", [1, 4])
@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_that_every_mask_up_to_31_fits_shared_memory_whatever_its_anchor(
    channels: int, itemsize: int
) -> None:
    for rows in (1, 2, 5, 16, 31):
        for columns in range(1, 32):
            for anchor in {0, columns // 2, columns - 1}:
                shape = tile_shape((rows, columns), anchor, channels, itemsize)
                assert shape.shared_bytes <= SHARED_BYTES, (rows, columns, anchor)
                # A thread's window begins on a vector, ends within the tile, and holds every sample it needs.
                assert shape.before % 4 == 0
                assert shape.window % 4 == 0
                assert shape.shift + shape.across + (columns - 1) * channels <= shape.window
                assert 31 * shape.across + shape.window <= shape.tile_samples
                # The window needs no moves from one round of the loop to the next.
                assert shape.unrolled_rows == rows or shape.unrolled_rows % shape.rows == 0


def test_that_a_device_with_little_shared_memory_is_refused_in_words() -> None:
    mask = Mask(np.ones((31, 31)))
    refusal = VARIANT.unsupported(problem_of(99, 99, 31), mask, BLOCK, Limits(shared_bytes=16_384))
    assert refusal is not None
    assert "bytes of shared memory for its tile; a block has 16,384" in refusal.reason


def test_that_the_block_of_the_request_does_not_matter() -> None:
    problem, mask = problem_of(40, 300, 5), Mask(np.ones((5, 5)))
    assert VARIANT.plan(problem, Block(7, 3)) == VARIANT.plan(problem, BLOCK)
    assert VARIANT.unsupported(problem, mask, Block(0, 0), Limits()) is None
    assert not VARIANT.uses_block


def test_that_loads_fall_far_below_one_a_tap() -> None:
    work = VARIANT.work(problem_of(4096, 4096, 5), BLOCK)
    assert work.picture_loads < 1.5 * 4096 * 4096
    # `tiled` has one a tap: 25.
    assert work.shared_loads < 8 * 4096 * 4096


@pytest.mark.nvvm
@pytest.mark.skipif(bool(missing), reason=missing or "numba-cuda is there")
@pytest.mark.parametrize(
    ("side", "dtype", "channels"),
    [
        (3, "float32", 1),
        (5, "uint8", 3),
        (9, "float32", 1),
        (17, "uint16", 2),
        (31, "float32", 1),
        (31, "uint8", 4),
    ],
)
def test_that_loads_and_stores_are_whole_vectors_and_local_memory_is_not_used(
    side: int, dtype: str, channels: int
) -> None:
    problem, mask = problem_of(500, 700, side, channels, dtype), Mask(np.ones((side, side)))
    (step,) = VARIANT.passes(problem, mask, BLOCK)
    ptx, _ = cuda.compile_ptx(step.kernel.py_func, step.signature, cc=(9, 0))
    copied = "cp.async.ca.shared.global" if dtype == "float32" else "st.shared.v4.f32"
    assert copied in ptx
    assert "ld.shared.v4.f32" in ptx
    assert "st.global.v4.f32" in ptx
    assert "ld.const" in ptx
    shape = tile_shape(mask.shape, mask.anchor[1], channels, problem.itemsize)
    in_loop = side // shape.unrolled_rows
    written = side if in_loop < 2 else side % shape.unrolled_rows + shape.unrolled_rows
    in_code = shape.rows * shape.across * written * side
    assert ptx.count("fma.rn.f32") + ptx.count("mul.f32") == in_code
    assert re.findall(r"__local_depot|\b(?:ld|st)\.local", ptx) == []


@pytest.mark.nvvm
@pytest.mark.skipif(bool(missing), reason=missing or "numba-cuda is there")
def test_that_devices_before_8_0_load_and_store_instead_of_copying_ahead() -> None:
    (step,) = VARIANT.passes(problem_of(500, 700, 5), Mask(np.ones((5, 5))), BLOCK)
    ptx, _ = cuda.compile_ptx(step.kernel.py_func, step.signature, cc=(7, 5))
    assert "cp.async" not in ptx
    assert "ld.global.v4.f32" in ptx


@pytest.mark.nvvm
@pytest.mark.skipif(bool(missing), reason=missing or "numba-cuda is there")
@pytest.mark.parametrize(
    ("dtype", "rounding"), [("uint8", "cvt.rni.s32.f32"), ("uint16", "cvt.rni.sat.u16.f32")]
)
def test_that_results_of_8_and_16_bit_are_rounded_by_one_instruction_and_stored_four_at_once(
    dtype: str, rounding: str
) -> None:
    problem = replace(problem_of(500, 700, 9, 1, dtype), result_dtype=dtype)
    (step,) = VARIANT.passes(problem, Mask(np.ones((9, 9))), BLOCK)
    ptx, _ = cuda.compile_ptx(step.kernel.py_func, step.signature, cc=(9, 0))
    shape = tile_shape((9, 9), 4, 1, problem.itemsize)
    results = shape.rows * shape.across
    assert ptx.count(rounding) == results
    assert ptx.count("cvt.pack.sat.u8.s32.b32") == (results // 2 if dtype == "uint8" else 0)
    assert re.search(r"st\.global\.(?:v4\.[bu]16|v2\.[bu]32|[bu]32|[bu]64)", ptx)
