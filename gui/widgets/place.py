"""Where a widget will stand that is made later, such as a plot: pyqtgraph takes 0.2 to 0.5 s to import."""

from PySide6.QtCore import QSize
from PySide6.QtWidgets import QVBoxLayout, QWidget


class Place(QWidget):
    """Holds one widget, once there is one."""

    def __init__(self, hint: QSize | None = None, above: int = 0) -> None:
        super().__init__()
        self._hint = hint
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, above, 0, 0)

    def fill(self, widget: QWidget) -> None:
        """Put the widget here."""
        self._column.addWidget(widget)

    def sizeHint(self) -> QSize:
        return self._hint or super().sizeHint()
