"""A table of a paper as CSV: lines about the machine, a heading a column, as printed beside this machine's."""

import csv
import io
from collections.abc import Sequence

from engine.course.paper import CourseTable, Paper
from engine.course.sheet import sheet_of
from engine.results.spreadsheet import harmless


def csv_of(paper: Paper, table: CourseTable, machine: Sequence[tuple[str, str]]) -> str:
    """Return a table as CSV.

    The first lines begin with # and tell of paper, machine and notes. A cell without a value is empty, and the last
    column says why.
    """
    head = [
        ("Paper", paper.citation),
        ("Table", table.title),
        *machine,
        *(("Note", note) for note in table.notes),
    ]
    sheet = sheet_of(table, with_marks=False)
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    for name, value in head:
        writer.writerow([f"# {name}", harmless(value)])
    writer.writerow([*(harmless(column.title) for column in sheet.columns), "why a cell is empty"])
    for row, cells in zip(sheet.rows, table.rows, strict=True):
        reasons = dict.fromkeys(cell.reason for cell in cells if cell.reason)
        writer.writerow([*map(harmless, row), harmless("; ".join(reasons))])
    return text.getvalue()
