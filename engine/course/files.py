"""A paper's files in a folder: PAPER.md, one CSV per table, one SVG per figure; each whole or not at all."""

import os
from collections.abc import Iterable, Sequence
from importlib.util import find_spec

from engine.course.figures import svg_of
from engine.course.markdown import markdown_of
from engine.course.paper import CourseTable, Paper
from engine.course.sheet import csv_of
from engine.errors import EngineError
from engine.files.atomic_write import atomic_write
from engine.interrupts import undivided


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
