"""An area that scrolls its content up and down where there is less room than the content needs.

QScrollArea with `widgetResizable` decides by the width that its content has just now. A content whose height
follows its width keeps a scroll bar there that it no longer needs, or resizes itself without end. Here the
size of the content follows from the room alone.
"""

from PySide6.QtCore import QEvent, QObject, QSize, Qt
from PySide6.QtGui import QResizeEvent, QShowEvent
from PySide6.QtWidgets import QFrame, QScrollArea, QWidget


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


_NEVER = Qt.ScrollBarPolicy.ScrollBarAlwaysOff
