"""A panel of a page: its title stands in its own bar, or in its tab where it shares its place with others.

A panel never holds its place: where it is lower than the panel needs, it scrolls. Otherwise a panel behind a
tab would make the whole row of panels as high as it wants to be, as soon as it is looked at.
"""

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QDockWidget, QMainWindow, QStyleOptionDockWidget, QWidget

from gui.style.letters import at_usual_letters
from gui.style.metrics import GRID
from gui.style.theme import current_theme
from gui.widgets.scroll_area import ScrollArea

# A panel with larger letters than usual is not made narrower than this for them.
_NARROW = 30 * GRID
LEAST_HEIGHT = 12 * GRID
"""A panel can be made as low as this, pixels; less only if it needs less."""


class Dock(QDockWidget):
    """A panel that can be moved, closed and brought back; the page calls `follow_docking` after `moved`."""

    moved = Signal()

    def __init__(self, name: str, title: str, page: QMainWindow, widget: QWidget) -> None:
        super().__init__(title, page)
        self._page = page
        self.setObjectName(name)
        room = _Room(widget)
        self.setWidget(room)
        self.toggleViewAction().setToolTip(f"Show or hide the panel {title}.")
        # Qt leaves what is behind another tab visible far outside, where Tab and screen readers find it.
        policy = room.sizePolicy()
        policy.setRetainSizeWhenHidden(True)
        room.setSizePolicy(policy)
        self.visibilityChanged.connect(room.setVisible)
        for moved in (self.dockLocationChanged, self.topLevelChanged, self.visibilityChanged):
            moved.connect(self.moved)

    @property
    def is_tabbed(self) -> bool:
        """Whether a tab has its title: it shares its place with another panel that is not closed."""
        others = self._page.tabifiedDockWidgets(self)
        return not self.isFloating() and any(one.toggleViewAction().isChecked() for one in others)

    def initStyleOption(self, option: QStyleOptionDockWidget) -> None:
        super().initStyleOption(option)
        if self.is_tabbed:
            # The tab says it: the bar is only for the two buttons.
            option.title = ""

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if self.isFloating() and self.windowFlags() & Qt.WindowType.FramelessWindowHint:
            # On X11 and Wayland Qt takes the window manager's frame away, and the style draws none.
            painter = QPainter(self)
            painter.setPen(QColor(current_theme().outline))
            painter.drawRect(self.rect().adjusted(0, 0, -1, -1))
            painter.end()

    def follow_docking(self) -> None:
        """Take the title out of the bar where a tab has it, and put it back; raise the bar of a window."""
        docking = "tab" if self.is_tabbed else "window" if self.isFloating() else "dock"
        if self.property("docking") != docking:
            self.setProperty("docking", docking)
            self.style().unpolish(self)
            self.style().polish(self)
            self.updateGeometry()


class _Room(ScrollArea):
    """What a dock holds: its panel, as large as there is room, or as it needs at least and scrolled."""

    def minimumSizeHint(self) -> QSize:
        least = self.least_size
        return QSize(
            min(least.width(), max(at_usual_letters(least.width()), _NARROW)),
            min(least.height(), LEAST_HEIGHT),
        )

    def least_height(self, width: int) -> int:
        # Panels have parts that give way, such as plots; the height at a width is what they would like.
        return self.least_size.height()

    def follow_content(self) -> None:
        super().follow_content()
        self.updateGeometry()
