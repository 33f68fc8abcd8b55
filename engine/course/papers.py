"""The course papers as `assets/course/papers.toml` lists them, and the requests about them. No Numba.

Also their tables as another machine had them: figures that stand beside those of this one.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import msgspec

from engine.course.files import Part, columns_of
from engine.course.paper import CourseTable, Excerpt, Paper, TableText
from engine.errors import UnknownName, did_you_mean
from engine.files.reading import ASSETS, faults_of_asset
from engine.host.protocol import Saved
from engine.host.request import QueuePolicy, Request
from engine.message import Message
from engine.results.columns import COURSE, recorded_document, recorded_path
from engine.results.measurement import AnyResult
from engine.results.problem import Checkpoint

PAPERS_FILE = ASSETS / "course" / "papers.toml"


def read_papers() -> dict[Paper, tuple[TableText, ...]]:
    """Return all papers in the course's order with the texts of their tables, or refuse a damaged file."""
    by_paper = {}
    with faults_of_asset(PAPERS_FILE, "The list of papers"):
        for entry in tomllib.loads(PAPERS_FILE.read_text(encoding="utf-8"))["papers"]:
            texts = msgspec.convert(entry["tables"], tuple[TableText, ...])
            titles = [text.title for text in texts]
            by_paper[msgspec.convert(entry | {"tables": titles}, Paper)] = texts
    return by_paper


TABLE_TEXTS = read_papers()
PAPERS = tuple(TABLE_TEXTS)


def paper(key: str) -> Paper:
    """Return the paper of that key; raises UnknownName, whose remedy has the nearest one."""
    by_key = {known.key: known for known in PAPERS}
    if key in by_key:
        return by_key[key]
    shown = key if len(key) <= 40 else f"{key[:39]}…"
    remedy = f"{did_you_mean(key.lower(), by_key, 0.4)}Choose one of {', '.join(by_key)}."
    raise UnknownName(f"paper '{shown}'", "no paper is called that", remedy)


COURSE_FORMAT, COURSE_VERSION = "haloscope-recorded-course", 1

Names = tuple[str, ...]
"""What names a row of a table."""
Values = Mapping[Names, Mapping[str, str]]
"""The figures of a table by row and heading."""


@dataclass(frozen=True, slots=True)
class RecordedPaper:
    """The figures of a paper's tables, by their titles; and what the machine was, by names such as "CPU"."""

    machine: Mapping[str, str]
    tables: Mapping[str, Values]

    @property
    def source(self) -> str:
        """Where the figures are from, in a sentence."""
        names = "CUDA device", "CPU", "Made", "Commit"
        gpu, cpu, made, commit = (self.machine.get(name, "?") for name in names)
        return f"Recorded: {gpu}, {made}, commit {commit}; what runs on the CPU, on its {cpu}."


def recorded_paper(key: str) -> RecordedPaper | None:
    """Return the recorded figures of a paper; raises EngineError where the file is damaged."""
    document = recorded_document(COURSE)
    if not document:
        return None
    with faults_of_asset(recorded_path(COURSE), "The recording"):
        if (document["format"], document["version"]) != (COURSE_FORMAT, COURSE_VERSION):
            raise ValueError("it is not one of tables")
        recorded = document["papers"].get(key)
        if recorded is None:
            return None
        tables = {
            table["title"]: {tuple(map(str, names)): dict(values) for names, values in table["rows"]}
            for table in recorded["tables"]
        }
        return RecordedPaper(dict(recorded["machine"]), tables)


def recorded_values(table: CourseTable) -> dict[str, object]:
    """Return the figures of a table as plain data, for the file."""
    # Where a step is in the code is no figure.
    figures = table.headings[:-1] if table.excerpts else table.headings
    rows = [
        [names, {heading: cell.here for heading, cell in zip(figures, row, strict=False) if cell.here}]
        for names, row in zip(_names(table), table.rows, strict=True)
    ]
    kept: dict[str, object] = {"title": table.title, "rows": rows}
    if table.figure is not None:
        kept["curves"] = [[series.name, list(series.y)] for series in table.figure.series]
    return kept


def beside(table: CourseTable, recorded: RecordedPaper) -> CourseTable:
    """Return a table with the recorded figures in its cells, and a note of where they are from.

    What is this machine's too, such as a count, is not repeated.
    """
    values, rows = recorded.tables.get(table.title, {}), []
    for names, row in zip(_names(table), table.rows, strict=True):
        figures = [values.get(names, {}).get(heading, "") for heading in table.headings]
        pairs = zip(row, figures, strict=True)
        rows.append(
            tuple(replace(cell, recorded=one) if one and one != cell.here else cell for cell, one in pairs)
        )
    if tuple(rows) == table.rows:
        return table
    return replace(table, rows=tuple(rows), notes=(recorded.source, *table.notes))


def _names(table: CourseTable) -> list[Names]:
    at = [column.position for column in columns_of(table) if column.part is Part.NAME]
    return [tuple(row[position].printed for position in at) for row in table.rows]


class CourseRequest(Message, Request, frozen=True):
    """The tables of a paper, counted by the models of work, 1 to 300 ms."""

    paper: str
    handler: ClassVar[str] = "engine.course.tables:describe"
    reply: ClassVar[object] = tuple[CourseTable, ...]
    policy: ClassVar[QueuePolicy] = QueuePolicy.AT_ONCE


class CountCourse(CourseRequest, frozen=True):
    """Count the transactions of a paper's kernels, too: up to 3 s."""

    policy: ClassVar[QueuePolicy] = QueuePolicy.IN_ORDER


class MeasuredPaper(Message, frozen=True):
    """A paper's tables with this machine's figures, and the results that they were made from."""

    tables: tuple[CourseTable, ...]
    results: tuple[AnyResult, ...] = ()


class MeasureCourse(Message, Request, frozen=True):
    """Measure a paper's tables on this machine, which may take minutes."""

    paper: str
    device: str = "auto"
    handler: ClassVar[str] = "engine.course.bench:measure_course"
    reply: ClassVar[object] = MeasuredPaper


class RecordedCourse(Message, Request, frozen=True):
    """The recorded figures of a paper. None where there are none."""

    paper: str
    policy: ClassVar[QueuePolicy] = QueuePolicy.AT_ONCE
    handler: ClassVar[str] = "engine.course.papers:answer"
    reply: ClassVar[object] = RecordedPaper | None


def answer(request: RecordedCourse, report: Checkpoint) -> RecordedPaper | None:
    """Return the recorded figures of a paper. Called on: the host's pipe."""
    return recorded_paper(request.paper)


class CourseCode(Message, Request, frozen=True):
    """The code of a paper's kernels, at once."""

    paper: str
    policy: ClassVar[QueuePolicy] = QueuePolicy.AT_ONCE
    handler: ClassVar[str] = "engine.course.tables:course_code"
    reply: ClassVar[object] = tuple[tuple[Excerpt, ...], ...]


class SaveCourse(Message, Request, frozen=True):
    """Write a paper's tables, as the command `course PAPER --out FOLDER` does.

    The folder is created if its parent exists. `device` is the measured one, for the lines about the machine.
    """

    paper: str
    tables: tuple[CourseTable, ...]
    folder: str
    device: str = "auto"
    path_field: ClassVar[str] = "folder"
    handler: ClassVar[str] = "engine.course.bench:save_course"
    reply: ClassVar[object] = Saved
