"""Numbers with their names, one below another."""

from collections.abc import Sequence

from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QGridLayout, QLabel, QWidget

from gui.explore.launch.launch_words import Number
from gui.style.metrics import GRID
from gui.widgets.elided_label import ElidedLabel
from gui.widgets.panel_parts import quiet_label


class NumberGrid(QWidget):
    """Shows numbers; what each means is in its tooltip."""

    def __init__(self) -> None:
        super().__init__()
        self._labels: list[tuple[QLabel, ElidedLabel]] = []
        self._grid = QGridLayout()
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(GRID)
        self._grid.setVerticalSpacing(0)
        self._grid.setColumnStretch(1, 1)
        self.setLayout(self._grid)
        self.setAccessibleName("Numbers of the launch")

    @property
    def shown(self) -> dict[str, str]:
        """The texts by their names."""
        return {name.text(): text.text() for name, text in self._labels if not name.isHidden()}

    def show_numbers(self, numbers: Sequence[Number]) -> None:
        """Show other numbers."""
        for row in range(len(self._labels), len(numbers)):
            name, text = quiet_label(small=True), ElidedLabel(small=True)
            text.setForegroundRole(QPalette.ColorRole.WindowText)
            self._labels.append((name, text))
            self._grid.addWidget(name, row, 0)
            self._grid.addWidget(text, row, 1)
            # What is left over lies below the last row.
            self._grid.setRowStretch(row, 0)
            self._grid.setRowStretch(row + 1, 1)
        for row, labels in enumerate(self._labels):
            for label in labels:
                label.setVisible(row < len(numbers))
        for (name, text), number in zip(self._labels, numbers, strict=False):
            name.setText(number.name)
            text.setText(number.text)
            text.setAccessibleName(f"{number.name}: {number.text}")
            for label in (name, text):
                label.setToolTip(f"{number.name}: {number.text}\n{number.tip}")
        self.setAccessibleDescription(", ".join(f"{one.name}: {one.text}" for one in numbers))
