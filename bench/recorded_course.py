"""The pages of the course papers on the site, from the same recorded tables that the window shows."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from engine.course.files import markdown_of, svg_of
from engine.course.paper import Cell, CourseTable, Figure
from engine.course.papers import PAPERS, beside, recorded_paper
from engine.course.tables import counted_tables
from engine.results.export import COURSE, recorded_document

FOLDER = "course-recorded"


def course_documents() -> dict[str, bytes]:
    """Return every file by its path on the site: a page for each recorded paper, and its figures."""
    found: dict[str, bytes] = {}
    for one in PAPERS:
        recorded = recorded_paper(one.key)
        if recorded is None:
            continue
        kept = {table["title"]: table for table in recorded_document(COURSE)["papers"][one.key]["tables"]}
        tables = [
            _measured(beside(table, recorded), kept.get(table.title, {})) for table in counted_tables(one.key)
        ]
        pictures: dict[str, str] = {}
        for table in tables:
            if table.figure is not None:
                name = f"{one.key}-figure-{len(pictures) + 1}.svg"
                found[f"{FOLDER}/{name}"] = svg_of(table.figure)
                pictures[table.figure.title] = name
        text = markdown_of(one, tables, tuple(recorded.machine.items()), pictures)
        found[f"{FOLDER}/{one.key}.md"] = text.encode()
    return found


def _measured(table: CourseTable, kept: Mapping[str, Any]) -> CourseTable:
    """Return a table with what was recorded as what was measured here: a document is about that machine."""
    rows = tuple(tuple(_here(cell) for cell in row) for row in table.rows)
    notes = tuple(note for note in table.notes if not note.startswith("Recorded: "))
    figure = table.figure and _drawn(table.figure, dict(kept.get("curves", ())))
    return replace(table, rows=rows, notes=notes, figure=figure)


def _here(cell: Cell) -> Cell:
    return replace(cell, here=cell.recorded, recorded="", reason="") if cell.recorded else cell


def _drawn(figure: Figure, curves: Mapping[str, list[float | None]]) -> Figure:
    series = (replace(one, y=tuple(curves.get(one.name, one.y))) for one in figure.series)
    return replace(figure, series=tuple(series))
