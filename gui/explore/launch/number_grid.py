"""Numbers with their names, in as many columns as there is room for."""

from collections.abc import Sequence

from PySide6.QtCore import QSize
from PySide6.QtGui import QFontMetrics, QResizeEvent
from PySide6.QtWidgets import QGridLayout, QLabel, QWidget

from gui.explore.launch.launch_words import Number
from gui.style.metrics import GRID, number_font
from gui.widgets.panel_parts import quiet_label

# The widest texts.
_NAME, _TEXT = "Registers per thread", "registers, threads"


class NumberGrid(QWidget):
    """Shows numbers, column by column; what each means is in its tooltip."""

    def __init__(self) -> None:
        super().__init__()
        self._labels: list[tuple[QLabel, QLabel]] = []
        self._grid = QGridLayout()
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(GRID)
        self._grid.setVerticalSpacing(2)
        self._columns = 0
        self.setLayout(self._grid)
        self.setAccessibleName("Numbers of the launch")

    @property
    def shown(self) -> dict[str, str]:
        """The texts by their names."""
        return {name.text(): text.text() for name, text in self._labels}

    def column_width(self) -> int:
        """Return the pixels of a column."""
        metrics = QFontMetrics(number_font())
        return metrics.horizontalAdvance(_NAME) + metrics.horizontalAdvance(_TEXT) + 2 * GRID

    def show_numbers(self, numbers: Sequence[Number]) -> None:
        """Show other numbers; there are always as many."""
        if not self._labels:
            for _ in numbers:
                name, text = quiet_label(), QLabel()
                text.setFont(number_font())
                self._labels.append((name, text))
            self._arrange(max(1, self._columns))
        for (name, text), number in zip(self._labels, numbers, strict=True):
            name.setText(number.name)
            text.setText(number.text)
            text.setAccessibleName(f"{number.name}: {number.text}")
            for label in (name, text):
                label.setToolTip(number.tip)
        self.setAccessibleDescription(", ".join(f"{one.name}: {one.text}" for one in numbers))

    def minimumSizeHint(self) -> QSize:
        return QSize(self.column_width(), super().minimumSizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        columns = max(1, min(2, self.width() // self.column_width()))
        if columns != self._columns:
            self._arrange(columns)

    def _arrange(self, columns: int) -> None:
        self._columns = columns
        rows = -(-len(self._labels) // columns)
        for position, (name, text) in enumerate(self._labels):
            column, row = divmod(position, max(1, rows))
            self._grid.addWidget(name, row, 2 * column)
            self._grid.addWidget(text, row, 2 * column + 1)
        self._grid.setColumnStretch(1, 1)
        self._grid.setColumnStretch(3, columns - 1)
        # What is left over lies below the last row.
        for row in range(len(self._labels) + 1):
            self._grid.setRowStretch(row, int(row == rows))
