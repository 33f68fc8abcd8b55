"""How every table of results looks and behaves: rows are chosen whole, nothing is edited, columns can be dragged."""

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView

from gui.style.metrics import GRID, number_font


def dress_table(table: QTableView, name: str, typical: Sequence[str]) -> None:
    """Give a table its look, after its model.

    `name` is for screen readers; `typical` is a text of typical length for each column.
    """
    table.setFont(number_font())
    # Cells as far from their edges as the headers are.
    table.setStyleSheet(f"QTableView::item {{ padding: 0 {GRID - 3}px; }}")
    table.setAccessibleName(name)
    table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
    table.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
    table.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
    table.setTextElideMode(Qt.TextElideMode.ElideRight)
    table.setWordWrap(False)
    table.setShowGrid(False)
    table.setAlternatingRowColors(True)
    table.setTabKeyNavigation(False)
    table.verticalHeader().hide()
    table.verticalHeader().setDefaultSectionSize(3 * GRID)
    header = table.horizontalHeader()
    header.setHighlightSections(False)
    header.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
    for position, text in enumerate(typical):
        table.setColumnWidth(position, table.fontMetrics().horizontalAdvance(text) + 3 * GRID)
