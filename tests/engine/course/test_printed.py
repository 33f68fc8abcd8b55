"""The printed values against the papers' own arithmetic: a slip of ours would show, and theirs are named."""

import pytest

from engine.course import lab, report
from engine.course.papers import TABLE_TEXTS
from engine.course.performance_lecture import TILED
from engine.course.tables import counted_tables
from engine.device.cuda import MemoryBus

TIMES, NAIVE, OPTIMIZED, OVERHEAD, GFLOPS = (text.printed for text in TABLE_TEXTS[report.REPORT])


def time_s(size, block, column):
    """Return a printed time of the report: of the serial code, or of the naive or the optimized kernel."""
    return float(TIMES[f"{size}x{size}, {block}"][column])


def decimals(text):
    return len(text.partition(".")[2])


@pytest.mark.parametrize("names", TIMES)
def test_that_the_reports_speed_ups_are_the_quotients_of_its_times(names):
    serial, naive, optimized, *speed_ups = TIMES[names]
    for parallel, speed_up in zip((naive, optimized), speed_ups, strict=True):
        assert f"{float(serial) / float(parallel):.{decimals(speed_up)}f}" == speed_up


@pytest.mark.parametrize(("printed", "column"), [(NAIVE, 1), (OPTIMIZED, 2)])
def test_that_the_reports_changes_are_the_differences_of_its_times(printed, column):
    assert len(printed) == 6
    for names, (total, _) in printed.items():
        square, blocks = names.split(", ")
        before, after = (float(TIMES[f"{square}, {block}"][column]) for block in blocks.split("->"))
        assert abs(float(total) - (after - before)) < 0.5 * 10 ** -decimals(total)


def test_that_exactly_the_reports_three_misprints_per_thread_are_named():
    notes = [
        note for table in counted_tables("report") for note in table.notes if note.startswith("Misprint")
    ]
    assert notes == [
        f"Misprint in the paper: {words}"
        for words in (
            "512x512, 8->16: 0.000058 / 8 is 0.00000725, printed is 0.0000725.",
            "1024x1024, 8->16: -0.0000010 / 8 is -0.000000125, printed is -0.000001250.",
            "1024x1024, 16->32: 0.0000030 / 16 is 0.0000001875, printed is 0.000001875.",
        )
    ]


def test_that_the_reports_fractions_are_of_blocks_of_8_but_for_the_one_that_is_named():
    found = {}
    for square, (*overheads, naive, optimized) in OVERHEAD.items():
        size = int(square.partition("x")[0])
        for column, overhead, fraction in zip((1, 2), overheads, (naive, optimized), strict=True):
            found[size, column] = [
                side
                for side in report.BLOCKS
                if f"{float(overhead) / time_s(size, side, column):.3f}" == fraction
            ]
    assert found.pop((512, 1)) == [32]
    assert list(found.values()) == [[8]] * 5
    assert any("46.207" in note and "66.667" in note for note in counted_tables("report")[3].notes)
    assert f"{0.0268 / 0.000402:.3f}" == "66.667"


def test_that_the_reports_gflops_are_of_blocks_of_16():
    for size, (operations, *rates) in GFLOPS.items():
        assert int(operations) == 25 * int(size) ** 2
        for column, rate in zip((1, 2), rates, strict=True):
            assert abs(float(rate) - int(operations) / time_s(size, 16, column) / 1e9) < 1e-4


def test_that_the_lab_has_the_eight_sizes_of_its_table():
    printed = TABLE_TEXTS[lab.LAB][1].printed
    assert tuple(map(int, printed)) == lab.SIZES
    assert [size for size, (_, l1, _) in printed.items() if float(l1) < 1] == ["2048"]


def test_that_the_lectures_bandwidth_is_clock_times_width_times_two():
    assert MemoryBus(1850.0, 384).bytes_per_second == 177.6e9


def test_that_the_lectures_misprint_of_347_6_gflops_is_named_beside_the_right_345_6():
    table = counted_tables("performance")[3]
    row = next(row for row in table.rows if (row[0].printed, row[1].printed) == (TILED, "16"))
    assert (row[5].printed, row[5].here) == ("347.6", "345.6")
    assert any("345.6" in note and "347.6" in note for note in table.notes)
