"""The text under a table: why cells are empty, and the table's notes."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QLabel, QScrollArea, QSizePolicy, QWidget

from gui.style.metrics import GRID, HALF_GRID, small_font

_MOST_LINES = 8


class Notes(QScrollArea):
    """Wrapped sentences, as high as they are up to eight lines; more can be scrolled."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._label = QLabel()
        self._label.setTextFormat(Qt.TextFormat.PlainText)
        self._label.setWordWrap(True)
        self._label.setFont(small_font())
        self._label.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop)
        self._label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._label.setForegroundRole(self._label.foregroundRole().PlaceholderText)
        self._label.setContentsMargins(GRID, HALF_GRID, GRID, HALF_GRID)
        self._label.setAccessibleName("Notes")
        self.setAccessibleName("Notes")
        self.setWidget(self._label)
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)

    @property
    def text(self) -> str:
        """What is shown."""
        return self._label.text()

    def show_notes(self, notes: tuple[str, ...]) -> None:
        """Show sentences, one per paragraph."""
        self._label.setText("\n".join(notes))
        self.setVisible(bool(notes))
        self._fit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        most = _MOST_LINES * self._label.fontMetrics().lineSpacing() + GRID
        needed = self._label.heightForWidth(max(1, self.viewport().width()))
        self.setFixedHeight(max(0, min(most, needed)))
