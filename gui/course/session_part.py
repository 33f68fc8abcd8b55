"""What a session keeps of the page Course: the paper shown, and tables as this machine measured them."""

from collections.abc import Mapping
from dataclasses import replace
from importlib import import_module
from typing import Any

import msgspec

from engine.course.messages import MeasuredPaper
from engine.course.paper import CourseTable
from engine.errors import BadValue, EngineError
from gui.course.course_model import CourseModel
from gui.page.variants_page import Part, Table


def part_of(course: CourseModel) -> dict[str, Any]:
    """Return it as plain JSON values; nothing where nothing was measured."""
    measured = {
        key: {
            # The code beside a table is this version's.
            "tables": [msgspec.to_builtins(replace(table, excerpts=())) for table in paper.tables],
            "results": [result.as_json() for result in paper.results],
        }
        for key, paper in course.measured.items()
    }
    return {"paper": course.paper.key if course.paper else "", "measured": measured} if measured else {}


def show_part(course: CourseModel, kept: Table) -> None:
    """Show it; a BadValue says what in it cannot be used, and the rest is shown."""
    part = Part(kept)
    papers = {paper.key for paper in course.papers}
    for key, table in (part.take("measured", dict[str, dict[str, Any]], "tables by paper") or {}).items():
        try:
            if key not in papers:
                raise ValueError("there is no such paper")
            course.keep_measured(key, _measured_in(table))
        except (EngineError, ValueError, LookupError, TypeError) as error:
            why = error.why if isinstance(error, EngineError) else str(error)
            part.leave_out(f"paper {key[:40]}", why or "it is damaged")
    if chosen := part.take("paper", str):
        course.choose(chosen)
    if left_out := part.left_out():
        raise BadValue(
            "The session's part for the page Course was opened as far as possible", " ".join(left_out)
        )


def _measured_in(kept: Mapping[str, Any]) -> MeasuredPaper:
    """Return the tables and results of a paper; a ValueError says what is wrong with them."""
    tables = msgspec.convert(kept["tables"], tuple[CourseTable, ...])
    if any(len(row) != len(table.headings) for table in tables for row in table.rows):
        raise ValueError("a row of a table has another length than its headings")
    read = import_module("engine.tasks.read_results").result_from_json
    return MeasuredPaper(tables, tuple(map(read, kept.get("results", []))))
