"""The report's worked product: convolutions of three maps as one product of matrices, cell by cell."""

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QLabel, QWidget

from engine.tasks.network.worked_product import W, Y, unrolled
from gui.style.metrics import GRID, HALF_GRID, small_font
from gui.style.theme import current_theme
from gui.widgets.number_table import NumberTable
from gui.widgets.panel_parts import column, quiet_label, row, scrolled

_KEYS = "Arrow keys choose an output."
_ROW = 2 * GRID - 2
_X_CELL = 3 * GRID
_W_CELL = 2 * GRID - 2
_Y_CELL = 4 * GRID
_LEAST_WIDTH = 16 * GRID
_TEACHES = (
    "Implicit GEMM, as the report works it: a row of W' is a filter, a column of X the cells under one "
    "output, and each output is their product."
)
_X = unrolled()


class ProductPanel(QWidget):
    """W', X and Y, which scroll where there is no room; the chosen output's row and column stand out."""

    def __init__(self) -> None:
        super().__init__()
        self.inputs = _table("X", _X, _X_CELL)
        self.filters = _table("W'", W, _W_CELL)
        self.outputs = _table("Worked product W' X = Y", Y, _Y_CELL, chosen_from=True)
        self.inputs.ground = lambda _row, column: _colour(column == self.outputs.cell[1])
        self.filters.ground = lambda row, _column: _colour(row == self.outputs.cell[0])
        self.outputs.ground = lambda row, column: _colour((row, column) == self.outputs.cell)
        self._sum = QLabel(wordWrap=True)
        self._sum.setFont(small_font())
        self._sum.setFixedWidth(self.filters.width())
        self._sum.setContentsMargins(0, GRID, 0, 0)
        content = QWidget()
        content.setToolTip(f"{_TEACHES} {_KEYS}")
        left = column(_title("X"), self.inputs, 1, spacing=0)
        right = column(
            _title("W'"), self.filters, _title("Y = W' X", above=GRID), self.outputs, self._sum, 1, spacing=0
        )
        content.setLayout(row(left, right, 1, margins=(GRID, HALF_GRID, GRID, 0)))
        area = scrolled(content)
        # A narrow panel scrolls sideways too: the matrices have one size.
        area.setMinimumWidth(_LEAST_WIDTH)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAsNeeded)
        self.setLayout(column(area))
        self.outputs.selectionModel().currentChanged.connect(self._show)
        self.outputs.setCurrentIndex(self.outputs.texts.index(0, 0))

    @property
    def words(self) -> str:
        """The chosen output as a sum of products."""
        row, column = self.outputs.cell
        pairs = zip(W[row].tolist(), _X[:, column].tolist(), strict=True)
        products = " + ".join(f"{weight:g} × {value:g}" for weight, value in pairs)
        return f"Filter {row + 1}, output {column + 1}: {products} = {Y[row, column]:g}"

    def _show(self) -> None:
        self._sum.setText(self.words)
        self.outputs.setAccessibleDescription(f"{self.words}. {_KEYS}")
        for table in (self.inputs, self.filters, self.outputs):
            table.viewport().update()


def _table(name: str, values: NDArray[np.float32], width: int, *, chosen_from: bool = False) -> NumberTable:
    table = NumberTable(name, chosen_from=chosen_from)
    table.show_texts([[f"{value:g}" for value in line] for line in values.tolist()])
    table.set_cell_size(width, _ROW)
    table.setFixedSize(table.cells_size)
    return table


def _title(text: str, above: int = 0) -> QLabel:
    label = quiet_label(text, small=True)
    label.setContentsMargins(0, above, 0, HALF_GRID // 2)
    return label


def _colour(is_chosen: bool) -> QColor:
    theme = current_theme()
    return QColor(theme.accent if is_chosen else theme.base)
