"""What all pages that run the variants of a task do: list what can run, run it, keep runs in sessions."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from importlib import import_module
from typing import Any, Generic, TypeVar

import msgspec
from PySide6.QtCore import QObject
from PySide6.QtGui import QUndoStack

from engine.course.paper import CourseKernel
from engine.errors import BadValue, EngineError
from engine.host.request import Request
from gui.engine_link.engine_link import EngineLink, Newest, needs_no_message
from gui.page.contract import PageStatus, Services
from gui.page.jobs import Job, JobQueue
from gui.page.messages import Message, PageMessages, Severity
from gui.page.runs_page import RunsPage
from gui.runs.kept import ExchangeRuns
from gui.runs.state import RunsState, Shared, TaskRun
from gui.typed_json import Reading, Table, Text, in_short

State = TypeVar("State", bound=RunsState[Any])
Change = Callable[[], object]


class RunsController(QObject, Generic[State]):
    """Lists the variants again whenever the settings change, from when the page is first shown."""

    source = ""
    """That of its tasks and messages."""
    looking = ""
    """What it does before it runs everything, such as "Checking what can run here"."""

    def __init__(self, state: State, link: EngineLink, jobs: JobQueue, messages: PageMessages) -> None:
        super().__init__()
        self._runs = state
        self._jobs = jobs
        self._messages = messages
        self._lists = Newest(link)
        self._was_shown = False
        state.shown.connect(self._shown)
        state.settings_changed.connect(self._settings_changed)
        # A lost host does not reply; its successor gets the requests again.
        link.ready.connect(self._begin)

    def _list_request(self) -> Request:
        """Return the request for what can run with these settings; its reply is listed in the state."""
        raise NotImplementedError

    def _run_of(self, variant: Any) -> Job:
        """Return the job of one of the state's `runnable`."""
        raise NotImplementedError

    def run_all(self) -> None:
        """Run everything that can run, one after the other, after listing it for these settings."""
        if not self._runs.settle():
            return

        def listed(found: tuple[Any, ...]) -> None:
            self._runs.set_listed(found)
            self._jobs.add(map(self._run_of, self._runs.runnable))

        self._begin_jobs([Job(self.looking, self._list_request(), listed, is_counted=False)])

    def load(self, kernel: CourseKernel) -> None:
        """Show a paper's kernel; what is being run stays."""
        if self._runs.running:
            what, why = f"{kernel.variant} was not loaded", "the settings stay as they are during a run"
            remedy = "Load it again when the run is over, or press Esc."
            self._messages.show(Message(self.source, Severity.WARNING, what, why, remedy))
        else:
            self._load(kernel)

    def _load(self, kernel: CourseKernel) -> None:
        raise NotImplementedError

    def _begin_jobs(self, jobs: Iterable[Job]) -> None:
        if self._jobs.begin(self.source, jobs, self._messages, lambda: self._runs.set_running(False)):
            self._runs.set_running(True)

    def _shown(self) -> None:
        self._was_shown = True
        self._begin()

    def _begin(self) -> None:
        """Ask for all that is missing."""
        self._list()

    def _settings_changed(self) -> None:
        self._messages.clear(self.source)
        self._list()

    def _list(self) -> None:
        def failed(error: EngineError) -> None:
            if not needs_no_message(error):
                self._messages.show_error(self.source, error)

        if self._was_shown:
            self._lists.ask(self._list_request(), self._runs.set_listed, failed)


class VariantsPage(RunsPage):
    """Keeps the runs of a `RunsState`, with those of earlier settings."""

    title = ""
    """That of the page, for messages."""
    invites = "press Run (Ctrl+R) to verify and measure."
    """What to do while nothing has run."""

    def show_state(self, services: Services, state: RunsState[Any]) -> None:
        """Take the state, whose runs are the rows of a table."""
        self._runs_state = state
        self.show_runs(services, state, state.rows_changed, state.settings_changed, state.running_changed)
        self.shown.connect(state.shown)
        for changed in (state.rows_changed, state.settings_changed, state.undo_stack.indexChanged):
            changed.connect(self.edited)

    @property
    def status(self) -> PageStatus:
        state = self._runs_state
        is_hopeless = bool(state.results()) and not state.runnable
        return replace(
            super().status,
            sentence=self._sentence(),
            device=state.settings.device,
            why_no_run="Nothing can run here; the table says why." if is_hopeless else "",
        )

    def words_of(self, last: Any) -> str:
        """Return a sentence about the result of the last run."""
        raise NotImplementedError

    def _sentence(self) -> str:
        if (last := self._runs_state.last) is not None:
            return self.words_of(last)
        is_up = self._services.state.is_ready
        return f"No run yet: {self.invites if is_up else 'kernels run once the engine is up.'}"

    def own_part(self) -> Table:
        """Return what a session keeps beside the runs, as plain JSON values."""
        raise NotImplementedError

    def take_own_part(self, part: Table, reading: Reading) -> Change | None:
        """Show that, and note what cannot be used; return what is a step of undo, or None."""
        raise NotImplementedError

    def table_of(self, run: Any) -> Table:
        """Return a run as plain JSON values; by default a run is its result."""
        return {"result": run.as_json()}

    def run_in(self, table: Table) -> Any:
        """Return the run of such a table; an EngineError or a ValueError says what is wrong with it."""
        return import_module("engine.tasks.read_results").result_from_json(table["result"])

    @property
    def undo_stack(self) -> QUndoStack:
        return self._runs_state.undo_stack

    @property
    def session_part(self) -> Table:
        return {**self.own_part(), "runs": [self._kept_table(run) for run in self._runs_state.task_runs]}

    def _kept_table(self, run: TaskRun) -> Table:
        if run.table is None:
            # 0.7 ms for each.
            run.table = {"device": run.problem.device, **self.table_of(run.whole)}
        return run.table

    def take_session_part(self, part: Table) -> None:
        what, state = f"The session's part for the page {self.title}", self._runs_state
        if state.running:
            raise BadValue(what, "a run is under way", "Open it again when the run is over.")
        reading = Reading()
        own = {name: value for name, value in part.items() if name != "runs"}
        change, runs = self.take_own_part(own, reading), self._runs_in(part, reading)
        if change is not None or runs or state.kept:
            self.undo_stack.beginMacro("Open session")
            if change is not None:
                change()
            self.undo_stack.push(ExchangeRuns(state, "Open session", state.kept, runs))
            self.undo_stack.endMacro()
        if reading.notes:
            raise BadValue(f"{what} was opened as far as possible", in_short(reading.notes))

    def _runs_in(self, part: Table, reading: Reading) -> list[TaskRun]:
        found = []
        kept = {"runs": part["runs"]} if "runs" in part else {}
        tables = reading.fields(kept, {"runs": list[dict[str, Any]]}).get("runs", [])
        for number, table in enumerate(tables, start=1):
            try:
                device = msgspec.convert(table.get("device", ""), Text)
                if table.get("weights"):
                    # The window of earlier versions took files of weights.
                    raise ValueError("it has the weights of a file")
                run = self.run_in(table)
                result = self._runs_state.result_of(run)
                if result.task != self._runs_state.settings.problem.task:
                    raise ValueError(f"it is a result of {result.task}")
            except (EngineError, ValueError, LookupError, TypeError) as error:
                reading.leave_out(f"result {number}", error)
            else:
                shared = Shared(result.problem, device)
                found.append(TaskRun(result, shared, whole=run, table=table))
        return found
