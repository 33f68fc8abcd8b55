"""Sums over neighbouring windows: which cells each has, and the emitted code, compiled for this machine's processor."""

from typing import Any

import numpy as np
import pytest

from engine.variants.box.tile_sums import ColumnWindows, RowWindows, column_summer, row_summer, sums_store
from engine.variants.box.window_sums import Windows, window_sums
from tests.engine.variants.on_processor import on_the_processor

RANDOM = np.random.default_rng(11)
ROWS = [
    RowWindows(Windows(length, apart, count), shift)
    for length, apart, count, shift in (
        (1, 1, 4, 0),
        (3, 1, 4, 1),
        (7, 1, 8, 2),
        (15, 1, 16, 3),
        (63, 1, 16, 1),
        (127, 4, 32, 0),
        (2, 3, 16, 3),
        (31, 3, 32, 2),
        (20, 2, 16, 0),
    )
]
COLUMNS = [ColumnWindows(rows, results, 4, 24, 0) for rows, results in ((1, 4), (3, 4), (15, 6), (40, 5))]
COLUMNS += [ColumnWindows(rows, results, 4, 24, 64) for rows, results in ((9, 4), (49, 16))]
COLUMNS += [ColumnWindows(rows, 16, 1, 20, 80) for rows in (5, 31, 63)]
WEIGHT, START = np.float32(0.3), np.float32(3.0)


@pytest.mark.parametrize("count", [4, 5, 8, 16, 32])
@pytest.mark.parametrize("apart", [1, 2, 3, 4])
def test_that_each_window_has_each_of_its_cells_once_and_begins_once(apart: int, count: int) -> None:
    for length in (*range(1, 20), 31, 63, 64, 127):
        windows, weighed = Windows(length, apart, count), []

        def first(cell: int, weighed: list[int] = weighed) -> list[Any]:
            weighed.append(cell)
            return [cell]

        def added(total: list[Any], cell: int, weighed: list[int] = weighed) -> list[Any]:
            weighed.append(cell)
            return [*total, cell]

        sums = window_sums(
            windows,
            lambda cell: cell,
            lambda cell, first=first: ["start", *first(cell)],
            first,
            added,
            lambda left, right: left + right,
        )
        for place, cells in enumerate(sums):
            assert cells.count("start") == 1
            cells.remove("start")
            assert sorted(cells) == [place + number * apart for number in range(length)]
        assert len(sums) == count
        assert len(weighed) == windows.weighed
        assert max(weighed) == windows.samples - 1


@pytest.mark.parametrize("length", [15, 31, 63])
def test_that_a_sum_takes_few_additions_whatever_the_window(length: int) -> None:
    additions = 0

    def added(left: int, right: int) -> int:
        nonlocal additions
        additions += 1
        return left + right

    assert (
        window_sums(Windows(length, 1, 16), lambda cell: 1, lambda cell: 1, lambda cell: 1, added, added)
        == [length] * 16
    )
    assert additions < 6 * 16


def aligned(count: int) -> np.ndarray:
    """Return so many random float32 that begin where a vector may."""
    room = np.empty(count + 4, np.float32)
    begin = -room.ctypes.data % 16 // 4
    room[:] = RANDOM.standard_normal(room.size)
    return room[begin : begin + count]


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_that_the_emitted_sums_along_a_row_are_right_and_agree_with_plain_numbers(row: RowWindows) -> None:
    windows, samples = row.windows, aligned(row.read)
    sums, plain = on_the_processor(row_summer(row)), row_summer(row).py_func
    whole = np.rint(samples * 9)
    assert sums(whole, 0, np.float32(2)) == plain(whole, 0, np.float32(2))
    terms = [
        WEIGHT.astype(float) * samples[row.shift + place :: windows.apart][: windows.length].astype(float)
        for place in range(windows.count)
    ]
    # A product rounded, and as many additions as there are cells but one.
    for got, cells in zip(sums(samples, 0, WEIGHT), terms, strict=True):
        assert abs(got - cells.sum()) <= windows.length * 1.01 * 2.0**-24 * np.abs(cells).sum()


@pytest.mark.parametrize("down", COLUMNS, ids=str)
def test_that_the_emitted_sums_down_the_columns_are_right_and_agree_with_plain_numbers(
    down: ColumnWindows,
) -> None:
    rows = down.ring_rows or down.mask_rows + down.rows - 1
    tile, column = aligned(rows * down.pitch), 8
    sums, plain = on_the_processor(column_summer(down)), column_summer(down).py_func
    for first in {0, down.ring_rows // 2 // down.rows * down.rows, max(0, down.ring_rows - down.rows)}:
        whole = np.rint(tile * 9)
        assert sums(whole, first, column, START) == plain(whole, first, column, START)
        turned = np.roll(tile.reshape(rows, down.pitch), -first, axis=0)
        for place, got in enumerate(sums(tile, first, column, START)):
            i, k = divmod(place, down.columns)
            terms = np.array([START, *turned[i : i + down.mask_rows, column + k]], float)
            assert abs(got - terms.sum()) <= down.mask_rows * 1.01 * 2.0**-24 * np.abs(terms).sum()


def test_that_a_nan_is_in_the_sums_of_its_windows_only() -> None:
    row = RowWindows(Windows(5, 1, 16), 0)
    samples = aligned(row.read)
    samples[9] = np.nan
    wanted = [place <= 9 < place + 5 for place in range(16)]
    assert np.isnan(on_the_processor(row_summer(row))(samples, 0, WEIGHT)).tolist() == wanted


def test_that_sums_are_kept_side_by_side() -> None:
    tile = np.zeros(12, np.float32)
    sums_store(8).py_func(tile, 4, tuple(range(8)))
    assert tile.tolist() == [0, 0, 0, 0, *range(8)]
