"""Sizes of docks that follow the window for as long as nobody has chosen others.

Qt keeps the pixels of a dock: after a window is made large, all that is new goes to the middle of the page.
"""

from collections.abc import Callable, Mapping

from PySide6.QtCore import QEvent, QObject, QSize, QTimer
from PySide6.QtWidgets import QDockWidget, QMainWindow

from gui.style.metrics import GRID

# The tabs over a panel take as much of its place; Qt's rounding takes less.
_NEAR = 4 * GRID


class FirstSizes(QObject):
    """Arranges a page again at its new size where its docks were at the old one as they are at first."""

    def __init__(
        self,
        page: QMainWindow,
        wanted: Callable[[], Mapping[QDockWidget, QSize]],
        arrange: Callable[[], None],
    ) -> None:
        """`wanted` returns what `arrange` gives docks at the page's size; Qt has what is not positive."""
        super().__init__(page)
        self._page, self._wanted, self._arrange = page, wanted, arrange
        self._size = QSize()
        self._are_first = False
        # Panels need less room in a small place only once they have it: then what is wanted can be given.
        self._again = QTimer(self, singleShot=True, interval=0)
        self._again.timeout.connect(arrange)
        # Those behind tabs too: one of them may be in front when the window gets another size.
        for one in (page, *page.findChildren(QDockWidget)):
            one.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Qt has laid out the page's docks at its new size before the page itself is told."""
        if event.type() == QEvent.Type.Resize:
            if watched is self._page:
                if self._are_first and self._page.isVisible():
                    self._arrange()
                    self._again.start()
                self._size = self._page.size()
            if self._page.size() == self._size:
                self._are_first = all(self._is_near(dock, size) for dock, size in self._wanted().items())
        return super().eventFilter(watched, event)

    def _is_near(self, dock: QDockWidget, size: QSize) -> bool:
        """Whether what is in front at the place of a dock has about this size; so has what is in no place."""
        shown = (one for one in (dock, *self._page.tabifiedDockWidgets(dock)) if _is_in_sight(one))
        front = next(shown, None)
        if front is None:
            return True
        sides = (front.width(), size.width()), (front.height(), size.height())
        return all(wanted <= 0 or abs(has - wanted) <= _NEAR for has, wanted in sides)


def _is_in_sight(dock: QDockWidget) -> bool:
    # Qt leaves what is behind a tab visible, far outside.
    return dock.isVisible() and not dock.isFloating() and dock.geometry().right() > 0
