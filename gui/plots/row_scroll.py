"""Rows of a plot that never stand closer than their words: what does not fit is scrolled to."""

import pyqtgraph as pg
from PySide6.QtCore import QEvent, QObject, QSignalBlocker, Qt, Signal
from PySide6.QtGui import QFontMetrics
from PySide6.QtWidgets import QScrollBar, QWidget

from gui.style.metrics import number_font

# One row alone stays on top instead of growing over the whole height.
_FEWEST_ROWS = 4


class RowScroll(QScrollBar):
    """Scrolls the rows of a plot (row r at y = -r), also by the wheel; hidden where all of them fit."""

    moved = Signal()  # other rows are in view

    def __init__(self, plot: pg.PlotWidget, parent: QWidget | None = None) -> None:
        super().__init__(Qt.Orientation.Vertical, parent)
        self._plot = plot
        self._rows = 0
        self.setAccessibleName("Rows of the plot")
        self.setVisible(False)
        self.valueChanged.connect(self._show_rows)
        plot.getViewBox().sigResized.connect(self._fit)
        plot.viewport().installEventFilter(self)

    def set_rows(self, count: int) -> None:
        self._rows = count
        self._fit()

    @property
    def in_view(self) -> range:
        """The rows that can be seen, one that is cut among them."""
        first, shown = self.value(), self._rows - self.maximum() + 1
        return range(max(0, first - 1), min(self._rows, first + shown))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Wheel and self.maximum():
            self.event(event)
            return True
        return super().eventFilter(watched, event)

    def _fit(self) -> None:
        height = self._plot.getViewBox().height()
        fitting = max(1, int(height // QFontMetrics(number_font()).height()))
        # Before there is a layout there is no height to go by.
        hidden = max(0, self._rows - fitting) if height > 1 else 0
        with QSignalBlocker(self):
            self.setRange(0, hidden)
            self.setPageStep(max(1, self._rows - hidden))
        self.setVisible(hidden > 0)
        self._show_rows()

    def _show_rows(self) -> None:
        first, shown = self.value(), max(self._rows - self.maximum(), _FEWEST_ROWS)
        self._plot.setYRange(-first - shown + 0.4, -first + 0.6, padding=0)
        self.moved.emit()
