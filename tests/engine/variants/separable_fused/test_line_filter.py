"""The filters along rows and down columns, compiled for this machine and on plain numbers."""

import numpy as np
import pytest

from engine.variants.box.tile_sums import ColumnWindows, RowWindows
from engine.variants.box.window_sums import Windows
from engine.variants.ir.register_tile import VECTOR
from engine.variants.separable_fused import line_filter
from engine.variants.separable_fused.column_filter import ColumnShape, column_filter
from engine.variants.separable_fused.line_filter import column_weigher, row_weigher
from tests.engine.variants.ir.emitted import on_both, whole

START = np.float32(3.0)
PITCH, CELL = 24, 8
# All rows written out, with a loop, and of a ring, from a place before its end.
SHAPES = [ColumnShape(rows, results, PITCH, 0) for rows, results in ((1, 4), (2, 5), (15, 6), (16, 1))]
SHAPES += [ColumnShape(rows, results, PITCH, 0) for rows, results in ((33, 8), (31, 4), (40, 5), (127, 1))]
SHAPES += [ColumnShape(rows, 4, PITCH, 64) for rows in (9, 25, 31, 33)]
ROWS = [
    RowWindows(Windows(length, apart, 16), shift)
    for length, apart, shift in ((1, 1, 0), (27, 1, 3), (12, 3, 1), (63, 1, 1), (63, 3, 2), (63, 4, 0))
]
COLUMNS = [
    ColumnWindows(rows, count, 1, 12, ring)
    for rows, count, ring in ((27, 16, 48), (63, 16, 96), (63, 16, 80))
]
# All weights one after another; or a loop of many rounds.
either_way = pytest.mark.parametrize("most", [5000, 100], ids=["written out", "in a loop"])


@pytest.mark.slow
@pytest.mark.parametrize(
    "shape", SHAPES, ids=lambda s: f"{s.mask_rows} rows, {s.rows} results, {s.ring_rows}"
)
def test_that_each_result_is_the_sum_over_its_column(shape):
    tile = whole((shape.ring_rows or shape.mask_rows + shape.rows - 1, PITCH), 50)
    weights = whole((shape.mask_rows, 1), 90)
    run = on_both(column_filter(shape, 0, shape.mask_rows))
    for first in (0, 28, 32, 60) if shape.ring_rows else (0,):
        columns = np.roll(tile, -first, axis=0)[:, CELL : CELL + VECTOR]
        wanted = [START + (columns[i : i + shape.mask_rows] * weights).sum(axis=0) for i in range(shape.rows)]
        assert run(tile.ravel(), first, CELL, weights, START) == np.ravel(wanted).tolist()


def test_that_the_multiply_adds_in_the_code_are_those_that_the_shape_says():
    for shape in SHAPES:
        loop = shape.rounds * shape.round_rows
        written = 4 * sum(
            0 <= j - i < shape.mask_rows
            for j in range(shape.rows + shape.mask_rows - 1)
            if not shape.rows <= j < shape.rows + loop
            for i in range(shape.rows)
        )
        assert shape.written == written + (4 * shape.rows * shape.round_rows if loop else 0)


def windows_of(line, weights, apart, count, start):
    """Return the sums over neighbouring windows of a line."""
    last = (weights.size - 1) * apart + 1
    return [float(start + (line[k : k + last : apart] * weights.ravel()).sum()) for k in range(count)]


@pytest.mark.slow
@either_way
@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.windows} {row.shift}")
def test_that_each_result_along_a_row_is_the_sum_over_its_window(row, most, monkeypatch):
    monkeypatch.setattr(line_filter, "MOST_UNROLLED", most)
    # No more cells than it may read.
    cells, weights = whole((row.read,), 50), whole((1, row.windows.length), 90)
    found = on_both(row_weigher(row, weights.size))(cells, 0, weights)
    assert found == windows_of(cells[row.shift :], weights, row.windows.apart, row.windows.count, 0.0)


@either_way
@pytest.mark.parametrize("down", COLUMNS, ids=lambda down: f"{down.mask_rows} {down.rows} {down.ring_rows}")
def test_that_each_result_down_a_ring_is_the_sum_over_its_column(down, most, monkeypatch):
    monkeypatch.setattr(line_filter, "MOST_UNROLLED", most)
    ring, weights = whole((down.ring_rows, down.pitch), 50), whole((down.mask_rows, 1), 90)
    cells = np.concatenate([np.full(8, np.nan, np.float32), ring.ravel()])
    run = on_both(column_weigher(down, 8, 0, weights.size))
    for first in (0, down.rows, down.ring_rows - down.rows):
        line = np.roll(ring[:, 5], -first)
        assert run(cells, first, 5, weights, START) == windows_of(line, weights, 1, down.rows, START)
