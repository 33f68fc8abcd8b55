"""Sums over neighbouring windows: the cells of each, and the emitted code, compiled for this processor."""

import numpy as np
import pytest

from engine.variants.box.tile_sums import ColumnWindows, RowWindows, column_summer, row_summer, sums_store
from engine.variants.box.window_sums import Windows, window_sums
from tests.engine.variants.on_processor import on_the_processor

RANDOM = np.random.default_rng(11)
# Length, apart, count, shift.
GREY = [(1, 1, 4, 0), (3, 1, 4, 1), (7, 1, 8, 2), (15, 1, 16, 3), (63, 1, 16, 1)]
COLOUR = [(127, 4, 32, 0), (2, 3, 16, 3), (31, 3, 32, 2), (20, 2, 16, 0)]
ROWS = [RowWindows(Windows(*windows), shift) for *windows, shift in GREY + COLOUR]
COLUMNS = [ColumnWindows(rows, results, 4, 24, 0) for rows, results in ((1, 4), (3, 4), (15, 6), (40, 5))]
COLUMNS += [ColumnWindows(rows, results, 4, 24, 64) for rows, results in ((9, 4), (49, 16))]
COLUMNS += [ColumnWindows(rows, 16, 1, 20, 80) for rows in (5, 31, 63)]
WEIGHT, START = np.float32(0.3), np.float32(3.0)


@pytest.mark.parametrize("count", [4, 5, 8, 16, 32])
@pytest.mark.parametrize("apart", [1, 2, 3, 4])
def test_that_each_window_has_each_of_its_cells_once_and_begins_once_in_few_additions(apart, count):
    for length in (*range(1, 20), 31, 63, 64, 127):
        windows, weighed, joins = Windows(length, apart, count), [], []

        def first(cell, weighed=weighed):
            weighed.append(cell)
            return [cell]

        def joined(left, right, joins=joins):
            joins.append(1)
            return left + right

        def added(total, cell, first=first, joined=joined):
            return joined(total, first(cell))

        def begin(cell, first=first):
            return ["start", *first(cell)]

        sums = window_sums(windows, lambda cell: cell, begin, first, added, joined)
        for place, cells in enumerate(sums):
            assert cells.count("start") == 1
            cells.remove("start")
            assert sorted(cells) == [place + number * apart for number in range(length)]
        assert len(sums) == count
        assert (len(weighed), max(weighed)) == (windows.weighed, windows.samples - 1)
        if apart == 1 and count >= 16:
            assert len(joins) < 6 * max(count, length // 4)


def aligned(count):
    """Return so many random float32 that begin where a vector may."""
    room = np.empty(count + 4, np.float32)
    begin = -room.ctypes.data % 16 // 4
    room[:] = RANDOM.standard_normal(room.size)
    return room[begin : begin + count]


@pytest.mark.slow
@pytest.mark.parametrize("row", ROWS, ids=str)
def test_that_the_emitted_sums_along_a_row_are_right_and_agree_with_plain_numbers(row):
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
    # A NaN reaches the sums of its windows and no others.
    samples[row.shift + windows.samples // 2] = np.nan
    cells_of = [
        range(place, place + windows.length * windows.apart, windows.apart) for place in range(windows.count)
    ]
    wanted = [windows.samples // 2 in cells for cells in cells_of]
    assert np.isnan(sums(samples, 0, WEIGHT)).tolist() == wanted


@pytest.mark.slow
@pytest.mark.parametrize("down", COLUMNS, ids=str)
def test_that_the_emitted_sums_down_the_columns_are_right_and_agree_with_plain_numbers(down):
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


def test_that_sums_are_kept_side_by_side():
    tile = np.zeros(12, np.float32)
    sums_store(8).py_func(tile, 4, tuple(range(8)))
    assert tile.tolist() == [0, 0, 0, 0, *range(8)]
