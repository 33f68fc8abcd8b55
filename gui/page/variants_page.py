"""A page that runs the variants of a task: its runs are in sessions, and clearing them can be undone."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

import msgspec
from PySide6.QtGui import QUndoStack

from engine.errors import BadValue, EngineError
from gui.page.contract import Services
from gui.page.runs_page import RunsPage
from gui.runs.kept import ExchangeRuns
from gui.runs.state import RunsState, Shared, TaskRun
from gui.typed_json import Reading, Table, Text, in_short

Change = Callable[[], object]


class VariantsPage(RunsPage):
    """Keeps the runs of a `RunsState`, with those of earlier settings."""

    title = ""
    """That of the page, for messages."""

    def show_state(self, services: Services, state: RunsState[Any]) -> None:
        """Take the state, whose runs are the rows of a table."""
        self._runs_state = state
        self.show_runs(services, state, state.rows_changed, state.settings_changed, state.running_changed)
        self.shown.connect(state.shown)
        for changed in (state.rows_changed, state.settings_changed, state.undo_stack.indexChanged):
            changed.connect(self.edited)

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
