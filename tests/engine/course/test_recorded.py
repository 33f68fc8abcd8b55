"""The recorded tables: a third column beside the paper's figures and this machine's."""

from dataclasses import replace

from engine.course.files import columns_of, sheet_of
from engine.course.paper import Cell, CourseTable
from engine.course.papers import PAPERS, RecordedPaper, beside, recorded_paper, recorded_values
from engine.course.tables import counted_tables

WHY = "There is no NVIDIA driver here."
TABLE = CourseTable(
    "Times",
    ("Size", "Loads", "Time (s)"),
    (
        (Cell("512"), Cell("20", "20"), Cell("0.5", reason=WHY)),
        (Cell("1024"), Cell("80", "80"), Cell("2", "1.5")),
    ),
    ("Medians.",),
)
TIMES = "0.01", "0.04"
ON_H200 = replace(
    TABLE, rows=tuple((*row[:2], Cell("", time)) for row, time in zip(TABLE.rows, TIMES, strict=True))
)
MACHINE = {"CUDA device": "NVIDIA H200", "CPU": "Xeon", "Made": "2026-11-23", "Commit": "abc"}


def recorded_of(*tables):
    """Return tables as they are after they were written and read."""
    values = {
        one["title"]: {tuple(names): figures for names, figures in one["rows"]}
        for one in map(recorded_values, tables)
    }
    return RecordedPaper(MACHINE, values)


def test_that_what_was_recorded_stands_after_what_this_machine_has_with_its_name():
    shown = beside(TABLE, recorded_of(ON_H200))
    titles = [column.title for column in columns_of(shown)]
    assert titles[-3:] == ["Time (s) (paper)", "Time (s) (here)", "Time (s) (recorded)"]
    assert [row[-1] for row in sheet_of(shown).rows] == ["0.01", "0.04"]
    # A count that is the same everywhere is not repeated.
    assert "Loads (recorded)" not in titles
    assert shown.notes[0].startswith("Recorded: NVIDIA H200, 2026-11-23, commit abc;")
    # A table of which nothing was recorded stays as it is.
    assert beside(TABLE, recorded_of()) is TABLE


def test_that_every_recorded_figure_has_a_place_in_a_table():
    for key in (one.key for one in PAPERS):
        tables = {table.title: table for table in counted_tables(key)}
        for title, rows in recorded_paper(key).tables.items():
            table = tables[title]
            names = [tuple(row[: len(names)]) for row in sheet_of(table).rows for names in [next(iter(rows))]]
            assert set(rows) <= set(names)
            assert {heading for row in rows.values() for heading in row} <= set(table.headings)
