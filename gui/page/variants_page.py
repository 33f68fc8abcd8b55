"""A page that runs the variants of a task: its runs are in sessions, and clearing them can be undone."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

import msgspec
from PySide6.QtGui import QUndoStack

from engine.errors import BadValue, EngineError
from gui.page.contract import Services
from gui.page.runs_page import RunsPage
from gui.strict_json import text_of
from gui.widgets.runs_state import Runs, RunsState, Shared, StateRuns

Table = Mapping[str, Any]
Change = Callable[[], object]


class VariantsPage(RunsPage):
    """Keeps the runs of a `RunsState`, with those of earlier settings."""

    title = ""
    """That of the page, for messages."""

    def show_state(self, services: Services, state: RunsState[Any], model: StateRuns) -> None:
        """Take the state, and its runs as the rows of a table."""
        self._runs_state = state
        # A run, by its identity, and what it is as plain values: that takes 0.7 ms for each.
        self._tables: dict[int, tuple[Any, Table]] = {}
        changes = state.rows_changed, state.settings_changed, state.running_changed
        self.show_runs(services, model, *changes)
        for changed in (state.rows_changed, state.settings_changed, state.undo_stack.indexChanged):
            changed.connect(self.edited)

    def own_part(self) -> Table:
        """Return what a session keeps beside the runs, as plain JSON values."""
        raise NotImplementedError

    def take_own_part(self, part: "Part") -> Change | None:
        """Show that; return what is a step of undo, or None."""
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
    def work_results(self) -> tuple[Any, ...]:
        return tuple(self._runs_state.all_runs.values())

    @property
    def session_part(self) -> Table:
        known, self._tables = self._tables, {}
        runs = []
        for (shared, _key), run in self._runs_state.all_runs.items():
            self._tables[id(run)] = _, table = known.get(id(run)) or (run, self.table_of(run))
            own = {"device": shared.device} | ({"weights": shared.weights} if shared.weights else {})
            runs.append({**own, **table})
        return {**self.own_part(), "runs": runs}

    def take_session_part(self, part: Table) -> None:
        what = f"The session's part for the page {self.title}"
        if self._runs_state.running:
            raise BadValue(what, "a run is under way", "Open it again when the run is over.")
        read = Part(part)
        change, runs = self.take_own_part(read), self._runs_in(read)
        stack, is_other = self.undo_stack, bool(runs or self._runs_state.all_runs)
        if change is not None or is_other:
            stack.beginMacro("Open session")
            if change is not None:
                change()
            self._runs_state.take_runs(runs, "Open session")
            stack.endMacro()
        if left_out := read.left_out():
            raise BadValue(f"{what} was opened as far as possible", " ".join(left_out))

    def _runs_in(self, part: "Part") -> Runs:
        found: dict[Any, Any] = {}
        tables = part.take("runs", list[dict[str, Any]], "a list of results") or []
        for number, table in enumerate(tables, start=1):
            try:
                device, weights = (text_of(table.get(key, "")) for key in ("device", "weights"))
                run = self.run_in(table)
                result = self._runs_state.result_of(run)
                if result.task != self._runs_state.settings.problem.task:
                    raise ValueError(f"it is a result of {result.task}")
            except (EngineError, ValueError, LookupError, TypeError) as error:
                why = error.why if isinstance(error, EngineError) else str(error)
                part.leave_out(f"result {number}", why or "it is damaged")
            else:
                found[Shared(result.problem, device, weights), self._runs_state.key_of(result)] = run
                self._tables[id(run)] = run, table
        return found


class Part:
    """Reads what a session kept of a page, and notes what cannot be used: the rest is shown all the same."""

    def __init__(self, part: Table) -> None:
        self._left = dict(part)
        self._notes: list[str] = []

    def take(
        self, key: str, kind: Any, wanted: str = "text", check: Callable[[Any], object] = lambda value: None
    ) -> Any:
        """Return a value, None where it is not there or not `wanted`.

        It is of a `kind` that msgspec knows; `check` raises a ValueError for what else is wrong with it.
        """
        if key not in self._left:
            return None
        try:
            value = msgspec.convert(self._left.pop(key), kind)
            if isinstance(value, str):
                text_of(value)
            check(value)
        except (ValueError, OverflowError):
            self.leave_out(f'"{key}"', f"it is not {wanted}")
            return None
        return value

    def leave_out(self, what: str, why: str) -> None:
        """Note that something is not shown, and why."""
        self._notes.append(f"Its {what} was left out: {why.rstrip('.')}.")

    def left_out(self) -> list[str]:
        """Return a sentence for each thing that is not shown, with what nobody took."""
        unknown = [f'Its "{key[:40]}" is not known to this version of Haloscope.' for key in self._left]
        said, more = [*self._notes, *unknown], len(self._notes) + len(unknown) - 4
        return [*said[:4], f"And {more} more."] if more > 0 else said
