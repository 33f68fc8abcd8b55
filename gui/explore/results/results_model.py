"""Results of the runs as a table model: one row a run, failed ones too. No widgets in here."""

from typing import Any

from PySide6.QtCore import (
    QAbstractTableModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QSortFilterProxyModel,
    Qt,
)

from engine.results.measurement import RunResult, speed_up
from gui.explore.results.comparison import kernel_speed_ms, newest_baseline, no_speed_sentence, problem_key
from gui.explore.results.results_columns import COLUMNS, POSITION, Key, Row
from gui.explore.results.results_tooltip import result_tooltip
from engine.results.quantities import ratio_text

Index = QModelIndex | QPersistentModelIndex

SORT_ROLE = Qt.ItemDataRole.UserRole
ROW_ROLE = Qt.ItemDataRole.UserRole + 1

_RIGHT = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
_LEFT = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
_NO_PARENT = QModelIndex()


class ResultsModel(QAbstractTableModel):
    """Rows of RunResult in the order in which they arrived, with the speed-up against a baseline.

    Signals
    -------
    rowsInserted, modelReset, dataChanged, headerDataChanged
        Qt's own: a result arrived, all were cleared, the baseline changed.
    """

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._results: list[RunResult] = []
        self._speed_ups: list[float | None] = []
        self._baseline = "cpu-serial"

    @property
    def baseline(self) -> str:
        """Key of the variant that speed-ups are measured against."""
        return self._baseline

    def results(self) -> tuple[RunResult, ...]:
        """All results, oldest first."""
        return tuple(self._results)

    def rows(self) -> tuple[Row, ...]:
        """All results with their speed-ups, oldest first: what `results_export` takes."""
        return tuple(map(Row, self._results, self._speed_ups))

    def add(self, result: RunResult) -> None:
        """Append a result; a new run of the baseline changes the speed-ups of its problem."""
        position = len(self._results)
        self.beginInsertRows(_NO_PARENT, position, position)
        self._results.append(result)
        self._speed_ups.append(None)
        self.endInsertRows()
        self._compare()

    def clear(self) -> None:
        """Forget all results."""
        self.beginResetModel()
        self._results.clear()
        self._speed_ups.clear()
        self.endResetModel()

    def set_baseline(self, variant: str) -> None:
        """Measure speed-ups against another variant."""
        if variant != self._baseline:
            self._baseline = variant
            column = POSITION[Key.SPEEDUP]
            self.headerDataChanged.emit(Qt.Orientation.Horizontal, column, column)
            self._compare()

    def rowCount(self, parent: Index = _NO_PARENT) -> int:
        return 0 if parent.isValid() else len(self._results)

    def columnCount(self, parent: Index = _NO_PARENT) -> int:
        return 0 if parent.isValid() else len(COLUMNS)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        row = Row(self._results[index.row()], self._speed_ups[index.row()])
        column = COLUMNS[index.column()]
        if role == Qt.ItemDataRole.DisplayRole:
            return column.text(row)
        if role == SORT_ROLE:
            return column.sort(row)
        if role == ROW_ROLE:
            return row
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _RIGHT if column.numeric else _LEFT
        if role == Qt.ItemDataRole.ToolTipRole:
            return self._tooltip(column.key, row)
        return None

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        if orientation == Qt.Orientation.Vertical:
            return str(section + 1) if role == Qt.ItemDataRole.DisplayRole else None
        column = COLUMNS[section]
        if role == Qt.ItemDataRole.DisplayRole:
            return f"vs {self._baseline}" if column.key is Key.SPEEDUP else column.header
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _RIGHT if column.numeric else _LEFT
        if role == Qt.ItemDataRole.ToolTipRole:
            return column.teaches
        return None

    def _compare(self) -> None:
        baselines = newest_baseline(self._results, self._baseline)
        self._speed_ups = [
            speed_up(baselines.get((problem_key(result.problem), result.layout)), result)
            if kernel_speed_ms(result) is not None
            else None
            for result in self._results
        ]
        if self._results:
            column = POSITION[Key.SPEEDUP]
            self.dataChanged.emit(self.index(0, column), self.index(len(self._results) - 1, column))

    def _tooltip(self, key: Key, row: Row) -> str:
        if key is Key.SPEEDUP:
            if row.speed_up is not None:
                return f"{ratio_text(row.speed_up)} as fast as the newest run of {self._baseline} on the same problem."
            return no_speed_sentence(row.result) or (
                f"Run {self._baseline} on the same problem (size, channels, type, mask shape, border) to compare, on a "
                "GPU with rows in the same layout."
            )
        return row.result.status if key is Key.STATUS else result_tooltip(row.result)


class ResultsOrder(QSortFilterProxyModel):
    """Sorts results by value, not by text; rows without a value come last in either direction."""

    def lessThan(self, left: Index, right: Index) -> bool:
        a, b = left.data(SORT_ROLE), right.data(SORT_ROLE)
        a_missing, b_missing = _is_missing(a), _is_missing(b)
        if a_missing or b_missing:
            ascending = self.sortOrder() == Qt.SortOrder.AscendingOrder
            return a_missing != b_missing and b_missing == ascending
        return bool(a < b)


def _is_missing(value: object) -> bool:
    return value is None or value != value
