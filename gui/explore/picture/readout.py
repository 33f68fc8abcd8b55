"""The line under the picture: where the cursor is and which numbers stand there."""

import numpy as np
from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSizePolicy, QWidget

from gui.explore.picture.pixel_values import PixelValues, Reading
from gui.style.metrics import GRID, digits_width, number_font
from gui.style.theme import current_theme, theme_notifier

_HINT = "Move the cursor over the picture to read its numbers."


class Readout(QWidget):
    """Row, column and the values of original and result; every number has its own place, so that nothing jumps."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._has_picture = False
        self._captions: list[QLabel] = []
        self._result_name = "result"
        self._hint = QLabel(_HINT)
        self._row, self._column = _place(1), _place(1)
        self._original: list[QLabel] = []
        self._alpha: QLabel | None = None
        self._result: list[QLabel] = []
        # A layout that is too narrow would squeeze every number; the strip keeps its width and is cut at its end.
        self._strip = QWidget(self)
        self._line = QHBoxLayout(self._strip)
        self._line.setContentsMargins(GRID, 0, GRID, 0)
        self._line.setSpacing(GRID)
        self._line.addWidget(self._hint)
        self._line.addStretch(1)
        self.setFixedHeight(self.fontMetrics().height() + 2 * GRID)
        # A pane narrower than the numbers cuts the last of them; it must not be kept from getting narrow.
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.setAccessibleName("Values under the cursor")
        theme_notifier().changed.connect(self._colour)
        self._colour()

    def set_layout_for(self, values: PixelValues | None) -> None:
        """Make room for the numbers of a picture."""
        while item := self._line.takeAt(0):
            widget = item.widget()
            if widget is not None and widget is not self._hint:
                widget.hide()
                widget.deleteLater()
        self._captions, self._original, self._result, self._alpha = [], [], [], None
        self._row, self._column = _place(1), _place(1)
        self._line.addWidget(self._hint)
        if values is not None:
            self._build(values)
        self._line.addStretch(1)
        self._has_picture = values is not None
        self._colour()
        self.show_reading(None)

    def name_result(self, name: str) -> None:
        """Call the result something else."""
        self._result_name = name
        if self._captions:
            self._captions[-1].setText(name)

    def show_reading(self, reading: Reading | None) -> None:
        """Show the numbers of a pixel, or the hint while the cursor is elsewhere."""
        self._hint.setVisible(reading is None and self._has_picture)
        for label in (*self._captions, self._row, self._column, *self._original, *self._result):
            label.setVisible(reading is not None)
        if self._alpha is not None:
            self._alpha.setVisible(reading is not None)
        self._strip.resize(max(self.width(), self._strip.sizeHint().width()), self.height())
        if reading is None:
            self.setAccessibleDescription(_HINT)
            return
        self._row.setText(str(reading.row))
        self._column.setText(str(reading.column))
        for label, text in zip(self._original, reading.original, strict=True):
            label.setText(text)
        if self._alpha is not None:
            self._alpha.setText(reading.alpha or "")
        for label, text in zip(self._result, reading.result or ("–",) * len(self._result), strict=True):
            label.setText(text)
        self.setAccessibleDescription(reading_text(reading, self._result_name))

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._strip.resize(max(self.width(), self._strip.sizeHint().width()), self.height())

    def text(self) -> str:
        """Return the line as it can be read: words and numbers from left to right."""
        items = (self._line.itemAt(index) for index in range(self._line.count()))
        shown = (item.widget() for item in items if item is not None)
        return " ".join(label.text() for label in shown if isinstance(label, QLabel) and not label.isHidden())

    def _build(self, values: PixelValues) -> None:
        figures = {np.dtype(np.uint8): 3, np.dtype(np.uint16): 5}.get(values.dtype, 8)
        self._row, self._column = _place(values.rows), _place(values.columns)
        self._add_caption("row")
        self._line.addWidget(self._row)
        self._add_caption("col")
        self._line.addWidget(self._column)
        self._line.addSpacing(GRID)
        self._add_caption("original")
        self._original = self._add_numbers(values.channels, figures)
        if values.has_alpha:
            self._add_caption("alpha")
            self._alpha = self._add_numbers(1, figures)[0]
        self._line.addSpacing(GRID)
        self._add_caption(self._result_name)
        self._result = self._add_numbers(values.channels, 8 if figures == 8 else figures + 3)

    def _add_caption(self, text: str) -> None:
        label = QLabel(text)
        self._captions.append(label)
        self._line.addWidget(label)

    def _add_numbers(self, count: int, figures: int) -> list[QLabel]:
        labels = [_number(figures) for _ in range(count)]
        for label in labels:
            self._line.addWidget(label)
        return labels

    def _colour(self) -> None:
        for label in (*self._captions, self._hint):
            label.setStyleSheet(f"color: {current_theme().muted}")


def reading_text(reading: Reading, result_name: str = "result") -> str:
    """Return a reading as one line."""
    alpha = "" if reading.alpha is None else f"  alpha {reading.alpha}"
    result = "" if reading.result is None else f"  {result_name} {' '.join(reading.result)}"
    return f"row {reading.row}  col {reading.column}  original {' '.join(reading.original)}{alpha}{result}"


def _place(count: int) -> QLabel:
    """Return a label for a row or a column below `count`."""
    label = _number(len(str(count - 1)) + 1)
    label.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
    return label


def _number(figures: int) -> QLabel:
    label = QLabel()
    label.setFont(number_font())
    label.setFixedWidth(digits_width(figures))
    label.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
    return label
