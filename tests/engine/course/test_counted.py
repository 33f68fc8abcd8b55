import pytest

import engine.course.bench
from engine.course.cnn import diverging_warps
from engine.course.counted import counted_tables
from engine.course.papers import PAPERS
from engine.course.runs import NOT_YET
from engine.errors import UnknownName
from engine.geometry.block import Block


def rows_of(paper_key, number):
    """Return the rows of a table by the texts that name them, of the columns that are not names."""
    table = counted_tables(paper_key)[number]
    names = next(
        place
        for place in range(len(table.headings))
        if any(row[place].here or row[place].reason for row in table.rows)
    )
    return {tuple(cell.printed for cell in row[:names]): row[names:] for row in table.rows}


def here(cells):
    return [cell.here for cell in cells]


def test_that_the_lectures_own_example_comes_out_12_loads_instead_of_40():
    cells = rows_of("convolution", 0)["8", "5"]
    assert here(cells) == ["40", "12", "3.333", "14"]
    assert [cell.printed for cell in cells] == ["40", "12", "3.3", ""]


def test_that_a_row_tile_loads_tile_plus_mask_minus_one():
    for (tile, mask), cells in rows_of("convolution", 0).items():
        assert here(cells[:2]) == [str(int(tile) * int(mask)), str(int(tile) + int(mask) - 1)]


def test_that_both_square_designs_load_the_same_and_a_block_too_large_says_why():
    rows = rows_of("convolution", 1)
    for (tile, mask, block), cells in rows.items():
        side = int(tile) + int(mask) - 1
        assert here(cells[:2]) == [str((int(tile) * int(mask)) ** 2), str(side * side)]
        if int(block) <= 32:
            assert cells[3].here == cells[1].here
        else:
            assert f"{side * side:,} threads; the limit is 1,024" in cells[3].reason
            assert "nearest legal block" in cells[3].reason
    assert here(rows["16", "5", "20"]) == ["6400", "400", "16", "400", "64 %"]


def test_that_rows_of_1001_floats_begin_at_a_burst_once_in_32_and_always_with_a_pitch():
    assert here(rows_of("convolution", 3)["1001",]) == ["4004", "4096", "1 of 32", "all"]


def test_that_constant_memory_takes_the_loads_of_the_mask():
    rows = {names[1]: here(cells) for names, cells in rows_of("convolution", 2).items()}
    taps = str(1024 * 1024 * 25)
    assert (rows["naive"][1], rows["naive"][3]) == (taps, "0")
    assert (rows["constant"][1], rows["constant"][3]) == ("0", taps)


def test_that_cgma_is_1_naive_and_the_tile_when_tiled_and_the_lectures_counts_come_out():
    rows = rows_of("performance", 3)
    assert rows["matmul-naive", "16"][2].here == "1"
    assert {tile: cells[2].here for (key, tile), cells in rows.items() if key == "matmul-tiled"} == {
        tile: tile for tile in ("2", "4", "8", "16", "32")
    }
    assert here(rows["matmul-tiled", "16"][:3]) == ["512", "8192", "16"]
    assert rows["matmul-naive", "16"][3].here == "21.6"


def test_that_the_cnn_reports_divergences_come_out():
    assert {names[0]: cells[0].here for names, cells in rows_of("cnn", 1).items()} == {
        "first convolution": "12",
        "second convolution": "4",
        "first average pool": "6",
        "second average pool": "2",
    }
    assert diverging_warps(32, 32, Block(16, 16)) == 0


def test_that_the_unrolled_matrix_is_25_pictures_and_a_bank_of_8_shares_it():
    picture, unrolled, naive, on_the_fly = (int(cell.here) for cell in rows_of("cnn", 0)["512 x 512", "8"])
    assert unrolled == 25 * picture == 25 * 512 * 512 * 4
    assert naive == 8 * on_the_fly


@pytest.mark.parametrize("key", [one.key for one in PAPERS])
def test_that_counting_asks_no_device_and_what_must_be_measured_says_so(key, monkeypatch):
    def refuse(*_):
        raise AssertionError("a device was asked")

    for name in ("device_named", "backend", "memory_bus"):
        monkeypatch.setattr(engine.course.bench, name, refuse)
    reasons = {cell.reason for table in counted_tables(key) for row in table.rows for cell in row}
    assert NOT_YET in reasons


def test_that_an_unknown_paper_is_refused():
    with pytest.raises(UnknownName, match="Did you mean lab"):
        counted_tables("labs")
