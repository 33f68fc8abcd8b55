"""What the tables count without any device."""

import pytest

import engine.course.bench
from engine.course.cnn import diverging_warps
from engine.course.papers import PAPERS, TABLE_TEXTS
from engine.course.runs import NOT_YET
from engine.course.tables import counted_tables
from engine.geometry.block import Block
from tests.engine.course.made import rows_of


def counted(paper_key, number):
    return rows_of(counted_tables(paper_key)[number])


def here(cells):
    return [cell.here for cell in cells]


def test_that_a_row_tile_loads_tile_plus_mask_minus_one_as_in_the_lectures_own_example():
    rows = counted("convolution", 0)
    for (tile, mask), cells in rows.items():
        assert here(cells[:2]) == [str(int(tile) * int(mask)), str(int(tile) + int(mask) - 1)]
    assert here(rows["8", "5"]) == ["40", "12", "3.333", "14"]
    assert [cell.printed for cell in rows["8", "5"]] == ["40", "12", "3.3", ""]


def test_that_both_square_designs_load_the_same_and_a_block_too_large_says_why():
    rows = counted("convolution", 1)
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
    assert here(counted("convolution", 3)["1001",]) == ["4004", "4096", "1 of 32", "all"]


def test_that_constant_memory_takes_the_loads_of_the_mask():
    rows = {names[1]: here(cells) for names, cells in counted("convolution", 2).items()}
    taps = str(1024 * 1024 * 25)
    assert (rows["naive"][1], rows["naive"][3]) == (taps, "0")
    assert (rows["constant"][1], rows["constant"][3]) == ("0", taps)


def test_that_cgma_is_1_naive_and_the_tile_when_tiled_and_the_lectures_counts_come_out():
    rows = counted("performance", 3)
    assert (rows["matmul-naive", "16"][2].here, rows["matmul-naive", "16"][3].here) == ("1", "21.6")
    tiles = ("2", "4", "8", "16", "32")
    assert [rows["matmul-tiled", tile][2].here for tile in tiles] == list(tiles)
    assert here(rows["matmul-tiled", "16"][:3]) == ["512", "8192", "16"]


def test_that_the_cnn_reports_divergences_come_out():
    assert [cells[0].here for cells in counted("cnn", 1).values()] == ["12", "4", "6", "2"]
    assert [cells[0].printed for cells in counted("cnn", 1).values()] == ["8 + 4 = 12", "4", "6", "2"]
    assert diverging_warps(32, 32, Block(16, 16)) == 0


def test_that_the_unrolled_matrix_is_25_pictures_and_a_bank_of_8_shares_it():
    picture, unrolled, naive, on_the_fly = (int(cell.here) for cell in counted("cnn", 0)["512 x 512", "8"])
    assert unrolled == 25 * picture == 25 * 512 * 512 * 4
    assert naive == 8 * on_the_fly


@pytest.mark.parametrize("one", PAPERS, ids=lambda one: one.key)
def test_that_counting_asks_no_device_and_every_table_has_its_title_and_named_rows(one, monkeypatch):
    def refuse(*_):
        raise AssertionError("a device was asked")

    for name in ("device_named", "backend", "memory_bus"):
        monkeypatch.setattr(engine.course.bench, name, refuse)
    tables = counted_tables(one.key)
    assert tuple(table.title for table in tables) == one.tables
    # A name in papers.toml that is no row's would lose the values that were printed there.
    in_cells = [cell.printed for table in tables for cells in rows_of(table).values() for cell in cells]
    in_file = [text for table in TABLE_TEXTS[one] for values in table.printed.values() for text in values]
    assert [text for text in in_cells if text] == [text for text in in_file if text]
    rows = [(table, row) for table in tables for row in table.rows]
    assert NOT_YET in {cell.reason for _, row in rows for cell in row}
    for table, (name, *cells) in rows:
        assert 1 + len(cells) == len(table.headings)
        assert (bool(name.printed), name.here, name.reason) == (True, "", "")
        assert not any(cell.here and cell.reason for cell in cells)
