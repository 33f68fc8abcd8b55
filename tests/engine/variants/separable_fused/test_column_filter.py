"""The emitted filter down a column, compiled for this machine's processor: the very builder that makes the CUDA code."""

import math

import numpy as np
import pytest
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from engine.variants.ir.cuda_ir import F32, constant
from engine.variants.ir.register_tile import VECTOR
from engine.variants.separable_fused.cuda_column_filter import ColumnFilter, ColumnShape, column_filter

RANDOM = np.random.default_rng(31)
PITCH, CELL, START = 24, 8, 3.0
# All rows written out, with a loop, and of a ring, from a place before its end.
SHAPES = [ColumnShape(rows, results, PITCH, 0) for rows, results in ((1, 4), (2, 5), (15, 6), (16, 1))]
SHAPES += [ColumnShape(rows, results, PITCH, 0) for rows, results in ((33, 8), (31, 4), (40, 5), (127, 1))]
SHAPES += [ColumnShape(rows, 4, PITCH, 64) for rows in (9, 25, 31, 33)]


def on_the_processor(shape: ColumnShape, first: int):
    """Return a function of (cells, weights), flat float32, that runs the emitted code on this machine."""

    @intrinsic
    def filter_down(typingctx, cells, weights):
        signature = types.UniTuple(types.float32, shape.rows * VECTOR)(cells, weights)

        def codegen(context, builder, signature, arguments):
            cells, weights = (
                context.make_array(kind)(context, builder, value).data
                for kind, value in zip(signature.args, arguments, strict=True)
            )
            start = ir.Constant(F32, START)
            places = constant(first), constant(CELL)
            sums = ColumnFilter(shape, builder, cells, *places, weights, start).emit()
            return context.make_tuple(builder, signature.return_type, sums)

        return signature, codegen

    return njit(lambda cells, weights: filter_down(cells, weights))


def rows_of(shape: ColumnShape) -> int:
    """Return the rows that the tile has."""
    return shape.ring_rows or shape.mask_rows + shape.rows - 1


def firsts(shape: ColumnShape) -> list[int]:
    """Return the rows at which a thread may begin."""
    return [0, 28, 32, 60] if shape.ring_rows else [0]


@pytest.mark.parametrize(
    "shape", SHAPES, ids=lambda s: f"{s.mask_rows} rows, {s.rows} results, {s.ring_rows}"
)
def test_that_each_result_is_the_sum_over_its_column(shape: ColumnShape) -> None:
    tile = RANDOM.standard_normal((rows_of(shape), PITCH)).astype(np.float32)
    weights = RANDOM.standard_normal(shape.mask_rows).astype(np.float32)
    unit = 2.0**-24
    bound = (shape.mask_rows + 1) * unit / (1 - (shape.mask_rows + 1) * unit)
    for first in firsts(shape):
        sums = on_the_processor(shape, first)(tile.ravel(), weights)
        for place, got in enumerate(sums):
            i, k = divmod(place, VECTOR)
            column = np.roll(tile, -first, axis=0)[i : i + shape.mask_rows, CELL + k]
            terms = [START, *(column.astype(np.float64) * weights)]
            assert abs(got - math.fsum(terms)) <= bound * math.fsum(map(abs, terms))


@pytest.mark.parametrize(
    "shape", SHAPES, ids=lambda s: f"{s.mask_rows} rows, {s.rows} results, {s.ring_rows}"
)
def test_that_the_emitted_code_and_its_plain_twin_agree_on_whole_numbers(shape: ColumnShape) -> None:
    tile = RANDOM.integers(-50, 50, rows_of(shape) * PITCH).astype(np.float32)
    weights = RANDOM.integers(-9, 9, shape.mask_rows).astype(np.float32)
    twin = column_filter(shape, 0, shape.mask_rows)
    twin = getattr(twin, "py_func", twin)
    for first in firsts(shape):
        emitted = on_the_processor(shape, first)(tile, weights)
        plain = twin(tile, first, CELL, weights.reshape(-1, 1), START)
        assert [float(value) for value in emitted] == [float(value) for value in plain]


def test_that_the_multiply_adds_in_the_code_are_those_that_the_shape_says() -> None:
    for shape in SHAPES:
        loop = shape.rounds * shape.round_rows
        written = 4 * sum(
            0 <= j - i < shape.mask_rows
            for j in range(shape.rows + shape.mask_rows - 1)
            if not shape.rows <= j < shape.rows + loop
            for i in range(shape.rows)
        )
        assert shape.written == written + (4 * shape.rows * shape.round_rows if loop else 0)
