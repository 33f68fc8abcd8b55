"""A page whose table has the runs of one state: what all such pages do with it."""

from collections.abc import Mapping
from typing import Any

from PySide6.QtGui import QShowEvent

from engine.device_info import SIMULATOR
from engine.results.quantities import ms_text
from gui.page.contract import Page, PageStatus, Services
from gui.page.export import ResultsExport
from gui.widgets.runs_model import Run
from gui.widgets.runs_panel import RunsPanel
from gui.widgets.runs_state import RunsState


class RunsPage(Page):
    """Copies, saves and clears the runs of a `RunsPanel`, and keeps the choice of its columns."""

    def show_runs(self, services: Services, state: RunsState[Any], panel: RunsPanel) -> None:
        """Take the panel and its state, before the first paint."""
        self._services = services
        self._runs_state = state
        self._runs_panel = panel
        self._export = ResultsExport(panel.model, services.state, services.messages)
        panel.table.copied.connect(services.messages.report_copied)
        for button, name in zip(panel.export_buttons, ("export_csv", "export_json"), strict=True):
            button.clicked.connect(services.actions[name].trigger)
        for changed in (
            state.rows_changed,
            state.settings_changed,
            state.running_changed,
            services.state.ready_changed,
        ):
            changed.connect(self.status_changed)

    @property
    def export_stem(self) -> str:
        """The beginning of the name of a file of results."""
        raise NotImplementedError

    @property
    def status(self) -> PageStatus:
        """What can be done with the table; a subclass adds the rest."""
        state = self._runs_state
        return PageStatus(
            device=state.settings.device,
            has_results=bool(self._runs_panel.model.tried()),
            can_copy=bool(state.rows),
            can_clear=state.has_runs and not state.running,
        )

    def export(self, suffix: str) -> None:
        self._export.ask(self._services.files, suffix, self.export_stem)

    def copy_results(self) -> None:
        self._runs_panel.table.copy_all()

    def clear_results(self) -> None:
        self._runs_state.forget_runs()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._runs_state.shown.emit()

    @property
    def chosen_columns(self) -> dict[str, bool]:
        return self._runs_panel.table.chosen_columns

    def choose_columns(self, chosen: Mapping[str, bool]) -> None:
        self._runs_panel.table.choose_columns(chosen)


def run_sentence(what: str, result: Run, *rates: str) -> str:
    """Say for the status line how a run went; `what` it was, and how fast beside its time."""
    what = f"{what}, {result.problem.size_text}"
    if result.device == SIMULATOR and not result.failure:
        return f"{what}, {result.status}; simulated: its times mean nothing"
    if result.kernel_ms is None:
        return f"{what}: {result.status}"
    return ", ".join((what, ms_text(result.kernel_ms), *rates, result.status))
