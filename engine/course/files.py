"""A paper's files in a folder: PAPER.md, one CSV per table, one SVG per figure; each whole or not at all."""

import os
from collections.abc import Sequence

from engine.course.figures import svg_of
from engine.course.markdown import markdown_of
from engine.course.paper import CourseTable, Paper
from engine.course.sheet import csv_of
from engine.files.atomic_write import atomic_write
from engine.interrupts import undivided


def write_paper(
    folder: str, paper: Paper, tables: Sequence[CourseTable], machine: Sequence[tuple[str, str]]
) -> tuple[str, ...]:
    """Write a paper's files into a folder that exists, and return their names; raises FileWriteError.

    The head of each file has `machine`: names and values of what was measured on.
    """
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
