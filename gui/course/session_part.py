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
from gui.typed_json import Reading, Table, in_short

_PART = {"paper": str, "measured": dict[str, dict[str, Any]]}


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
    reading = Reading()
    found = reading.fields(kept, _PART)
    papers = {paper.key for paper in course.papers}
    for key, table in found.get("measured", {}).items():
        try:
            if key not in papers:
                raise ValueError("there is no such paper")
            course.keep_measured(key, _measured_in(table))
        except (EngineError, ValueError, LookupError, TypeError) as error:
            reading.leave_out(f"paper {key[:40]}", error)
    if chosen := found.get("paper"):
        course.choose(chosen)
    if reading.notes:
        what = "The session's part for the page Course was opened as far as possible"
        raise BadValue(what, in_short(reading.notes))


def _measured_in(kept: Mapping[str, Any]) -> MeasuredPaper:
    """Return the tables and results of a paper; a ValueError says what is wrong with them."""
    tables = msgspec.convert(kept["tables"], tuple[CourseTable, ...])
    if any(len(row) != len(table.headings) for table in tables for row in table.rows):
        raise ValueError("a row of a table has another length than its headings")
    read = import_module("engine.tasks.read_results").result_from_json
    return MeasuredPaper(tables, tuple(map(read, kept.get("results", []))))
