"""A window of values in figures, each on a colour by its size or its sign, as wide as there is room."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QColor, QResizeEvent

from engine.results.quantities import digits_text
from gui.style.cell_colours import cell_background, mixed
from gui.style.metrics import GRID
from gui.style.theme import current_theme
from gui.widgets.number_table import NumberTable

Floats = NDArray[np.floating[Any]]

_MINUS = "−"
_CELL_HEIGHT = 3 * GRID
_WIDEST_CELL = 8 * GRID
# Of values that are scrolled.
_NARROWEST_CELL = 5 * GRID


def number(value: float) -> str:
    """Write a value with three digits: 0.412, −8.09, 12."""
    if not math.isfinite(value):
        return no_number(value)
    if abs(value) < 5e-4:
        return "0"
    digits = 2 if abs(value) < 0.1 else 3
    text = digits_text(abs(value), digits)
    return f"{_MINUS}{text}" if value < 0 else text


def no_number(value: float) -> str:
    """Write NaN or infinity."""
    return "NaN" if math.isnan(value) else "∞" if value > 0 else f"{_MINUS}∞"


def short_number(value: float) -> str:
    """Write a value with two digits, for a small cell: 0.41, −8.1, 12."""
    if not math.isfinite(value):
        return no_number(value)
    if abs(value) < 5e-3:
        return "0"
    text = (
        f"{abs(value):.2f}"
        if abs(value) < 1
        else f"{abs(value):.1f}"
        if abs(value) < 9.95
        else f"{abs(value):.0f}"
    )
    return f"{_MINUS}{text}" if value < 0 else text


def cell_number(value: float) -> str:
    """Write a value for a small cell, whole numbers as they are: 12, −0.41."""
    if abs(value) < 1e6 and value == round(value):
        # Of the two zeros there is one for people.
        return f"{value + 0.0:.0f}".replace("-", _MINUS)
    return short_number(value)


def table_text(values: Floats) -> str:
    """Return a window row by row, for screen readers."""
    rows = (", ".join(number(float(one)) for one in row) for row in values)
    return "; ".join(f"row {at}: {row}" for at, row in enumerate(rows, start=1))


class ValueTable(NumberTable):
    """A window or a filter in figures; `is_signed` colours by sign, else from dark to bright.

    With `most_rows` it is no higher than so many rows, and is scrolled where the values do not fit.
    """

    def __init__(self, name: str, *, is_signed: bool, most_rows: int = 0) -> None:
        super().__init__(name)
        self.is_signed = is_signed
        self.is_grey = False
        """Whether the ground has the brightness of the value, whatever the theme."""
        self.text: Callable[[float], str] = short_number
        self._most_rows = most_rows
        self._cell_width = 0
        if most_rows:
            self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAsNeeded)
            self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAsNeeded)
        self._values: Floats = np.zeros((1, 1), np.float32)
        self._largest = 1.0
        self.ground = self._ground

    def show_values(self, values: Floats | None, largest: float) -> None:
        """Show values; `largest` has the strongest colour."""
        self.setVisible(values is not None)
        if values is not None:
            self._values, self._largest = values, largest
            self.show_cells(values.shape, lambda row, column: self.text(float(values[row, column])))
            self.setAccessibleDescription(table_text(values) if values.size < 64 else "")
            shown = min(len(values), self._most_rows or len(values))
            has_bar = bool(self._most_rows) and self.width() < values.shape[1] * _NARROWEST_CELL
            self.setFixedHeight(
                shown * _CELL_HEIGHT + (self.horizontalScrollBar().sizeHint().height() if has_bar else 0)
            )
            self._fit()

    def sizeHint(self) -> QSize:
        return QSize(30 * GRID, self.height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        rows, columns = self._values.shape
        is_long = 0 < self._most_rows < rows
        room = self.width() - (self.verticalScrollBar().sizeHint().width() if is_long else 0)
        least = _NARROWEST_CELL if self._most_rows else 1
        width = min(_WIDEST_CELL, max(least, room // columns))
        if width != self._cell_width:
            self._cell_width = width
            self.set_cell_size(width, _CELL_HEIGHT)

    def _ground(self, row: int, column: int) -> QColor:
        value, theme = float(self._values[row, column]), current_theme()
        if self.is_signed:
            return cell_background(value, self._largest, theme)
        # NaN is shown as 0 is, in pictures too.
        share = value / self._largest if self._largest > 0 else 0.0
        share = min(share, 1.0) if share > 0 else 0.0
        if self.is_grey:
            return QColor.fromRgbF(share, share, share)
        return mixed(QColor(theme.base), QColor(theme.text), share)
