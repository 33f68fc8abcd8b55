"""`register-blocked` for 8-bit pictures and results: which problems keep bytes, what is computed and what it costs."""

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from engine.device.numba_cuda import cuda, missing
from engine.geometry.block import Block, Limits
from engine.geometry.border import Border
from engine.mask.mask import Mask
from engine.run.resolve import describe_problem
from engine.tasks.filtering import oracle
from engine.tasks.filtering.problem import Problem
from engine.variants.register_blocked.byte_tile_shape import ByteTileShape
from engine.variants.register_blocked.byte_tiles import byte_tile_shape
from engine.variants.register_blocked.register_blocked import SHARED_BYTES, VARIANT
from tests.engine.variants.counting import count

RANDOM = np.random.default_rng(8)
BLOCK = VARIANT.default_block


def problem_of(side: int, channels: int = 1, **others: Any) -> Problem:
    mask = Mask(np.ones((side, side)))
    types = {"dtype": "uint8", "result_dtype": "uint8"} | others
    return Problem(500, 700, channels, mask_shape=mask.shape, anchor=mask.anchor, **types)


def shape_of(problem: Problem) -> ByteTileShape:
    shape = byte_tile_shape(problem)
    assert shape is not None
    return shape


def test_that_only_8_bit_problems_whose_ghost_cells_are_bytes_keep_bytes() -> None:
    assert byte_tile_shape(problem_of(5)) is not None
    assert byte_tile_shape(problem_of(5, dtype="uint16", result_dtype="uint16")) is None
    assert byte_tile_shape(problem_of(5, result_dtype="float32")) is None
    for cval in (0.5, -1.0, 256.0, float("nan"), float("inf")):
        assert byte_tile_shape(problem_of(5, border=Border.CONSTANT, cval=cval)) is None
        assert byte_tile_shape(problem_of(5, border=Border.ZERO, cval=cval)) is not None
    assert byte_tile_shape(problem_of(5, border=Border.CONSTANT, cval=255.0)) is not None


@pytest.mark.parametrize(("channels", "most_cells"), [(1, 7), (2, 0), (3, 5), (4, 5)])
def test_that_masks_keep_bytes_up_to_the_size_to_which_that_is_faster(channels: int, most_cells: int) -> None:
    for side in range(1, 32):
        for mask_shape in ((side, 1), (1, side), (side, side)):
            problem = replace(problem_of(1, channels), mask_shape=mask_shape, anchor=(0, 0))
            assert (byte_tile_shape(problem) is not None) == (side <= most_cells), mask_shape


@pytest.mark.parametrize("channels", [1, 3, 4])
def test_that_every_shape_fits_shared_memory_and_a_thread_copies_one_piece_a_round(channels: int) -> None:
    for rows in range(1, 8):
        for columns in range(1, 8):
            for anchor in {0, columns // 2, columns - 1}:
                problem = replace(problem_of(1, channels), mask_shape=(rows, columns), anchor=(0, anchor))
                shape = byte_tile_shape(problem)
                if shape is not None:
                    assert shape.shared_bytes <= SHARED_BYTES
                    assert shape.tile_samples // 16 <= shape.threads


def test_that_a_picture_higher_than_the_grid_is_refused_and_the_highest_is_not() -> None:
    mask = Mask(np.ones((5, 5)))
    highest = replace(problem_of(5), height=65_535 * 24)
    assert VARIANT.unsupported(highest, mask, BLOCK, Limits()) is None
    refusal = VARIANT.unsupported(replace(highest, height=65_535 * 24 + 1), mask, BLOCK, Limits())
    assert refusal is not None
    assert "it takes up to 1,572,840." in refusal.reason


@pytest.mark.parametrize(("channels", "border"), [(1, Border.CONSTANT), (3, Border.REFLECT)])
def test_that_the_model_counts_what_the_source_does_and_results_are_rounded_exactly(
    channels: int, border: Border
) -> None:
    image = RANDOM.integers(0, 256, (7, 6, channels)).astype(np.uint8)
    # Halves: sums are exact, and some lie in the middle of two whole numbers.
    mask = Mask(RANDOM.integers(-3, 4, (3, 4)) / 2, anchor=(0, 3), offset=1.5)
    problem = replace(describe_problem(image, mask, border, 3.0), result_dtype="uint8")
    assert byte_tile_shape(problem) is not None
    counts = count(VARIANT, problem, mask, Block(32, 4), image)
    model = VARIANT.work(problem, BLOCK)
    # At an edge only those cells are filled that a result reads; the model counts whole tiles.
    assert model.picture_loads >= counts.picture_loads > 0
    assert model.shared_loads == counts.shared_loads
    assert model.shared_stores >= counts.shared_stores > 0
    assert model.constant_loads == counts.constant_loads
    assert model.flops == 2 * counts.multiplications
    assert model.global_store_bytes == counts.out_stores
    exact = oracle.correlate(image, mask, border, 3.0)
    assert np.array_equal(counts.out, np.rint(np.clip(exact, 0, 255)).astype(np.uint8))


@pytest.mark.nvvm
@pytest.mark.skipif(bool(missing), reason=missing or "numba-cuda is there")
@pytest.mark.parametrize(("side", "channels"), [(3, 1), (5, 1), (7, 1), (3, 3), (5, 3), (3, 4)])
def test_that_samples_are_copied_by_16_converted_once_a_row_and_packed_by_two(
    side: int, channels: int
) -> None:
    problem = problem_of(side, channels)
    shape = shape_of(problem)
    (step,) = VARIANT.passes(problem, Mask(np.ones((side, side))), BLOCK)
    ptx, _ = cuda.compile_ptx(step.kernel.py_func, step.signature, cc=(9, 0))
    results = shape.rows * shape.across
    assert re.search(r"cp\.async\.ca\.shared\.global \[[^,]*, \[[^,]*, 16;", ptx)
    assert ptx.count("cvt.pack.sat.u8.s32.b32") == results // 2
    used = shape.across + (side - 1) * channels
    assert ptx.count("cvt.rn.f32.u32") == used * (shape.rows + side - 1)
    assert ptx.count("fma.rn.f32") + ptx.count("mul.f32") == results * side * side
    at_once = min(16, 4 * shape.vectors)
    assert re.search({8: r"st\.global\.v2\.[bu]32", 16: r"st\.global\.v4\.[bu]32"}[at_once], ptx)
    assert re.findall(r"__local_depot|\b(?:ld|st)\.local|st\.shared\.f32|\.ftz", ptx) == []
    # A register may be named %f64, and an unused one may be declared.
    assert [line for line in ptx.splitlines() if re.search(r"\.f64\b", line) and ".reg" not in line] == []
    (launch,) = VARIANT.plan(problem, BLOCK)
    declared = dict(re.findall(r"\.(shared|const)\b[^;]*\.b8\s+[^\s\[]+\[(\d+)\]", ptx))
    assert int(declared["shared"]) == launch.shared_bytes
    assert int(declared["const"]) == launch.constant_bytes


@pytest.mark.nvvm
@pytest.mark.skipif(bool(missing), reason=missing or "numba-cuda is there")
def test_that_devices_before_8_0_load_and_store_instead_of_copying_ahead() -> None:
    (step,) = VARIANT.passes(problem_of(5), Mask(np.ones((5, 5))), BLOCK)
    ptx, _ = cuda.compile_ptx(step.kernel.py_func, step.signature, cc=(7, 5))
    assert "cp.async" not in ptx
    assert "ld.global.v4" in ptx
