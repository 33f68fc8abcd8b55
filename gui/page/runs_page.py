"""Pages with a table of runs: copy, save and clear them; list and run variants of a task; keep sessions."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

import msgspec
from PySide6.QtCore import SignalInstance

from engine.course.paper import CourseKernel
from engine.device_info import RECORDED, SIMULATOR
from engine.errors import BadValue, EngineError
from engine.files.atomic_write import atomic_write
from engine.host.request import Request
from engine.results.columns import machine_document, results_csv, results_document
from engine.results.text_forms import duration_text, json_text
from gui.engine_link.engine_link import Newest, needs_no_message
from gui.engine_link.engine_state import EngineState
from gui.page.contract import Intent, Page, PageStatus, Services
from gui.page.jobs import RequestedRun
from gui.page.messages import Messages
from gui.runs.bars import Kept, Run
from gui.runs.model import RunsModel
from gui.runs.state import ExchangeRuns, RunsState, Shared, TaskRun
from gui.runs.table import RunsPanel, RunsTable
from gui.typed_json import Reading, Table, Text, in_short
from gui.widgets.charts import FILTERS, PaintedChart


class RunsPage(Page):
    """Copies, saves and clears the runs of a `RunsModel`, and keeps the choice of its table's columns."""

    table_actions: ClassVar[tuple[str, ...]] = ("copy_results", "save_results", "clear_results")
    """The commands in the menu of its table."""

    def show_runs(self, services: Services, model: RunsModel, *changes: SignalInstance) -> None:
        """Take the runs, and the signals at which `status` is another one."""
        self._services, self._runs_model = services, model
        # A page need not have its panel at first.
        self._table: RunsTable | None = None
        self._columns: Mapping[str, bool] = {}
        of_runs = model.rowsInserted, model.modelReset, model.dataChanged, model.present_changed
        for changed in (*changes, *of_runs, services.state.ready_changed):
            changed.connect(self.status_changed)

    def take_panel(self, panel: RunsPanel) -> RunsPanel:
        """Take the panel that shows them, once it is there, and return it."""
        self._table = table = panel.table
        table.copied.connect(self._services.messages.report_copied)
        panel.page_actions = [self._services.actions[name] for name in self.table_actions]
        panel.save_wanted.connect(lambda: self.save_drawing("bars", panel.table.drawing()))
        table.choose_columns(self._columns)
        self.status_changed.emit()
        return panel

    @property
    def export_stem(self) -> str:
        """The beginning of the name of a file of results."""
        raise NotImplementedError

    @property
    def status(self) -> PageStatus:
        """What can be done with the table; a subclass adds the rest."""
        model = self._runs_model
        can_copy = self._table is not None and model.rowCount() > 0
        return PageStatus(has_results=bool(model.tried()), can_copy=can_copy, can_clear=bool(model.clearable))

    def save_results(self) -> None:
        services, name = self._services, f"{self.export_stem}-results.csv"

        def save(path: Path, _filter: str) -> None:
            save_runs(path, self._runs_model, services.state, services.messages)

        services.files.ask_to_save("Save the results", ["CSV (*.csv)", "JSON (*.json)"], name, save)

    def save_drawing(self, what: str, drawing: PaintedChart) -> None:
        """Ask where to save what is drawn, such as the bars."""
        services = self._services

        def save(path: Path, _filter: str) -> None:
            if _written(path, drawing.file(path.suffix), "plot", services.messages):
                services.messages.note("plot", f"{what.capitalize()} saved as {path}")

        services.files.ask_to_save(f"Save the {what}", list(FILTERS), f"{self.export_stem}-{what}.png", save)

    def copy_results(self) -> None:
        if self._table is not None:
            self._table.copy(every=True)

    def clear_results(self) -> None:
        runs, stack = self._runs_model.clearable, self.undo_stack
        if runs and stack is not None:
            text = f"Clear {len(runs)} result{'s' if len(runs) != 1 else ''}"
            stack.push(ExchangeRuns(self._runs_model, text, runs))

    @property
    def work_results(self) -> tuple[Kept, ...]:
        return self._runs_model.kept

    @property
    def chosen_columns(self) -> dict[str, bool]:
        return dict(self._columns if self._table is None else self._table.chosen_columns)

    def choose_columns(self, chosen: Mapping[str, bool]) -> None:
        self._columns = chosen
        if self._table is not None:
            self._table.choose_columns(chosen)


def run_sentence(what: str, result: Run, *rates: str) -> str:
    """Say for the status line how a run went; `what` it was, and how fast beside its time."""
    if result.device == SIMULATOR and not result.failure:
        return f"{what}, {result.status}; simulated, so its times mean nothing"
    if result.kernel_ms is None:
        return f"{what}: {result.status}"
    return ", ".join((what, duration_text(result.kernel_ms), *rates, result.status))


def save_runs(path: Path, results: RunsModel, state: EngineState, messages: Messages) -> None:
    """Write all runs, not what was only counted: as JSON if the name ends in .json, else as CSV."""
    rows = results.tried()
    if path.suffix.lower() == ".json":
        # Failed runs know no versions; those of any other run are the engine's.
        here = (row.result for row in rows if row.result.device != RECORDED)
        known = [result.environment for result in here if result.environment.versions]
        versions, commit = (known[-1].versions, known[-1].commit) if known else ({}, "")
        machine = machine_document(state.devices, versions, commit)
        text = json_text(results_document(rows, results.baseline, machine))
    else:
        text = results_csv(rows, results.baseline)
    if _written(path, text.encode(), "results", messages):
        count = f"{len(rows)} result{'s' if len(rows) != 1 else ''}"
        messages.note("results", f"{count} saved as {path}")


def _written(path: Path, content: bytes, source: str, messages: Messages) -> bool:
    """Write a file; say why not where that fails."""
    try:
        atomic_write(path, content)
    except EngineError as error:
        messages.show_error(source, error)
        return False
    return True


class VariantsPage(RunsPage):
    """Lists the variants of a task whenever the settings change, once it was shown, and runs them."""

    title = source = looking = ""
    """Its title, the source of its tasks and messages, and what it does before it runs everything."""
    invites = "press Run (Ctrl+R) to verify and measure."
    """What to do while nothing has run."""

    def __init__(self, services: Services, state: RunsState[Any]) -> None:
        super().__init__()
        self._runs, self.undo_stack = state, state.undo_stack
        self._own_messages, self._lists = services.messages.on(self), Newest(services.link)
        self._was_shown = False
        self.show_runs(services, state, state.rows_changed, state.settings_changed, state.running_changed)
        for changed in (state.rows_changed, state.settings_changed, state.undo_stack.indexChanged):
            changed.connect(self.edited)
        self.shown.connect(self._first_shown)
        state.settings_changed.connect(partial(self._own_messages.clear, self.source))
        state.settings_changed.connect(self._list)
        # A lost host does not reply; its successor gets the requests again.
        services.link.ready.connect(self._ask)

    def list_request(self) -> Request:
        """Return the request for what can run with these settings; its reply is listed in the state."""
        raise NotImplementedError

    def job_of(self, variant: Any) -> RequestedRun:
        """Return the job of one of the state's `runnable`."""
        raise NotImplementedError

    def load(self, kernel: CourseKernel) -> None:
        """Show a paper's kernel of this page's task."""
        raise NotImplementedError

    def run_all(self) -> None:
        """Run everything that can run, one after the other, after listing it for these settings."""
        if not self._runs.enter_typed():
            return

        def listed(entries: tuple[Any, ...]) -> None:
            self._runs.set_listed(entries)
            self._services.jobs.add(map(self.job_of, self._runs.runnable))

        self._begin_jobs([RequestedRun(self.looking, self.list_request(), listed, is_counted=False)])

    def take(self, intent: Intent) -> bool:
        if not (isinstance(intent, CourseKernel) and intent.task == self._runs.settings.problem.task):
            return False
        if self._runs.running:
            what, why = f"{intent.variant} was not loaded", "the settings stay as they are during a run"
            remedy = "Load it again when the run is over, or press Esc."
            self._own_messages.warn(self.source, what, why, remedy)
        else:
            self.load(intent)
        return True

    def _begin_jobs(self, jobs: Iterable[RequestedRun]) -> None:
        over = partial(self._runs.set_running, False)
        if self._services.jobs.begin(self.source, jobs, self._own_messages, over):
            self._runs.set_running(True)

    def _first_shown(self) -> None:
        self._was_shown = True
        self._ask()

    def _ask(self) -> None:
        """Ask for all that is missing."""
        self._list()

    def _list(self) -> None:
        def failed(error: EngineError) -> None:
            if not needs_no_message(error):
                self._own_messages.show_error(self.source, error)

        if self._was_shown:
            self._lists.ask(self.list_request(), self._runs.set_listed, failed)

    @property
    def status(self) -> PageStatus:
        state, is_up = self._runs, self._services.state.is_ready
        is_hopeless = bool(state.results()) and not state.runnable
        no_run = f"No run yet: {self.invites if is_up else 'kernels run once the engine is up.'}"
        return replace(
            super().status,
            sentence=no_run if state.last is None else self.words_of(state.last),
            device=state.settings.device,
            why_no_run="Nothing can run here; the table says why." if is_hopeless else "",
        )

    def words_of(self, last: Any) -> str:
        """Return a sentence about the result of the last run."""
        raise NotImplementedError

    def table_of(self, run: Any) -> Table:
        """Return a run as plain JSON values; by default a run is its result."""
        return {"result": run.as_json()}

    def run_in(self, table: Table) -> Any:
        """Return the run of such a table; an EngineError or a ValueError says what is wrong with it."""
        return import_module("engine.tasks.read_results").result_from_json(table["result"])

    @property
    def session_part(self) -> Table:
        state = self._runs
        for run in state.task_runs:
            # 0.7 ms for each.
            run.table = run.table or {"device": run.problem.device, **self.table_of(run.whole)}
        return {**state.own_part(), "runs": [run.table for run in state.task_runs]}

    def take_session_part(self, part: Table) -> None:
        what, state = f"The session's part for the page {self.title}", self._runs
        if state.running:
            raise BadValue(what, "a run is under way", "Open it again when the run is over.")
        reading = Reading()
        own = {name: value for name, value in part.items() if name != "runs"}
        change, runs = state.take_own_part(own, reading), self._runs_in(part, reading)
        if change is not None or runs or state.kept:
            state.undo_stack.beginMacro("Open session")
            if change is not None:
                change()
            state.undo_stack.push(ExchangeRuns(state, "Open session", state.kept, runs))
            state.undo_stack.endMacro()
        if reading.notes:
            raise BadValue(f"{what} was opened as far as possible", in_short(reading.notes))

    def _runs_in(self, part: Table, reading: Reading) -> list[TaskRun]:
        runs = []
        kept = {"runs": part["runs"]} if "runs" in part else {}
        tables = reading.fields(kept, {"runs": list[dict[str, Any]]}).get("runs", [])
        for number, table in enumerate(tables, start=1):
            try:
                device = msgspec.convert(table.get("device", ""), Text)
                if table.get("weights"):
                    # The window of earlier versions took files of weights.
                    raise ValueError("it has the weights of a file")
                run = self.run_in(table)
                result = self._runs.result_of(run)
                if result.task != self._runs.settings.problem.task:
                    raise ValueError(f"it is a result of {result.task}")
            except (EngineError, ValueError, LookupError, TypeError) as error:
                reading.leave_out(f"result {number}", error)
            else:
                shared = Shared(result.problem, device)
                runs.append(TaskRun(result, shared, whole=run, table=table))
        return runs
