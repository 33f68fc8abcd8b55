"""`register-blocked`: its refusals and shapes, which problems keep bytes, and the compiled code."""

import itertools
import re

import numpy as np
import pytest

from engine.geometry.border import Border
from engine.mask.mask import Mask
from engine.variants.fast.register_blocked import SHARED_BYTES, VARIANT, tile_shape
from engine.variants.fast.tile_shape import TileShape, byte_tile_shape
from engine.variants.passes import VECTOR
from engine.work.problem import Problem
from tests.engine.variants.emitted import multiply_adds, needs_nvvm, ptx_of, simulated_codes

BYTES = {"dtype": "uint8", "result_dtype": "uint8"}


def problem_of(rows, columns, channels=1, size=(500, 700), **others):
    shape = {"mask_shape": (rows, columns), "anchor": (rows // 2, columns // 2)}
    return Problem(*size, channels, **(shape | others))


@pytest.mark.slow
@pytest.mark.parametrize("itemsize", [1, 4])
def test_that_every_mask_up_to_31_fits_shared_memory_whatever_its_anchor(itemsize):
    for channels in [1, 2, 3, 4]:
        for rows, columns in itertools.product((1, 2, 5, 16, 31), range(1, 32)):
            for anchor in {0, columns // 2, columns - 1}:
                shape = tile_shape((rows, columns), anchor, channels, itemsize)
                assert shape.shared_bytes <= SHARED_BYTES, (rows, columns, anchor)
                # A thread's window begins on a vector, ends within the tile, and holds every sample it needs.
                assert shape.before % 4 == shape.window % 4 == 0
                assert shape.shift + shape.across + (columns - 1) * channels <= shape.window
                assert 31 * shape.across + shape.window <= shape.tile_samples
                # The window needs no moves from one round of the loop to the next.
                assert shape.unrolled_rows == rows or shape.unrolled_rows % shape.rows == 0


def test_that_only_8_bit_problems_whose_ghost_cells_are_bytes_keep_bytes():
    assert byte_tile_shape(problem_of(5, 5, **BYTES)) is not None
    assert byte_tile_shape(problem_of(5, 5, dtype="uint16", result_dtype="uint16")) is None
    assert byte_tile_shape(problem_of(5, 5, dtype="uint8", result_dtype="float32")) is None
    for cval, is_byte in ((0.5, 0), (-1.0, 0), (256.0, 0), (float("nan"), 0), (float("inf"), 0), (255.0, 1)):
        constant = problem_of(5, 5, border=Border.CONSTANT, cval=cval, **BYTES)
        assert (byte_tile_shape(constant) is not None) == bool(is_byte)
        assert byte_tile_shape(problem_of(5, 5, border=Border.ZERO, cval=cval, **BYTES)) is not None


FURTHER = [(3, "float32", 1), (5, "uint8", 3), (9, "float32", 1), (17, "uint16", 2), (31, "uint8", 4)]


@pytest.mark.slow
@needs_nvvm
@pytest.mark.parametrize("sorts", [[(31, "float32", 1)], pytest.param(FURTHER, marks=pytest.mark.matrix)])
def test_that_loads_and_stores_are_whole_vectors_and_16_bits_are_rounded_by_one_instruction(sorts):
    problems = [problem_of(side, side, channels, dtype=dtype) for side, dtype, channels in sorts]
    codes = [(problem, ptx_of(VARIANT, problem, Mask(np.ones(problem.mask_shape)))) for problem in problems]
    codes += simulated_codes(VARIANT)
    for problem, ptx in codes:
        assert "ld.shared.v4.f32" in ptx
        assert "ld.const" in ptx
        assert ("cp.async.ca.shared.global" if problem.itemsize == 4 else "st.shared.v4.f32") in ptx
        rows, columns = problem.mask_shape
        shape = tile_shape(problem.mask_shape, problem.anchor[1], problem.channels, problem.itemsize)
        in_loop = rows // shape.unrolled_rows
        written = rows if in_loop < 2 else rows % shape.unrolled_rows + shape.unrolled_rows
        assert multiply_adds(ptx) == shape.rows * shape.across * written * columns
        if problem.result_dtype == "float32":
            assert "st.global.v4.f32" in ptx
        elif problem.result_dtype == "uint16":
            assert ptx.count("cvt.rni.sat.u16.f32") == shape.rows * shape.across
            assert re.search(r"st\.global\.(?:v4\.[bu]16|v2\.[bu]32|[bu]64)", ptx)
    assert {problem.result_dtype for problem, _ in codes} >= {"float32", "uint16"}


@pytest.mark.slow
@needs_nvvm
def test_that_devices_before_8_0_load_and_store_instead_of_copying_ahead():
    ptx = ptx_of(VARIANT, problem_of(3, 3), Mask(np.ones((3, 3))), (7, 5))
    assert "cp.async" not in ptx
    assert "ld.global.v4.f32" in ptx


@pytest.mark.slow
@needs_nvvm
@pytest.mark.parametrize(
    ("side", "channels"), [(5, 3), (3, 4), *(pytest.param(n, 1, marks=pytest.mark.matrix) for n in (3, 7))]
)
def test_that_bytes_are_copied_by_16_and_rounded_by_one_instruction(side, channels):
    problem = problem_of(side, side, channels, **BYTES)
    shape, ptx = byte_tile_shape(problem), ptx_of(VARIANT, problem, Mask(np.ones((side, side))))
    results = shape.rows * shape.across
    assert re.search(r"cp\.async\.ca\.shared\.global \[[^,]*, \[[^,]*, 16;", ptx)
    assert ptx.count("cvt.rni.s32.f32") == results
    assert ptx.count("cvt.pack.sat.u8.s32.b32") == results // 2
    used = shape.across + (side - 1) * channels
    assert ptx.count("cvt.rn.f32.u32") == used * (shape.rows + side - 1)
    assert multiply_adds(ptx) == results * side * side
    at_once = min(16, 4 * shape.vectors)
    assert re.search({8: r"st\.global\.v2\.[bu]32", 16: r"st\.global\.v4\.[bu]32"}[at_once], ptx)
    assert "st.shared.f32" not in ptx
    # A register may be named %f64, and an unused one may be declared.
    assert [one for one in ptx.splitlines() if re.search(r"\.f64\b", one) and ".reg" not in one] == []


SHAPES = [tile_shape((side, side), side // 2, 1, 4) for side in (1, 2, 5, 9, 31)]
SHAPES += [tile_shape((5, 7), 0, channels, 1) for channels in (2, 3, 4)]
SHAPES += [TileShape((7, 7), 1, 4, 1, vectors) for vectors in (2, 4)]


def test_that_threads_that_read_at_once_meet_in_no_bank():
    for shape in SHAPES:
        for number in range(shape.window // VECTOR):
            # A quarter of a warp reads its 16 bytes per thread from the 32 banks at once (8 vectors).
            banks = {shape.vector_index(lane * shape.vectors + number) % 8 for lane in range(8)}
            assert len(banks) == 8
