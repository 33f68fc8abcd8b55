"""The course papers as the window knows them: which is shown, its tables so far; what counts and saves."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec
from PySide6.QtCore import QObject, Signal

from engine.course.paper import CourseTable, Excerpt, Paper
from engine.course.papers import (
    PAPERS,
    CountCourse,
    CourseCode,
    CourseRequest,
    MeasureCourse,
    MeasuredPaper,
    RecordedCourse,
    RecordedPaper,
    SaveCourse,
    beside,
)
from engine.course.performance_lecture import Gpu, example_table
from engine.device_info import AUTO
from engine.errors import BadValue, EngineError
from engine.host.protocol import Saved
from engine.host.request import Request
from gui.engine_link.engine_link import Ask, Failed, needs_no_message
from gui.page.contract import Services
from gui.page.jobs import RequestedRun
from gui.page.messages import PageMessages
from gui.style.metrics import follow
from gui.typed_json import Reading, Table, in_short

_PART = {"paper": str, "measured": dict[str, dict[str, Any]]}


@dataclass(slots=True)
class PaperTables:
    """What is known of a paper so far."""

    counted: tuple[CourseTable, ...] = ()
    measured: MeasuredPaper | None = None  # by this machine, now or in a session
    problem: str = ""  # why there are no tables, in words
    code: tuple[tuple[Excerpt, ...], ...] = ()  # of each kernel; empty until it was looked up
    code_problem: str = ""  # why there is none, in words

    @property
    def tables(self) -> tuple[CourseTable, ...]:
        """Its tables, empty until they have been counted: measured ones hold more but for the code."""
        by_title = {table.title: table for table in self.measured.tables} if self.measured else {}
        return tuple(replace(by_title.get(one.title, one), excerpts=one.excerpts) for one in self.counted)


class CourseModel(QObject):
    """The state of the page Course, by default for all papers."""

    paper_changed = Signal()  # another paper is shown
    tables_changed = Signal(str)  # what is known of the paper of this key
    measured_changed = Signal()  # there are measured tables that were not there before

    def __init__(self, papers: tuple[Paper, ...] = PAPERS) -> None:
        super().__init__()
        self.papers = papers
        """Every paper, in the course's order."""
        self.paper: Paper | None = None
        """The paper that is shown; None until one was chosen."""
        self._known: dict[str, PaperTables] = {}
        self._gpu: Gpu = ""
        # By paper; None where nothing was recorded. None of them is shown while recorded figures are hidden.
        self.recorded: dict[str, RecordedPaper | None] = {}
        self._shows_recorded = False

    @property
    def key(self) -> str:
        """The key of the paper that is shown; empty for none."""
        return self.paper.key if self.paper else ""

    @property
    def measured(self) -> dict[str, MeasuredPaper]:
        """What this machine measured, by paper."""
        return {key: one.measured for key, one in self._known.items() if one.measured}

    def choose(self, key: str) -> None:
        chosen = next((paper for paper in self.papers if paper.key == key), self.paper)
        if chosen != self.paper:
            self.paper = chosen
            self.paper_changed.emit()

    def known(self, key: str) -> PaperTables:
        return self._known.get(key, PaperTables())

    def tables(self, key: str) -> tuple[CourseTable, ...]:
        """Return a paper's tables as they are shown: worked examples with the GPU here, recorded figures."""
        recorded = self.recorded.get(key) if self._shows_recorded else None
        gpu, tables = self._gpu, self.known(key).tables
        tables = tuple((gpu and example_table(key, table.title, gpu)) or table for table in tables)
        return tuple(beside(table, recorded) if recorded else table for table in tables)

    def excerpts(self, key: str) -> tuple[Excerpt, ...]:
        """Return the code of a paper's kernels, then that of the steps of its tables."""
        of_tables = (row for table in self.known(key).tables for row in table.excerpts)
        return tuple(itertools.chain(*self.known(key).code, *of_tables))

    def set_gpu(self, gpu: Gpu) -> None:
        """Note what is known of the GPU here, or why there is none."""
        if gpu != self._gpu:
            self._gpu = gpu
            self.tables_changed.emit(self.key)

    def show_recorded(self, shows: bool) -> None:
        """Show recorded figures, as far as they are there, or hide them."""
        if shows != self._shows_recorded:
            self._shows_recorded = shows
            self.tables_changed.emit(self.key)

    def set_recorded(self, key: str, recorded: RecordedPaper | None) -> None:
        self.recorded[key] = recorded
        self.tables_changed.emit(key)

    def know(self, key: str, **more: Any) -> None:
        """Store more of what is known of a paper: fields of `PaperTables`."""
        known = self._known.setdefault(key, PaperTables())
        for name, value in more.items():
            setattr(known, name, value)
        self.tables_changed.emit(key)
        if "measured" in more:
            self.measured_changed.emit()


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
    return {"paper": course.key, "measured": measured} if measured else {}


def show_part(course: CourseModel, kept: Table) -> None:
    """Show it; a BadValue says what in it cannot be used, and the rest is shown."""
    reading = Reading()
    saved = reading.fields(kept, _PART)
    papers = {paper.key for paper in course.papers}
    for key, table in saved.get("measured", {}).items():
        try:
            if key not in papers:
                raise ValueError("there is no such paper")
            tables = msgspec.convert(table["tables"], tuple[CourseTable, ...])
            if any(len(row) != len(one.headings) for one in tables for row in one.rows):
                raise ValueError("a row of a table has another length than its headings")
            read = import_module("engine.tasks.read_results").result_from_json
            course.know(key, measured=MeasuredPaper(tables, tuple(map(read, table.get("results", [])))))
        except (EngineError, ValueError, LookupError, TypeError) as error:
            reading.leave_out(f"paper {key[:40]}", error)
    if chosen := saved.get("paper"):
        course.choose(chosen)
    if reading.notes:
        what = "The session's part for the page Course was opened as far as possible"
        raise BadValue(what, in_short(reading.notes))


SOURCE = "course material"
SAVE_SOURCE = "course tables"


class CourseController(QObject):
    """Counts the tables of the paper that is shown; measures and saves on request."""

    def __init__(self, course: CourseModel, services: Services, messages: PageMessages) -> None:
        super().__init__()
        self._course, self._messages, self._jobs = course, messages, services.jobs
        self._state, self._link = state, link = services.state, services.link
        # What is on its way, and the papers whose transactions are counted.
        self._pending: dict[Request, Ask] = {}
        self._counted: set[str] = set()
        course.paper_changed.connect(self.count)
        # A lost host does not reply; its successor gets the request again.
        link.ready.connect(self.count)
        follow(self._find_gpu, state.ready_changed)
        follow(self._find_recorded, state.recorded_changed)

    def _ask_once(self, request: Request, take: Callable[[Any], None], refuse: Failed) -> None:
        if request in self._pending:
            return

        def replied(reply: Any) -> None:
            del self._pending[request]
            take(reply)

        def failed(error: EngineError) -> None:
            del self._pending[request]
            if not needs_no_message(error):
                refuse(error)

        self._pending[request] = Ask(request, replied, failed)
        self._link.ask(self._pending[request])

    def count(self) -> None:
        """Have the tables of the paper that is shown counted, then the cells that take longer; each once."""
        self._find_recorded()
        course, paper = self._course, self._course.key
        for request, ask in list(self._pending.items()):
            if isinstance(request, CountCourse) and request.paper != paper:
                self._link.cancel(ask)
        has_tables = bool(course.known(paper).tables)
        if not paper or (has_tables and (paper in self._counted or course.known(paper).measured)):
            return

        def take(tables: tuple[CourseTable, ...]) -> None:
            if has_tables:
                self._counted.add(paper)
            course.know(paper, counted=tables)
            if tables:
                self.count()

        wanted = CountCourse(paper) if has_tables else CourseRequest(paper)
        self._ask_once(wanted, take, lambda error: course.know(paper, problem=str(error)))

    def look_up_code(self) -> None:
        """Have the code of the kernels of the paper that is shown looked up, unless it is there."""
        course, paper = self._course, self._course.key
        if paper and not course.known(paper).code:
            self._ask_once(
                CourseCode(paper),
                lambda code: course.know(paper, code=code),
                lambda error: course.know(paper, code_problem=str(error)),
            )

    def measure(self, paper: str) -> None:
        """Measure the tables of a paper on this machine; runs and previews wait meanwhile."""

        def replied(measured: MeasuredPaper) -> None:
            counted = self._course.known(paper).counted or measured.tables
            self._course.know(paper, measured=measured, counted=counted)

        request = MeasureCourse(paper, self._device())
        self._jobs.begin(SOURCE, [RequestedRun(f"Tables of {paper}", request, replied)], self._messages)

    def save(self, paper: str, around: Path) -> None:
        """Write the tables of a paper, as they are now, into a folder of their own in the folder `around`."""
        tables = self._course.tables(paper)
        folder = around / f"{paper}-tables"
        self._state.set_task(SAVE_SOURCE, f"saving {folder.name}")

        def replied(saved: Saved) -> None:
            self._state.end_task(SAVE_SOURCE)
            self._messages.note(SAVE_SOURCE, f"Tables saved in {saved.path}", " ".join(saved.notes))

        def failed(error: EngineError) -> None:
            self._state.end_task(SAVE_SOURCE)
            self._messages.show_error(SAVE_SOURCE, error)

        self._link.ask(Ask(SaveCourse(paper, tables, str(folder), self._device()), replied, failed))

    def _find_recorded(self) -> None:
        """Have the recorded figures of the paper that is shown read, where they are shown."""
        self._course.show_recorded(self._state.shows_recorded)
        paper = self._course.key
        if paper and self._state.shows_recorded and paper not in self._course.recorded:
            self._ask_once(
                RecordedCourse(paper),
                lambda recorded: self._course.set_recorded(paper, recorded),
                lambda error: self._messages.show_error(SOURCE, error),
            )

    def _find_gpu(self) -> None:
        """Have the worked examples computed for the GPU that would be measured, or say why there is none."""
        if not self._state.devices:
            return
        device = self._state.used_device(self._device())
        gpu = device.attributes if device is not None and device.is_usable_gpu else None
        why_not = (device and device.reason) or self._state.no_gpu or ""
        self._course.set_gpu(gpu or f"There is no GPU here. {why_not}".rstrip())

    def _device(self) -> str:
        """Return the device to measure: never the simulator, which has no times."""
        chosen = self._state.chosen_device
        return chosen if chosen.startswith("cuda") else AUTO
