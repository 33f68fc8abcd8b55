"""The table of results with what can be done with them: copy, ask to save, clear, choose the baseline."""

from collections.abc import Callable

from PySide6.QtCore import QModelIndex, QSize, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QStackedWidget, QToolButton, QVBoxLayout, QWidget

from engine.results.measurement import Measurement
from gui.explore.results.results_model import ResultsModel
from gui.explore.results.selected_result import SelectedResult
from gui.explore.workspace import Settings, Workspace
from gui.style.icons import icon
from gui.style.metrics import GRID, HALF_GRID
from gui.widgets.elided_label import ElidedLabel
from gui.widgets.runs_table import RunsTable

_EMPTY = (
    "Every run appears here: its time, its speed-up, and the proof that its picture is right.\n\n"
    "Press Run (Ctrl+R) to measure one kernel, or Run all to compare all that can run here."
)
_HINT = "Right-click the header to choose columns, a row to use it as baseline."


class ResultsPanel(QWidget):
    """Results in a sortable table.

    Signals
    -------
    save_csv_requested(), save_json_requested()
        The person wants the results as a file.
    copied(int)
        So many rows lie on the clipboard.
    """

    save_csv_requested = Signal()
    save_json_requested = Signal()
    copied = Signal(int)

    def __init__(self, results: ResultsModel, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._results = results
        self._workspace = workspace
        self.selected = SelectedResult(results, self)
        self.table = RunsTable(results, "Results of the runs")
        # As high as the buttons.
        self.summary = ElidedLabel(most=2, small=True)
        self._buttons = self._make_buttons()
        self._stack = QStackedWidget()
        self._stack.addWidget(_empty_text())
        self._stack.addWidget(self.table)

        bar = QHBoxLayout()
        bar.setSpacing(HALF_GRID)
        bar.addWidget(self.summary, 1)
        for button in self._buttons:
            bar.addWidget(button)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(GRID, HALF_GRID, GRID, GRID)
        layout.setSpacing(HALF_GRID)
        layout.addLayout(bar)
        layout.addWidget(self._stack, 1)

        self.table.copied.connect(self.copied)
        self.table.caption_changed.connect(self._refresh)
        self.table.baseline_asked.connect(self._use_as_baseline)
        self.table.selectionModel().selectionChanged.connect(self._select)
        results.rowsInserted.connect(self._show_newest)
        results.modelReset.connect(self._refresh)
        workspace.settings_changed.connect(self._follow_baseline)
        self._follow_baseline(workspace.settings)
        self._refresh()

    def copy(self) -> None:
        """Copy the selected rows, or all rows where none is selected, in the order shown."""
        self.table.copy()

    def sizeHint(self) -> QSize:
        return QSize(70 * GRID, 28 * GRID)

    def _select(self) -> None:
        chosen = self.table.selectionModel().selectedRows()
        self.selected.select(self.table.runs([chosen[-1].row()])[0].result if chosen else None)

    def _follow_baseline(self, settings: Settings) -> None:
        self._results.set_baseline(settings.baseline)

    def _use_as_baseline(self, run: Measurement | None) -> None:  # type: ignore[type-arg]
        if run is not None:
            self._workspace.change(baseline=run.variant)
        self._results.use_as_baseline(run)

    def _show_newest(self, _parent: QModelIndex, _first: int, last: int) -> None:
        self._refresh()
        self.table.clearSelection()
        self.table.scrollTo(self.table.order.mapFromSource(self._results.index(last, 0)))

    def _refresh(self) -> None:
        results = self._results.results()
        self._stack.setCurrentIndex(1 if results else 0)
        for button in self._buttons:
            button.setEnabled(bool(results))
        without = sum(result.kernel_ms is None for result in results)
        count = f"{len(results)} run{'s' if len(results) != 1 else ''}"
        parts = (count, f"{without} without a speed" if without else "", self.table.caption)
        self.summary.setText(" · ".join(part for part in parts if part) if results else "")
        self.summary.setToolTip(f"{self.summary.text()}\n\n{_HINT}")

    def _make_buttons(self) -> tuple[QToolButton, ...]:
        return (
            _button(
                "Copy",
                "copy",
                "Copy the selected rows, or all, as text for a spreadsheet (Ctrl+C).",
                self.copy,
            ),
            _button(
                "CSV",
                "export",
                "Export as CSV: one row per run, with medians, spread and verification.",
                self.save_csv_requested.emit,
            ),
            _button(
                "JSON",
                "export",
                "Export as JSON: every raw sample, the verification, the machine and its versions.",
                self.save_json_requested.emit,
            ),
            _button(
                "Clear", "clear", "Forget all results. They cannot be brought back.", self._results.clear
            ),
        )


def _button(text: str, icon_name: str, tooltip: str, action: Callable[[], object]) -> QToolButton:
    button = QToolButton()
    button.setText(text)
    button.setIcon(icon(icon_name))
    button.setToolButtonStyle(button.toolButtonStyle().ToolButtonTextBesideIcon)
    button.setAutoRaise(True)
    button.setToolTip(tooltip)
    button.setAccessibleName(f"{text} results")
    button.setFocusPolicy(button.focusPolicy().StrongFocus)
    button.clicked.connect(action)
    return button


def _empty_text() -> QLabel:
    label = QLabel(_EMPTY)
    label.setAlignment(label.alignment().AlignCenter)
    label.setWordWrap(True)
    label.setForegroundRole(label.foregroundRole().PlaceholderText)
    return label
