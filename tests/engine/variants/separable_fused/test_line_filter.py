"""The emitted filter of neighbouring windows of a line, compiled for this machine's processor, and on plain numbers."""

import math

import numpy as np
import pytest

from engine.variants.box.tile_sums import ColumnWindows, RowWindows
from engine.variants.box.window_sums import Windows
from engine.variants.separable_fused import line_filter
from engine.variants.separable_fused.line_filter import column_weigher, row_weigher
from tests.engine.variants.on_processor import on_the_processor

RANDOM = np.random.default_rng(31)
START = np.float32(3.0)
ROWS = [
    RowWindows(Windows(length, apart, 16), shift)
    for length, apart, shift in ((1, 1, 0), (27, 1, 3), (12, 3, 1))
]
ROWS += [RowWindows(Windows(63, apart, 16), shift) for apart, shift in ((1, 1), (3, 2), (4, 0))]
COLUMNS = [
    ColumnWindows(rows, count, 1, 12, ring)
    for rows, count, ring in ((27, 16, 48), (63, 16, 96), (63, 16, 80))
]
# All weights one after another; or a loop of many rounds.
MOST = [5000, 100]


def check(
    got: tuple[float, ...], start: float, cells: np.ndarray, weights: np.ndarray, first: int, apart: int
) -> None:
    """Compare with exact sums; `cells` is the line from its first cell on."""
    unit = 2.0**-24
    bound = (weights.size + 1) * unit / (1 - (weights.size + 1) * unit)
    for place, value in enumerate(got):
        line = cells[first + place :: apart][: weights.size]
        terms = [start, *(line.astype(np.float64) * weights)]
        assert abs(value - math.fsum(terms)) <= bound * math.fsum(map(abs, terms))


@pytest.mark.parametrize("most", MOST)
@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.windows} {row.shift}")
def test_that_each_result_along_a_row_is_the_sum_over_its_window(
    row: RowWindows, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(line_filter, "MOST_UNROLLED", most)
    # No more cells than it may read.
    cells = RANDOM.standard_normal(row.read).astype(np.float32)
    weights = RANDOM.standard_normal(row.windows.length).astype(np.float32)
    got = on_the_processor(row_weigher(row, weights.size))(cells, 0, weights)
    check(got, 0.0, cells, weights, row.shift, row.windows.apart)


@pytest.mark.parametrize("most", MOST)
@pytest.mark.parametrize("down", COLUMNS, ids=lambda down: f"{down.mask_rows} {down.rows} {down.ring_rows}")
def test_that_each_result_down_a_ring_is_the_sum_over_its_column(
    down: ColumnWindows, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(line_filter, "MOST_UNROLLED", most)
    ring = RANDOM.standard_normal((down.ring_rows, down.pitch)).astype(np.float32)
    weights = RANDOM.standard_normal(down.mask_rows).astype(np.float32)
    cells = np.concatenate([np.full(8, np.nan, np.float32), ring.ravel()])
    run = on_the_processor(column_weigher(down, 8, 0, weights.size))
    for first in (0, down.rows, down.ring_rows - down.rows):
        got = run(cells, first, 5, weights, START)
        check(got, float(START), np.roll(ring[:, 5], -first), weights, 0, 1)


def test_that_both_backends_agree_on_whole_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line_filter, "MOST_UNROLLED", MOST[1])
    for row in ROWS:
        cells = RANDOM.integers(-50, 50, row.read).astype(np.float32)
        weights = RANDOM.integers(-9, 9, row.windows.length).astype(np.float32)
        function = row_weigher(row, weights.size)
        plain = function.py_func(cells, 0, weights.reshape(1, -1))
        emitted = on_the_processor(function)(cells, 0, weights)
        assert [float(value) for value in emitted] == [float(value) for value in plain]
    for down in COLUMNS:
        cells = RANDOM.integers(-50, 50, 8 + down.ring_rows * down.pitch).astype(np.float32)
        weights = RANDOM.integers(-9, 9, down.mask_rows).astype(np.float32)
        function = column_weigher(down, 8, 0, weights.size)
        plain = function.py_func(cells, down.rows, 5, weights.reshape(-1, 1), START)
        emitted = on_the_processor(function)(cells, down.rows, 5, weights, START)
        assert [float(value) for value in emitted] == [float(value) for value in plain]
