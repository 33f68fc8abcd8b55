"""The table of results: sort, copy, ask to save, clear."""

from PySide6.QtCore import QEvent, QModelIndex, QSize, Qt, Signal
from PySide6.QtGui import QGuiApplication, QKeyEvent, QKeySequence
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QStackedWidget,
    QTableView,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from gui.explore.results.comparison import kernel_speed_ms
from gui.explore.results.results_cells import ResultCells
from gui.explore.results.results_columns import COLUMNS, Key, Row
from gui.explore.results.results_export import to_clipboard_text
from gui.explore.results.results_model import ROW_ROLE, ResultsModel, ResultsOrder
from gui.explore.results.selected_result import SelectedResult
from gui.explore.workspace import Settings, Workspace
from gui.style.icons import icon
from gui.style.metrics import GRID, HALF_GRID
from gui.widgets.table_look import dress_table

_EMPTY = (
    "Every run appears here: its time, its speed-up, and the proof that its picture is right.\n\n"
    "Press Run (Ctrl+R) to measure one kernel, or Run all to compare all that can run here."
)

# The longest text that a column should show whole; a longer one is cut with … and whole in the tooltip.
_TYPICAL = {
    Key.VARIANT: "●  register-blocked",
    Key.BLOCK: "32 x 32",
    Key.LAYOUT: "pitched",
    Key.KERNEL: "not verified",
    Key.SPEEDUP: "vs cpu-serial",
    Key.STATUS: "verified on all of",
    Key.SPREAD: "0.01234 – 0.01234",
    Key.END_TO_END: "End to end, ms",
    Key.ERROR: "Max error",
    Key.PICTURE: "4096 x 4096 RGB uint16",
    Key.MASK: "Gaussian 15 x 15",
    Key.BORDER: "replicate",
    Key.DEVICE: "simulator",
}


class ResultsTable(QTableView):
    """A table that copies whole rows.

    Signals
    -------
    copy_requested()
        Ctrl+C was pressed in the table.
    """

    copy_requested = Signal()

    def event(self, event: QEvent) -> bool:
        # Ours before any shortcut of the window: here Ctrl+C means rows.
        if event.type() == QEvent.Type.ShortcutOverride and _is_copy(event):
            event.accept()
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if _is_copy(event):
            self.copy_requested.emit()
        else:
            super().keyPressEvent(event)


class ResultsPanel(QWidget):
    """Results in a sortable table with what can be done with them.

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
        self._order = ResultsOrder(self)
        self._order.setSourceModel(results)
        self.selected = SelectedResult(results, self)
        self.table = self._make_table()
        self._summary = QLabel()
        self._buttons = self._make_buttons()
        self._stack = QStackedWidget()
        self._stack.addWidget(_empty_text())
        self._stack.addWidget(self.table)

        bar = QHBoxLayout()
        bar.setSpacing(HALF_GRID)
        bar.addWidget(self._summary, 1)
        for button in self._buttons:
            bar.addWidget(button)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(GRID, HALF_GRID, GRID, GRID)
        layout.setSpacing(HALF_GRID)
        layout.addLayout(bar)
        layout.addWidget(self._stack, 1)

        self.table.selectionModel().selectionChanged.connect(self._select)
        results.rowsInserted.connect(self._show_newest)
        results.modelReset.connect(self._refresh)
        workspace.settings_changed.connect(self._follow_baseline)
        self._follow_baseline(workspace.settings)
        self._refresh()

    def copy(self) -> None:
        """Copy the selected rows, or all rows where none is selected, in the order shown."""
        chosen = self.table.selectionModel().selectedRows()
        rows = sorted({index.row() for index in chosen}) or range(self._order.rowCount())
        text = to_clipboard_text(map(self._row, rows), self._results.baseline)
        QGuiApplication.clipboard().setText(text)
        self.copied.emit(len(rows))

    def sizeHint(self) -> QSize:
        return QSize(70 * GRID, 28 * GRID)

    def _row(self, position: int) -> Row:
        row = self._order.index(position, 0).data(ROW_ROLE)
        assert isinstance(row, Row)
        return row

    def _select(self) -> None:
        chosen = self.table.selectionModel().selectedRows()
        self.selected.select(self._row(chosen[-1].row()).result if chosen else None)

    def _follow_baseline(self, settings: Settings) -> None:
        self._results.set_baseline(settings.baseline)

    def _show_newest(self, _parent: QModelIndex, _first: int, last: int) -> None:
        self._refresh()
        self.table.clearSelection()
        self.table.scrollTo(self._order.mapFromSource(self._results.index(last, 0)))

    def _refresh(self) -> None:
        results = self._results.results()
        self._stack.setCurrentIndex(1 if results else 0)
        for button in self._buttons:
            button.setEnabled(bool(results))
        without = sum(kernel_speed_ms(result) is None for result in results)
        text = f"{len(results)} run{'s' if len(results) != 1 else ''}"
        self._summary.setText((text + (f", {without} without a speed" if without else "")) if results else "")

    def _make_table(self) -> ResultsTable:
        table = ResultsTable()
        table.setModel(self._order)
        table.setItemDelegate(ResultCells(table))
        dress_table(table, "Results of the runs", [_TYPICAL[column.key] for column in COLUMNS])
        header = table.horizontalHeader()
        header.setSectionsMovable(True)
        header.setSortIndicatorClearable(True)
        table.setSortingEnabled(True)
        # As they arrived, until a header is clicked.
        table.sortByColumn(-1, Qt.SortOrder.AscendingOrder)
        table.copy_requested.connect(self.copy)
        return table

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


def _button(text: str, icon_name: str, tooltip: str, action: object) -> QToolButton:
    button = QToolButton()
    button.setText(text)
    button.setIcon(icon(icon_name))
    button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
    button.setAutoRaise(True)
    button.setToolTip(tooltip)
    button.setAccessibleName(f"{text} results")
    button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
    button.clicked.connect(action)
    return button


def _empty_text() -> QLabel:
    label = QLabel(_EMPTY)
    label.setAlignment(Qt.AlignmentFlag.AlignCenter)
    label.setWordWrap(True)
    label.setForegroundRole(label.foregroundRole().PlaceholderText)
    return label


def _is_copy(event: QEvent) -> bool:
    return isinstance(event, QKeyEvent) and event.matches(QKeySequence.StandardKey.Copy)
