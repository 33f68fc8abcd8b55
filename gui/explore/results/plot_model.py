"""The rows of the plot as a table model: name, bar, number, speed-up. No widgets in here."""

from collections.abc import Callable, Sequence
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt, QTimer, Signal

from engine.results.columns import KERNEL, SPEED_UP
from engine.results.metrics import metric
from engine.work.filtering.problem import Problem
from gui.explore.results.bar_scale import BarScale, scale_of
from gui.explore.results.plot_rows import Order, PlotRow, PlotRows, number_text, plot_rows
from gui.explore.results.results_model import ResultsModel
from gui.widgets.run_tooltip import run_tooltip
from gui.widgets.runs_model import RUN_ROLE

Index = QModelIndex | QPersistentModelIndex

NAME, BAR, NUMBER, RATIO = range(4)
ROW_ROLE = RUN_ROLE + 1
"""The PlotRow itself."""

_RIGHT = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
_LEFT = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
_NO_PARENT = QModelIndex()


class PlotModel(QAbstractTableModel):
    """Follows the results, once per turn of the event loop."""

    drawn = Signal()  # the rows were read again

    def __init__(self, results: ResultsModel, teaching: Callable[[], Sequence[str]] = tuple) -> None:
        super().__init__()
        self.results = results
        self._teaching = teaching
        self.key, self.order = KERNEL, Order.BEST
        self.shown = PlotRows(metric(KERNEL, Problem))
        self.scale = BarScale()
        self._texts: list[dict[int, str]] = []
        self.timer = QTimer(self, singleShot=True, interval=0)
        self.timer.timeout.connect(self.refresh)
        for signal in (
            results.rowsInserted,
            results.rowsRemoved,
            results.modelReset,
            results.dataChanged,
            results.present_changed,
        ):
            signal.connect(self.timer.start)
        self.refresh()

    def choose(self, key: str) -> None:
        """Draw another metric."""
        self.key = key
        self.refresh()

    def sort_by(self, order: Order) -> None:
        """Put the rows into another order."""
        self.order = order
        self.refresh()

    def refresh(self) -> None:
        """Read the results again: there are few rows, and one more changes the scale of all."""
        shown = plot_rows(self.results, self.key, self.order, self._teaching)
        if [row.name for row in shown.rows] == [row.name for row in self.shown.rows]:
            self._take(shown)
            if shown.rows:
                self.dataChanged.emit(self.index(0, 0), self.index(len(shown.rows) - 1, RATIO))
        else:
            self.beginResetModel()
            self._take(shown)
            self.endResetModel()
        self.headerDataChanged.emit(Qt.Orientation.Horizontal, NAME, RATIO)
        self.drawn.emit()

    def _take(self, shown: PlotRows) -> None:
        self.shown = shown
        self.scale = scale_of(number for row in shown.rows for number in row.numbers)
        speed_up = metric(SPEED_UP)
        # Written once: the widths of columns, cells and screen readers read all of them.
        self._texts = [
            {NAME: row.name, NUMBER: number_text(shown.shown, row.run), RATIO: speed_up.text(row.run)}
            for row in shown.rows
        ]

    def rows(self) -> tuple[PlotRow, ...]:
        """Return the rows in the order shown."""
        return self.shown.rows

    def words(self, at: int) -> str:
        """Return a row as a sentence, for screen readers."""
        row, texts = self.shown.rows[at], self._texts[at]
        note = self.results.note_of(row.run.result)
        parts = [f"{row.name}: {texts[NUMBER]}"]
        if row.run.speed_up is not None:
            parts.append(f"{texts[RATIO]} against {self.results.baseline}")
        return ", ".join(filter(None, (*parts, note)))

    def rowCount(self, parent: Index = _NO_PARENT) -> int:
        return 0 if parent.isValid() else len(self.shown.rows)

    def columnCount(self, parent: Index = _NO_PARENT) -> int:
        return 0 if parent.isValid() else RATIO + 1

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        row, column = self.shown.rows[index.row()], index.column()
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return self._texts[index.row()].get(column)
            case Qt.ItemDataRole.ToolTipRole:
                return run_tooltip(row.run)
            case Qt.ItemDataRole.AccessibleTextRole:
                return self.words(index.row()) if column == NAME else None
            case Qt.ItemDataRole.TextAlignmentRole:
                return _RIGHT if column in (NUMBER, RATIO) else _LEFT
        return {RUN_ROLE: row.run, ROW_ROLE: row}.get(role)

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        if orientation != Qt.Orientation.Horizontal:
            return None
        shown = self.shown.shown
        is_best = self.order is Order.BEST
        match role:
            case Qt.ItemDataRole.DisplayRole:
                title = "Time" if shown.key == KERNEL else shown.title[:1].upper() + shown.title[1:]
                texts = {
                    NAME: "Kernel" if is_best else "Kernel ▾",
                    NUMBER: f"{title} ▾" if is_best else title,
                    RATIO: f"vs {self.results.baseline}",
                }
                return texts.get(section, "")
            case Qt.ItemDataRole.ToolTipRole:
                return {
                    NAME: "Click to put the rows into teaching order.",
                    NUMBER: f"{shown.explanation} Click to put the best row first.",
                    RATIO: metric(SPEED_UP).explanation,
                }.get(section)
            case Qt.ItemDataRole.TextAlignmentRole:
                return _RIGHT if section in (NUMBER, RATIO) else _LEFT
        return None
