"""The report's worked product: convolutions of three maps as one product of matrices, cell by cell."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from engine.tasks.network.worked_product import W, Y, unrolled
from gui.style.metrics import GRID, HALF_GRID, number_font, small_font
from gui.style.theme import current_theme, theme_notifier
from gui.widgets.panel_parts import column, scrolled

_KEYS = "Arrow keys choose an output."
_ROW = 2 * GRID - 2
_X_CELL = 3 * GRID
_W_CELL = 2 * GRID - 2
_Y_CELL = 4 * GRID
_TITLE = 2 * GRID
_LEAST_WIDTH = 16 * GRID
_TEACHES = (
    "Implicit GEMM, as the report works it: a row of W' is a filter, a column of X the cells under one "
    "output, and each output is their product."
)
_X = unrolled()


class WorkedProduct(QWidget):
    """W', X and Y; the chosen output's row and column stand out."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.output = (0, 0)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        self.setAccessibleName("Worked product W' X = Y")
        self.setToolTip(f"{_TEACHES} {_KEYS}")
        theme_notifier().changed.connect(self.update)
        self._choose(0, 0)

    @property
    def words(self) -> str:
        """The chosen output as a sum of products."""
        row, cell_column = self.output
        pairs = zip(W[row].tolist(), _X[:, cell_column].tolist(), strict=True)
        products = " + ".join(f"{weight:g} × {value:g}" for weight, value in pairs)
        return f"Filter {row + 1}, output {cell_column + 1}: {products} = {Y[row, cell_column]:g}"

    def sizeHint(self) -> QSize:
        rows, columns = _X.shape
        return QSize(columns * _X_CELL + GRID + W.shape[1] * _W_CELL + 1, _TITLE + rows * _ROW + 1)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        row, cell_column = self.output
        self._table(painter, _X, QPointF(0, 0), _X_CELL, "X", lambda _r, c: c == cell_column)
        self._table(painter, W, self._w_place(), _W_CELL, "W'", lambda r, _c: r == row)
        self._table(painter, Y, self._y_place(), _Y_CELL, "Y = W' X", lambda r, c: (r, c) == self.output)
        painter.setFont(small_font())
        painter.setPen(QColor(current_theme().text))
        painter.drawText(self._words_place(), int(Qt.TextFlag.TextWordWrap), self.words)
        if self.hasFocus():
            painter.setPen(QPen(QColor(current_theme().accent), 2))
            painter.drawRect(self._y_rect(row, cell_column))

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        for row, cell_column in np.ndindex(*Y.shape):
            if self._y_rect(row, cell_column).contains(event.position()):
                self._choose(row, cell_column)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        moves = {
            Qt.Key.Key_Left: (0, -1),
            Qt.Key.Key_Right: (0, 1),
            Qt.Key.Key_Up: (-1, 0),
            Qt.Key.Key_Down: (1, 0),
        }
        down, right = moves.get(Qt.Key(event.key()), (0, 0))
        if not (down or right):
            super().keyPressEvent(event)
            return
        row, cell_column = self.output
        rows, columns = Y.shape
        self._choose(min(max(row + down, 0), rows - 1), min(max(cell_column + right, 0), columns - 1))

    def _choose(self, row: int, cell_column: int) -> None:
        self.output = row, cell_column
        self.setAccessibleDescription(f"{self.words}. {_KEYS}")
        self.update()

    def _w_place(self) -> QPointF:
        return QPointF(_X.shape[1] * _X_CELL + GRID, 0)

    def _y_place(self) -> QPointF:
        return QPointF(self._w_place().x(), _TITLE + (len(W) + 1) * _ROW)

    def _words_place(self) -> QRectF:
        corner = self._y_place()
        top = corner.y() + _TITLE + len(Y) * _ROW + GRID
        return QRectF(corner.x(), top, self.width() - corner.x(), self.height() - top)

    def _y_rect(self, row: int, cell_column: int) -> QRectF:
        corner = self._y_place()
        left, top = corner.x() + cell_column * _Y_CELL, corner.y() + _TITLE + row * _ROW
        return QRectF(left, top, _Y_CELL, _ROW)

    def _table(
        self,
        painter: QPainter,
        values: NDArray[np.float32],
        corner: QPointF,
        width: int,
        title: str,
        stands_out: Callable[[int, int], bool],
    ) -> None:
        theme = current_theme()
        painter.setFont(small_font())
        painter.setPen(QColor(theme.muted))
        painter.drawText(QRectF(corner.x(), corner.y(), 20 * GRID, _TITLE), 0, title)
        painter.setFont(number_font())
        for row, cell_column in np.ndindex(*values.shape):
            cell = QRectF(corner.x() + cell_column * width, corner.y() + _TITLE + row * _ROW, width, _ROW)
            is_chosen = stands_out(row, cell_column)
            painter.fillRect(cell, QColor(theme.accent if is_chosen else theme.base))
            painter.setPen(QPen(QColor(theme.line), 1))
            painter.drawRect(cell)
            painter.setPen(QColor(theme.accent_text if is_chosen else theme.text))
            painter.drawText(cell, int(Qt.AlignmentFlag.AlignCenter), f"{values[row, cell_column]:g}")


class ProductPanel(QWidget):
    """The matrices, which scroll where there is no room for them."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.product = WorkedProduct()
        content = QWidget()
        margins = (GRID, HALF_GRID, GRID, 0)
        content.setLayout(column(self.product, 1, margins=margins))
        area = scrolled(content)
        # A narrow panel scrolls sideways too: the matrices have one size.
        area.setMinimumWidth(_LEAST_WIDTH)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAsNeeded)
        self.setLayout(column(area))

    def sizeHint(self) -> QSize:
        return QSize(38 * GRID, 28 * GRID)
