"""The rows of the page Matrices as a table model. No widgets in here."""

from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from engine.results.product import MatmulResult
from gui.matrices.matmul_columns import COLUMNS, Key, row_tooltip
from gui.matrices.matmul_state import MatmulState

Index = QModelIndex | QPersistentModelIndex

ROW_ROLE = Qt.ItemDataRole.UserRole
_RIGHT = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
_LEFT = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
_NO_PARENT = QModelIndex()


class MatmulModel(QAbstractTableModel):
    """A row for each way to multiply with each tile, in teaching order."""

    def __init__(self, state: MatmulState, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._state = state
        self._rows: tuple[MatmulResult, ...] = state.rows
        state.rows_changed.connect(self._follow)

    def rows(self) -> tuple[MatmulResult, ...]:
        """Return the rows as they are shown."""
        return self._rows

    def rowCount(self, parent: Index = _NO_PARENT) -> int:
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: Index = _NO_PARENT) -> int:
        return 0 if parent.isValid() else len(COLUMNS)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        row, column = self._rows[index.row()], COLUMNS[index.column()]
        if role == Qt.ItemDataRole.DisplayRole:
            return column.text(row)
        if role == ROW_ROLE:
            return row
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _RIGHT if column.numeric else _LEFT
        if role == Qt.ItemDataRole.ToolTipRole:
            return row.status if column.key is Key.STATUS else row_tooltip(row)
        return None

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        if orientation == Qt.Orientation.Vertical:
            return None
        column = COLUMNS[section]
        if role == Qt.ItemDataRole.DisplayRole:
            return column.header
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _RIGHT if column.numeric else _LEFT
        if role == Qt.ItemDataRole.ToolTipRole:
            return column.teaches
        return None

    def _follow(self) -> None:
        before, rows = self._rows, self._state.rows
        if [(row.variant, row.tile) for row in before] == [(row.variant, row.tile) for row in rows]:
            # The selection and the place of the scroll bar stay.
            self._rows = rows
            if rows:
                self.dataChanged.emit(self.index(0, 0), self.index(len(rows) - 1, len(COLUMNS) - 1))
            return
        self.beginResetModel()
        self._rows = rows
        self.endResetModel()
