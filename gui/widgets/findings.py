"""What is found out, as names with texts, one below another."""

from collections.abc import Sequence
from typing import NamedTuple

from PySide6.QtCore import Qt
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QGridLayout, QLabel, QWidget

from gui.style.metrics import GRID
from gui.widgets.elided_label import ElidedLabel
from gui.widgets.panel_parts import quiet_label


class Finding(NamedTuple):
    """A name, what is found, and what it means."""

    name: str
    text: str
    tip: str


class Findings(QWidget):
    """Shows findings, each in `most` lines at most; what each means is in its tooltip."""

    def __init__(self, name: str, most: int = 1, spacing: int = 0) -> None:
        super().__init__()
        self._most = most
        self._labels: list[tuple[QLabel, ElidedLabel]] = []
        self._grid = QGridLayout()
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(GRID)
        self._grid.setVerticalSpacing(spacing)
        self._grid.setColumnStretch(1, 1)
        self.setLayout(self._grid)
        self.setAccessibleName(name)

    @property
    def shown(self) -> dict[str, str]:
        """The texts by their names."""
        return {name.text(): text.text() for name, text in self._labels if not name.isHidden()}

    def show_findings(self, findings: Sequence[Finding]) -> None:
        """Show others."""
        for row in range(len(self._labels), len(findings)):
            name, text = quiet_label(small=True), ElidedLabel(most=self._most, small=True)
            text.setForegroundRole(QPalette.ColorRole.WindowText)
            self._labels.append((name, text))
            self._grid.addWidget(name, row, 0, Qt.AlignmentFlag.AlignTop)
            self._grid.addWidget(text, row, 1)
            # What is left over lies below the last row.
            self._grid.setRowStretch(row, 0)
            self._grid.setRowStretch(row + 1, 1)
        for row, labels in enumerate(self._labels):
            for label in labels:
                label.setVisible(row < len(findings))
        for (name, text), one in zip(self._labels, findings, strict=False):
            name.setText(one.name)
            text.setText(one.text)
            text.setAccessibleName(f"{one.name}: {one.text}")
            for label in (name, text):
                label.setToolTip(f"{one.name}: {one.text}\n{one.tip}")
        self.setAccessibleDescription(", ".join(f"{one.name}: {one.text}" for one in findings))
