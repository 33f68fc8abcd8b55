"""A paper with its tables as Markdown."""

import re
from collections.abc import Mapping, Sequence

from engine.course.paper import CourseTable, Paper
from engine.course.sheet import sheet_of

_RECORDED = "Those marked (recorded) are another machine's, which a note under each table names."


def markdown_of(
    paper: Paper,
    tables: Sequence[CourseTable],
    machine: Sequence[tuple[str, str]],
    pictures: Mapping[str, str] = {},
) -> str:
    """Return the text of a paper's file; `pictures` has the file names of figures by their titles."""
    parts = [
        f"# {paper.title}",
        paper.citation,
        paper.about,
        "\n".join(f"- {name}: {value}" for name, value in machine),
        "Columns marked (paper) are as printed; those marked (here) are this machine's.",
        *(
            [_RECORDED]
            if any(cell.recorded for table in tables for row in table.rows for cell in row)
            else []
        ),
        "## Which kernel is which",
        _kernels(paper),
    ]
    for table in tables:
        parts += _table(table)
        if table.figure and table.figure.title in pictures:
            parts.append(f"![{table.figure.title}]({pictures[table.figure.title]})")
    return "\n\n".join(parts) + "\n"


def markdown_of_table(table: CourseTable) -> str:
    """Return one table with its reasons and notes."""
    return "\n\n".join(_table(table)) + "\n"


def _kernels(paper: Paper) -> str:
    rows = [
        (one.name, one.place, f"`{one.here.variant}`", str(one.here.block or ""), one.difference)
        for one in paper.kernels
    ]
    return _lines(("In the paper", "Where", "Here", "Block", "What differs"), rows, frozenset())


def _table(table: CourseTable) -> list[str]:
    sheet = sheet_of(table)
    headings = [column.title for column in sheet.columns]
    reasons = "\n".join(f"({number}) {reason}  " for number, reason in enumerate(sheet.reasons, start=1))
    notes = "\n".join(f"- {note}" for note in table.notes)
    lines = _lines(headings, sheet.rows, sheet.numbers)
    return [part for part in (f"## {table.title}", lines, reasons, notes) if part]


def _lines(headings: Sequence[str], rows: Sequence[Sequence[str]], numbers: frozenset[int]) -> str:
    rule = ["---:" if column in numbers else "---" for column in range(len(headings))]
    lines = [[_escaped(text) for text in line] for line in (headings, *rows)]
    lines.insert(1, rule)
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _escaped(text: str) -> str:
    """Return a text that Markdown shows as it is; back quotes still make code."""
    return re.sub(r"([|*<_])", r"\\\1", text) if "`" not in text else text.replace("|", r"\|")
