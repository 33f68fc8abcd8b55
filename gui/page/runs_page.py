"""A page with a table of runs: what all such pages do with it."""

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from PySide6.QtCore import SignalInstance

from engine.device_info import RECORDED, SIMULATOR
from engine.errors import EngineError
from engine.files.atomic_write import atomic_write
from engine.results.export import machine_document, results_csv, results_document
from engine.results.quantities import duration_text
from engine.results.text_forms import json_text
from gui.engine_link.engine_state import EngineState
from gui.page.contract import Page, PageStatus, Services
from gui.page.messages import Message, Messages, Severity
from gui.runs.kept import ExchangeRuns, Kept, Run
from gui.runs.model import RunsModel
from gui.runs.panel import RunsPanel
from gui.runs.table import RunsTable
from gui.widgets.drawing import FILTERS, Drawing


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

    def take_panel(self, panel: RunsPanel) -> None:
        """Take the panel that shows them, once it is there."""
        self._table = table = panel.table
        table.copied.connect(self._services.messages.report_copied)
        panel.take_actions([self._services.actions[name] for name in self.table_actions])
        panel.save_wanted.connect(lambda: self.save_drawing("bars", panel.drawing()))
        table.choose_columns(self._columns)
        self.status_changed.emit()

    @property
    def export_stem(self) -> str:
        """The beginning of the name of a file of results."""
        raise NotImplementedError

    @property
    def status(self) -> PageStatus:
        """What can be done with the table; a subclass adds the rest."""
        model = self._runs_model
        return PageStatus(
            has_results=bool(model.tried()),
            can_copy=self._table is not None and model.rowCount() > 0,
            can_clear=bool(model.clearable),
        )

    def save_results(self) -> None:
        services, name = self._services, f"{self.export_stem}-results.csv"

        def save(path: Path, _filter: str) -> None:
            save_runs(path, self._runs_model, services.state, services.messages)

        services.files.ask_to_save("Save the results", ["CSV (*.csv)", "JSON (*.json)"], name, save)

    def save_drawing(self, what: str, drawing: Drawing) -> None:
        """Ask where to save what is drawn, such as the bars."""
        services = self._services

        def save(path: Path, _filter: str) -> None:
            if _written(path, drawing.file(path.suffix), "plot", services.messages):
                saved = f"{what.capitalize()} saved as {path}"
                services.messages.show(Message("plot", Severity.INFO, saved))

        services.files.ask_to_save(f"Save the {what}", list(FILTERS), f"{self.export_stem}-{what}.png", save)

    def copy_results(self) -> None:
        if self._table is not None:
            self._table.copy_all()

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
        return dict(self._columns) if self._table is None else self._table.chosen_columns

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
        messages.show(Message("results", Severity.INFO, f"{count} saved as {path}"))


def _written(path: Path, content: bytes, source: str, messages: Messages) -> bool:
    """Write a file; say why not where that fails."""
    try:
        atomic_write(path, content)
    except EngineError as error:
        messages.show_error(source, error)
        return False
    return True
