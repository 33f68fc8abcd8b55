"""Quiet sentences of a bounded height, which scroll where they need more lines."""

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QSizePolicy

from gui.widgets.panel_parts import quiet_label
from gui.widgets.scroll_area import ScrollArea


class ScrolledText(ScrollArea):
    """As high as its text, up to `most` lines; gives way to others down to `fewest`.

    Where both are the same it keeps its height, so that nothing below it moves. `margins` are left, top,
    right and bottom in pixels.
    """

    def __init__(
        self, name: str, fewest: int, most: int, margins: tuple[int, int, int, int] = (0, 0, 0, 0)
    ) -> None:
        # Before it stands in the area: Qt's style sheets drop a font and margins that are set later.
        label = quiet_label(small=True, wraps=True)
        label.setContentsMargins(*margins)
        super().__init__(label)
        self._label = label
        self._fewest, self._most = fewest, most
        self._label.setAlignment(Qt.AlignmentFlag.AlignTop)
        self._label.setTextFormat(Qt.TextFormat.PlainText)
        self._label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        self.setAccessibleName(name)

    @property
    def text(self) -> str:
        """All of it."""
        return self._label.text()

    def say(self, text: str) -> None:
        """Show sentences, from their beginning."""
        if text != self.text:
            self._label.setText(text)
            self.setAccessibleDescription(text)
            self.verticalScrollBar().setValue(0)
            self.updateGeometry()

    def set_most(self, lines: int) -> None:
        """Take up to so many lines, and `fewest` at least."""
        lines = max(self._fewest, lines)
        if lines != self._most:
            self._most = lines
            self.updateGeometry()

    def sizeHint(self) -> QSize:
        return QSize(super().sizeHint().width(), self._height(self._most))

    def minimumSizeHint(self) -> QSize:
        return QSize(0, self._height(self._fewest))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.oldSize().width() != event.size().width():
            self.updateGeometry()

    def _height(self, lines: int) -> int:
        margins = self._label.contentsMargins()
        # Asked again when the style gives the text its font: by then a line is a pixel higher.
        height = lines * self._label.fontMetrics().lineSpacing() + 2 + margins.top() + margins.bottom()
        if self._fewest == self._most:
            return height
        # Without the scroll bar, which comes and goes with the height.
        return min(height, max(0, self._label.heightForWidth(max(1, self.width()))))
