"""A paper's tables as text, and its files in a folder: PAPER.md, one CSV per table, one SVG per figure.

A table has the paper's columns, this machine's and recorded ones. Figures are drawn by matplotlib.
"""

import csv
import io
import itertools
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from importlib.util import find_spec
from typing import Any

from engine.course.paper import MISPRINT, Cell, CourseTable, Excerpt, Figure, Paper
from engine.errors import EngineError
from engine.files.atomic_write import atomic_write
from engine.interrupts import undivided
from engine.results.text_forms import harmless, is_number

# Lines of code that stay before and after those that are lit.
_AROUND = 1


class Part(StrEnum):
    """Whose figures a column shows; columns of names say which row it is."""

    NAME = ""
    PAPER = "paper"
    HERE = "here"
    RECORDED = "recorded"


@dataclass(frozen=True, slots=True)
class Column:
    """A column: a heading of the paper's, its position in the table, and whose figures it has."""

    heading: str
    position: int
    part: Part

    @property
    def title(self) -> str:
        """Heading and part in one line."""
        return f"{self.heading} ({self.part})" if self.part else self.heading


def columns_of(table: CourseTable) -> tuple[Column, ...]:
    """Return the names of the rows; then under each heading the figures of each part that has some."""
    columns: list[Column] = []
    for position, heading in enumerate(table.headings):
        cells = [row[position] for row in table.rows]
        has_here = any(cell.here or cell.reason for cell in cells)
        if not has_here and all(column.part is Part.NAME for column in columns):
            parts = [Part.NAME]
        else:
            parts = [Part.PAPER] if any(cell.printed for cell in cells) else []
            parts += [Part.HERE] if has_here else []
            parts += [Part.RECORDED] if any(cell.recorded for cell in cells) else []
        columns += [Column(heading, position, part) for part in parts]
    return tuple(columns)


@dataclass(frozen=True, slots=True)
class Sheet:
    """A table of text; a cell that is empty for a reason is "(1)", the number of the reason.

    `numbers` are the columns of numbers, for aligning.
    """

    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    reasons: tuple[str, ...]
    numbers: frozenset[int]


def sheet_of(table: CourseTable, *, with_marks: bool = True) -> Sheet:
    """Return a table as a sheet; without marks empty cells are empty, and misprints numbers like others."""
    reasons = tuple(dict.fromkeys(cell.reason for row in table.rows for cell in row if cell.reason))
    marks = {reason: f"({number})" for number, reason in enumerate(reasons, start=1)} if with_marks else {}
    columns = columns_of(table)

    def text(cell: Cell, column: Column) -> str:
        if column.part is Part.RECORDED:
            return cell.recorded
        if column.part is not Part.HERE:
            return cell.marked if with_marks else cell.printed
        return cell.here or marks.get(cell.reason, "")

    rows = tuple(tuple(text(row[column.position], column) for column in columns) for row in table.rows)

    def is_figure(text: str) -> bool:
        return not text or text.startswith("(") or is_number(text.replace(",", "").rstrip(f" {MISPRINT}"))

    are_numbers = [all(map(is_figure, of_column)) for of_column in zip(*rows, strict=True)]
    numbers = (at for at, column in enumerate(columns) if column.part is not Part.NAME and are_numbers[at])
    return Sheet(columns, rows, reasons, frozenset(numbers))


def csv_of(paper: Paper, table: CourseTable, machine: Sequence[tuple[str, str]]) -> str:
    """Return a table as CSV.

    The first lines begin with # and name paper, machine and notes. A cell without a value is empty, and the
    last column says why.
    """
    sheet = sheet_of(table, with_marks=False)
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    notes = [("Note", note) for note in table.notes]
    for name, value in [("Paper", paper.citation), ("Table", table.title), *machine, *notes]:
        writer.writerow([f"# {name}", harmless(value)])
    writer.writerow([*(harmless(column.title) for column in sheet.columns), "why a cell is empty"])
    for row, cells in zip(sheet.rows, table.rows, strict=True):
        reasons = dict.fromkeys(cell.reason for cell in cells if cell.reason)
        writer.writerow([*map(harmless, row), harmless("; ".join(reasons))])
    return text.getvalue()


def tabs_of(table: CourseTable) -> str:
    """Return a table as lines with tabs, to paste into a spreadsheet."""
    sheet = sheet_of(table, with_marks=False)
    lines = [[column.title for column in sheet.columns], *sheet.rows]
    return "".join("\t".join(harmless(" ".join(text.split())) for text in line) + "\n" for line in lines)


def excerpt_lines(excerpt: Excerpt) -> list[str]:
    """Return the lit lines with their numbers, those around them, and a gap where some are left out."""
    lines = excerpt.function.lines
    near = {at for one in excerpt.lit for at in range(one - _AROUND, one + _AROUND + 1)}
    kept = [at for at in sorted(near) if 0 <= at < len(lines) and lines[at]]
    shown: list[str] = []
    for at in kept:
        if shown and at - 1 not in kept:
            shown.append("      …")
        mark = ">" if at in excerpt.lit else " "
        shown.append(f"{excerpt.function.first_line + at:5d} {mark} {lines[at]}".rstrip())
    return shown


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
    ]
    if any(cell.recorded for table in tables for row in table.rows for cell in row):
        parts.append("Those marked (recorded) are another machine's, which a note under each table names.")
    headings, every = ["In the paper", "Where", "Here", "Block", "What differs"], paper.kernels
    rows = [[one.name, one.place, f"`{one.variant}`", f"{one.block or ''}", one.difference] for one in every]
    if any(one.names for one in every):
        headings.append("Names there, and here")
        for row, one in zip(rows, every, strict=True):
            row.append(", ".join(f"`{theirs}` is `{ours}`" for ours, theirs in one.names.items()))
    parts += ["## Which kernel is which", _lines(headings, rows, frozenset())]
    for table in tables:
        sheet = sheet_of(table)
        reasons = "\n".join(f"({number}) {reason}  " for number, reason in enumerate(sheet.reasons, start=1))
        notes = "\n".join(f"- {note}" for note in table.notes)
        lines = _lines([column.title for column in sheet.columns], sheet.rows, sheet.numbers)
        parts += [part for part in (f"## {table.title}", lines, reasons, notes) if part]
        for excerpt in itertools.chain.from_iterable(table.excerpts):
            code, where = "\n".join(excerpt_lines(excerpt)), _escaped(excerpt.where)
            head = f"{_escaped(excerpt.about)}: `{excerpt.code}`, {where}"
            parts.append(f"{head}\n\n```text\n{code}\n```")
        if table.figure and table.figure.title in pictures:
            parts.append(f"![{table.figure.title}]({pictures[table.figure.title]})")
    return "\n\n".join(parts) + "\n"


def _lines(headings: Sequence[str], rows: Sequence[Sequence[str]], numbers: frozenset[int]) -> str:
    rule = ["---:" if column in numbers else "---" for column in range(len(headings))]
    lines = [[_escaped(text) for text in line] for line in (headings, *rows)]
    lines.insert(1, rule)
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _escaped(text: str) -> str:
    """Return a text that Markdown shows as it is; back quotes still make code."""
    return re.sub(r"([|*<_])", r"\\\1", text) if "`" not in text else text.replace("|", r"\|")


# The figures of `bench` have the same settings and marks.
# Okabe and Ito's colours, darker where white paper needs it: those that the window gives these variants.
_OF_VARIANT = {
    "cpu-serial": "#4d5560", "cpu-separable-serial": "#4d5560",
    "separable-l0": "#0072b2", "separable-l1": "#b85c92", "separable-l2": "#008a64",
    "matmul-naive": "#b87d00", "matmul-tiled": "#008a64",
}  # fmt: skip
_BY_POSITION = ("#0072b2", "#b87d00", "#008a64", "#d55e00", "#b85c92", "#2b8fc9", "#968c00", "#4d5560")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")

# Text stays text, which can be read aloud and searched; the same figure always has the same bytes.
_SETTINGS: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "haloscope",
    "font.family": "sans-serif",
    "axes.spines.top": False,
    "axes.spines.right": False,
}


@contextmanager
def empty_drawing(width: float, height: float) -> Iterator[tuple[Any, Any]]:
    """Give an empty drawing of matplotlib, so many inches large, and its axes, with a grid behind."""
    # Takes half a second: only where figures are drawn.
    import matplotlib.figure

    with matplotlib.rc_context(_SETTINGS):
        drawing = matplotlib.figure.Figure(figsize=(width, height), layout="constrained")
        axes = drawing.add_subplot()
        axes.grid(visible=True, color="#d9dde3", linewidth=0.6)
        axes.set_axisbelow(True)
        yield drawing, axes


def svg_of(figure: Figure) -> bytes:
    """Return a figure as SVG: this machine's curves drawn through, the paper's printed ones dashed."""
    with empty_drawing(7.5, 4.5) as (drawing, axes):
        curves = [(True, *one) for one in enumerate(figure.printed)]
        curves += [(False, *one) for one in enumerate(figure.series)]
        for dashed, position, series in curves:
            points = [(x, y) for x, y in zip(series.x, series.y, strict=True) if y is not None]
            if points:
                axes.plot(
                    *zip(*points, strict=True),
                    color=_OF_VARIANT.get(series.variant, _BY_POSITION[position % len(_BY_POSITION)]),
                    marker=MARKERS[position % len(MARKERS)],
                    markersize=5,
                    linewidth=1.2 if dashed else 1.8,
                    linestyle="--" if dashed else "-",
                    markerfacecolor="none" if dashed else None,
                    label=f"{series.name} (paper)" if dashed else series.name,
                )
        axes.set(title=figure.title, xlabel=figure.x_label, ylabel=figure.y_label)
        if figure.log_y:
            axes.set_yscale("log")
            # Powers would be set in small type that not every program places well.
            axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
            axes.yaxis.set_minor_formatter(lambda value, _: "")
        if axes.get_lines():
            axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
        else:
            axes.text(
                0.5, 0.5, "nothing was measured", transform=axes.transAxes, ha="center", color="#4d5560"
            )
        return as_svg(drawing, figure.title)


def as_svg(drawing: Any, title: str) -> bytes:
    """Return an `empty_drawing` with what was drawn in it as SVG, with this title and no date."""
    file = io.BytesIO()
    drawing.savefig(file, format="svg", metadata={"Date": None, "Title": title})
    return file.getvalue()


def check_figures(tables: Iterable[CourseTable]) -> None:
    """Raise EngineError where these tables have figures and nothing is there to draw them."""
    if any(table.figure for table in tables) and find_spec("matplotlib") is None:
        raise EngineError("The figures need Matplotlib", "pip install 'haloscope[figures]'")


def write_paper(
    folder: str, paper: Paper, tables: Sequence[CourseTable], machine: Sequence[tuple[str, str]]
) -> tuple[str, ...]:
    """Write a paper's files into a folder that exists, and return their names.

    Raises FileWriteError, and what `check_figures` raises. The head of each file has `machine`: names and
    values of what was measured on.
    """
    check_figures(tables)
    contents: dict[str, bytes] = {}
    pictures: dict[str, str] = {}
    for number, table in enumerate(tables, start=1):
        contents[f"{paper.key}-table-{number}.csv"] = csv_of(paper, table, machine).encode()
        if table.figure is not None:
            name = f"{paper.key}-figure-{len(pictures) + 1}.svg"
            contents[name] = svg_of(table.figure)
            pictures[table.figure.title] = name
    contents[f"{paper.key}.md"] = markdown_of(paper, tables, machine, pictures).encode()
    with undivided():
        for name, content in contents.items():
            atomic_write(os.path.join(folder, name), content)
    return tuple(contents)
