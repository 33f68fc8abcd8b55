"""The table of results with what can be done with them: copy, ask to save, clear, choose the baseline."""

from typing import Any

from PySide6.QtCore import QItemSelectionModel, QModelIndex, QSize, Signal
from PySide6.QtWidgets import QStackedWidget, QWidget

from engine.results.measurement import Measurement
from gui.explore.results.results_model import ResultsModel, SelectedResult
from gui.explore.run_words import EARLIER
from gui.explore.workspace import Settings, Workspace
from gui.style.metrics import GRID, HALF_GRID
from gui.widgets.elided_label import ElidedLabel
from gui.widgets.export_buttons import export_buttons
from gui.widgets.panel_parts import centred_text, column, row, text_button
from gui.widgets.runs_table import RunsTable

_EMPTY = (
    "Every run appears here: its time, its speed-up, and the proof that its picture is right.\n\n"
    "Press Run (Ctrl+R) to measure one kernel, or Run all to compare all that can run here."
)
_BUTTONS = (
    (
        "copy",
        "Copy",
        "Copy all rows as text for a spreadsheet, or the selected ones where there are several.",
    ),
    ("clear", "Clear", "Forget all results. They cannot be brought back."),
)
_WHOLE_ROW = QItemSelectionModel.SelectionFlag.ClearAndSelect | QItemSelectionModel.SelectionFlag.Rows
_HINT = "Right-click the header to choose columns, a row to use it as baseline."


class ResultsPanel(QWidget):
    """Results in a sortable table."""

    # The person wants the results as a file.
    save_csv_requested = Signal()
    save_json_requested = Signal()
    # So many rows lie on the clipboard.
    copied = Signal(int)

    def __init__(self, results: ResultsModel, workspace: Workspace) -> None:
        super().__init__()
        self._results = results
        self._workspace = workspace
        self._operation = workspace.operation
        self.selected = SelectedResult(results, self)
        self.table = RunsTable(results, "Results of the runs")
        # As high as the buttons.
        self.summary = ElidedLabel(most=2, small=True)
        copy, clear = (
            text_button(icon_name, text, f"{text} results", tooltip) for icon_name, text, tooltip in _BUTTONS
        )
        self._buttons = (copy, *export_buttons(), clear)
        for button, act in zip(
            self._buttons,
            (self._copy, self.save_csv_requested.emit, self.save_json_requested.emit, results.clear),
            strict=True,
        ):
            button.clicked.connect(act)
        self._stack = QStackedWidget()
        self._stack.addWidget(centred_text(_EMPTY))
        self._stack.addWidget(self.table)
        bar = row((self.summary, 1), *self._buttons, spacing=HALF_GRID)
        self.setLayout(
            column(bar, (self._stack, 1), spacing=HALF_GRID, margins=(GRID, HALF_GRID, GRID, GRID))
        )

        self.table.copied.connect(self.copied)
        self.table.caption_changed.connect(self._refresh)
        self.table.baseline_asked.connect(self._use_as_baseline)
        self.table.selectionModel().selectionChanged.connect(self._select)
        results.rowsInserted.connect(self._show_newest)
        results.modelReset.connect(self._refresh)
        results.present_changed.connect(self._follow_present)
        workspace.settings_changed.connect(self._follow_baseline)
        self._follow_baseline(workspace.settings)
        self._refresh()

    def sizeHint(self) -> QSize:
        return QSize(70 * GRID, 28 * GRID)

    def _select(self) -> None:
        chosen = self.table.selectionModel().selectedRows()
        self.selected.select(self.table.runs([chosen[-1].row()])[0].result if chosen else None)

    def _follow_baseline(self, settings: Settings) -> None:
        if settings.baseline:
            self._results.set_baseline(settings.baseline)

    def _use_as_baseline(self, run: Measurement[Any] | None) -> None:
        if run is not None:
            self._workspace.change(baseline=run.variant)
        self._results.use_as_baseline(run)

    def _copy(self) -> None:
        # One is always selected: the newest, without anybody's doing.
        several = len(self.table.selectionModel().selectedRows()) > 1
        (self.table.copy if several else self.table.copy_all)()

    def _show_newest(self, _parent: QModelIndex, _first: int, last: int) -> None:
        self._refresh()
        self._show_run(last)

    def _follow_present(self) -> None:
        self._refresh()
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

    def _refresh(self) -> None:
        results = self._results.results()
        self._stack.setCurrentIndex(1 if results else 0)
        for button in self._buttons:
            button.setEnabled(bool(results))
        without = sum(result.kernel_ms is None for result in results)
        count = f"{len(results)} run{'s' if len(results) != 1 else ''}"
        earlier = sum(map(self._results.is_earlier, results))
        how_many = "all" if earlier == len(results) else f"{earlier:,}"
        parts = (
            count,
            f"{how_many} {EARLIER}" if earlier else "",
            f"{without} without a speed" if without else "",
            self.table.caption,
        )
        self.summary.setText(" · ".join(part for part in parts if part) if results else "")
        self.summary.setToolTip(f"{self.summary.text()}\n\n{_HINT}")
