"""The table of results with what can be done with them: copy, ask to save, clear, choose the baseline."""

from typing import Any

from PySide6.QtCore import QItemSelection, QItemSelectionModel, QModelIndex

from engine.results.measurement import Measurement
from gui.engine_link.engine_state import EngineState
from gui.engine_link.recorded_button import OFFER, recorded_button
from gui.explore.results.removed_runs import clear_command
from gui.explore.results.results_model import ResultsModel
from gui.explore.results.row_actions import RowActions
from gui.explore.run_words import EARLIER
from gui.explore.state import Settings
from gui.explore.workspace import Workspace
from gui.style.metrics import GRID, HALF_GRID
from gui.widgets.elided_label import ElidedLabel
from gui.widgets.panel_parts import column, row, text_button
from gui.widgets.runs_model import RUN_ROLE
from gui.widgets.runs_panel import RunsPanel

_EMPTY = (
    "Every run appears here: its time, its speed-up, and the proof that its picture is right.\n"
    "Press Run (Ctrl+R) to measure one kernel, or Run all to compare all that can run here."
)
_WHOLE_ROW = QItemSelectionModel.SelectionFlag.ClearAndSelect | QItemSelectionModel.SelectionFlag.Rows
_CLEAR_TIP = "Forget all results. Undo (Ctrl+Z) brings them back."
_HINT = (
    "Double-click a row to restore its settings. Right-click it for more, the header to choose columns; two "
    "selected rows are compared."
)


class ResultsPanel(RunsPanel):
    """Results in a sortable table; the newest is selected."""

    def __init__(
        self,
        results: ResultsModel,
        workspace: Workspace,
        state: EngineState,
        actions: RowActions | None = None,
    ) -> None:
        super().__init__(results, _EMPTY, name="Results of the runs", newest_first=True)
        self._results = results
        self._workspace = workspace
        self._state = state
        self._actions = actions or RowActions(results, workspace, self)
        self._operation = workspace.operation
        # As high as the buttons.
        self.summary = ElidedLabel(most=2, small=True)
        self.clear_button = text_button("clear", "Clear", "Clear results", _CLEAR_TIP)
        self.clear_button.clicked.connect(self.clear)
        self.recorded_button = recorded_button(state)
        buttons = self.recorded_button, *self.buttons, self.clear_button
        line = row((self.summary, 1), *buttons, spacing=HALF_GRID)
        margins = (GRID, HALF_GRID, GRID, GRID)
        self.setLayout(column(line, (self.stack, 1), spacing=HALF_GRID, margins=margins))

        self.table.caption_changed.connect(self._show_summary)
        self.table.baseline_asked.connect(self._keep_baseline)
        self.table.selectionModel().selectionChanged.connect(self._select)
        self.table.menu_made.connect(lambda menu, run: self._actions.fill(menu, run, self))
        self.table.activated.connect(lambda index: self._actions.restore(index.data(RUN_ROLE)))
        self.table.delete_asked.connect(lambda: self._actions.delete(results.selected))
        results.selected_changed.connect(self._follow_selected)
        results.rowsInserted.connect(self._show_newest)
        results.modelReset.connect(self._show_summary)
        results.present_changed.connect(self._follow_present)
        for changed in (state.ready_changed, state.recorded_changed):
            changed.connect(self._offer_recorded)
        workspace.settings_changed.connect(self._follow_baseline)
        self._follow_baseline(workspace.settings)
        self._show_summary()
        self._offer_recorded()

    def _offer_recorded(self) -> None:
        self.explain_empty(f"{_EMPTY}\n{OFFER}" if self._state.lacks_gpu else _EMPTY)

    def clear(self) -> None:
        """Forget all results, as a step that can be undone."""
        self._workspace.undo_stack.push(clear_command(self._results))

    def _select(self, selected: QItemSelection, deselected: QItemSelection) -> None:
        if selected.isEmpty() and deselected.isEmpty():
            return  # a new run came over the selected one
        chosen = self.table.selectionModel().selectedRows()
        # Of rows that are replaced nothing is selected for a moment.
        if chosen:
            rows = [index.row() for index in chosen]
            self._results.select([run.result for run in self.table.runs(rows)])

    def _follow_selected(self) -> None:
        """Select in the table what was selected in a plot."""
        wanted = [run.result for run in self._results.selected]
        if wanted:
            self.select(lambda run: any(run is one for one in wanted), alone=True)

    def _follow_baseline(self, settings: Settings) -> None:
        if settings.baseline:
            self._results.set_baseline(settings.baseline)

    def _keep_baseline(self, run: Measurement[Any] | None) -> None:
        if run is not None:
            self._workspace.change(baseline=run.variant)

    def _show_newest(self, _parent: QModelIndex, first: int, last: int) -> None:
        self._show_summary()
        if first < len(self._results.results()):
            self._show_run(last)

    def _follow_present(self) -> None:
        self._show_summary()
        current = self._results.current
        if self._operation != self._workspace.operation and current is not None:
            # The run of an operation that was left is not what anybody looks for now.
            self._show_run(current.number - 1)
        self._operation = self._workspace.operation

    def _show_run(self, at: int) -> None:
        index = self.table.order.mapFromSource(self._results.index(at, 0))
        # Not selectRow, which asks for the keys that are down.
        self.table.selectionModel().setCurrentIndex(index, _WHOLE_ROW)
        self.table.scrollTo(index)

    def _show_summary(self) -> None:
        """Say what the line over the panels does not: runs of earlier problems, and recorded ones."""
        results, recorded = self._results.results(), self._results.recorded
        self.clear_button.setEnabled(bool(results))
        self.clear_button.setVisible(self._results.rowCount() > 0)
        without = sum(result.kernel_ms is None for result in results)
        count = f"{len(results)} run{'s' if len(results) != 1 else ''}"
        earlier = sum(map(self._results.is_earlier, results))
        how_many = "all" if earlier == len(results) else f"{earlier:,}"
        parts = (
            count,
            f"{how_many} {EARLIER}" if earlier else "",
            f"{without} without a speed" if without else "",
            f"{len(recorded)} recorded" if recorded else "",
            self._results.recorded_note,
        )
        shown = parts if results else parts[3:]
        self.summary.setText(" · ".join(part for part in shown if part))
        caption = f"All rows: {self.table.caption}\n\n" if self.table.caption else ""
        self.summary.setToolTip(f"{self.summary.text()}\n{caption}{_HINT}")
