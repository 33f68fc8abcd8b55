"""An area that scrolls its content up and down where there is less room than the content needs.

QScrollArea with `widgetResizable` decides by the width that its content has just now. A content whose height
follows its width keeps a scroll bar there that it no longer needs, or resizes itself without end. Here the
size of the content follows from the room alone.
"""

from PySide6.QtCore import QEvent, QObject, QSize, Qt
from PySide6.QtGui import QPalette, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QFrame, QLabel, QScrollArea, QSizePolicy, QWidget

from gui.style.metrics import small_font

_NEVER = Qt.ScrollBarPolicy.ScrollBarAlwaysOff


class ScrollArea(QScrollArea):
    """Its content fills it, or has the least height with which it is whole at its width."""

    def __init__(self, content: QWidget) -> None:
        super().__init__()
        self._content = content
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setWidget(content)

    def sizeHint(self) -> QSize:
        return self._content.sizeHint()

    @property
    def least_size(self) -> QSize:
        """The least size of the content at any width."""
        return self._content.minimumSizeHint().expandedTo(self._content.minimumSize())

    def least_height(self, width: int) -> int:
        """Return the least height of the content at a width."""
        content, least = self._content, self.least_size.height()
        layout = content.layout()
        if layout is not None and layout.hasHeightForWidth():
            return max(least, layout.minimumHeightForWidth(width))
        return max(least, content.heightForWidth(width)) if content.hasHeightForWidth() else least

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place()

    def event(self, event: QEvent) -> bool:
        handled = super().event(event)
        # The content as a whole needs another size.
        if event.type() == QEvent.Type.LayoutRequest:
            self.follow_content()
        return handled

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        # Something in the content does.
        if watched is self._content and event.type() == QEvent.Type.LayoutRequest:
            self.follow_content()
        return super().eventFilter(watched, event)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._place()

    def follow_content(self) -> None:
        """Adopt what the content needs now; what is hidden does once it is shown, as in Qt's layouts."""
        if self.isVisible():
            self._place()

    def _place(self) -> None:
        room, least = self.maximumViewportSize(), self.least_size
        bar = self.verticalScrollBar().sizeHint().width()
        if least.width() > room.width() and self.horizontalScrollBarPolicy() != _NEVER:
            room.setHeight(room.height() - self.horizontalScrollBar().sizeHint().height())
        width = room.width()
        if self.least_height(width) > room.height():
            if self.least_height(width - bar) > room.height():
                width -= bar
            else:
                # A picture is less high where it is less wide: it is in view whole without a scroll bar.
                narrower = range(width, width - bar, -1)
                width = next((w for w in narrower if self.least_height(w) <= room.height()), width - bar)
        width = max(width, least.width())
        self._content.resize(width, max(room.height(), self.least_height(width)))


class ScrolledText(ScrollArea):
    """As high as its text, up to `most` lines; gives way to others down to `fewest`.

    Where both are the same it keeps its height, so that nothing below it moves. `margins` are left, top,
    right and bottom in pixels.
    """

    def __init__(
        self, name: str, fewest: int, most: int, margins: tuple[int, int, int, int] = (0, 0, 0, 0)
    ) -> None:
        # Before it stands in the area: Qt's style sheets drop a font and margins that are set later.
        label = QLabel(wordWrap=True)
        label.setFont(small_font())
        label.setForegroundRole(QPalette.ColorRole.PlaceholderText)
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
