"""The emitted filter down a column, compiled for this machine's processor, and on plain numbers."""

import math

import numpy as np
import pytest

from engine.variants.ir.register_tile import VECTOR
from engine.variants.separable_fused.column_filter import ColumnShape, column_filter
from tests.engine.variants.on_processor import on_the_processor

RANDOM = np.random.default_rng(31)
PITCH, CELL, START = 24, 8, np.float32(3.0)
# All rows written out, with a loop, and of a ring, from a place before its end.
SHAPES = [ColumnShape(rows, results, PITCH, 0) for rows, results in ((1, 4), (2, 5), (15, 6), (16, 1))]
SHAPES += [ColumnShape(rows, results, PITCH, 0) for rows, results in ((33, 8), (31, 4), (40, 5), (127, 1))]
SHAPES += [ColumnShape(rows, 4, PITCH, 64) for rows in (9, 25, 31, 33)]


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
    run = on_the_processor(column_filter(shape, 0, shape.mask_rows))
    for first in firsts(shape):
        sums = run(tile.ravel(), first, CELL, weights, START)
        for place, got in enumerate(sums):
            i, k = divmod(place, VECTOR)
            column = np.roll(tile, -first, axis=0)[i : i + shape.mask_rows, CELL + k]
            terms = [float(START), *(column.astype(np.float64) * weights)]
            assert abs(got - math.fsum(terms)) <= bound * math.fsum(map(abs, terms))


@pytest.mark.parametrize(
    "shape", SHAPES, ids=lambda s: f"{s.mask_rows} rows, {s.rows} results, {s.ring_rows}"
)
def test_that_both_backends_agree_on_whole_numbers(shape: ColumnShape) -> None:
    tile = RANDOM.integers(-50, 50, rows_of(shape) * PITCH).astype(np.float32)
    weights = RANDOM.integers(-9, 9, shape.mask_rows).astype(np.float32)
    function = column_filter(shape, 0, shape.mask_rows)
    run = on_the_processor(function)
    for first in firsts(shape):
        emitted = run(tile, first, CELL, weights, START)
        plain = function.py_func(tile, first, CELL, weights.reshape(-1, 1), START)
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
