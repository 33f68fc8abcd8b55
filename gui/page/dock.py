"""A panel of a page: its title stands in its own bar, or in its tab where it shares its place with others.

A panel never holds its place: where it is lower than the panel needs, it scrolls. Otherwise a panel behind a
tab would make the whole row of panels as high as it wants to be, as soon as it is looked at.
"""

from PySide6.QtCore import QEvent, QPoint, QSize, Qt, Signal
from PySide6.QtGui import QColor, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QAbstractButton, QApplication, QDockWidget, QMainWindow, QWidget

from gui.style.icons import icon
from gui.style.letters import at_usual_letters
from gui.style.metrics import GRID, HALF_GRID
from gui.style.theme import current_theme
from gui.widgets.panel_parts import column
from gui.widgets.scroll_area import ScrollArea

# A panel with larger letters than usual is not made narrower than this for them.
_NARROW = 30 * GRID
_MOVE = QEvent.Type.MouseMove
# Qt's names of the buttons in its title bar, and their icons.
_BUTTONS = {"qt_dockwidget_floatbutton": "dock-window", "qt_dockwidget_closebutton": "close"}
_DIRECT = Qt.FindChildOption.FindDirectChildrenOnly
LEAST_HEIGHT = 12 * GRID
"""A panel can be made as low as this, pixels; less only if it needs less."""


class Dock(QDockWidget):
    """A panel that can be moved, closed and brought back; the page calls `follow_docking` after `moved`."""

    moved = Signal()

    def __init__(self, name: str, title: str, page: QMainWindow, widget: QWidget) -> None:
        super().__init__(title, page)
        self._page = page
        self.setObjectName(name)
        self.content = widget
        room = _Room(widget)
        self.setWidget(room)
        self.toggleViewAction().setToolTip(f"Show or hide the panel {title}.")
        # Qt leaves what is behind another tab visible far outside, where Tab and screen readers find it.
        policy = room.sizePolicy()
        policy.setRetainSizeWhenHidden(True)
        room.setSizePolicy(policy)
        self.visibilityChanged.connect(room.setVisible)
        # What stands above the panel where a tab has its title; `DockTabs` has the rest of a title bar.
        # Its layout knows its height: Qt asks a thousand times, and an answer from Python takes longer.
        self._no_bar = QWidget(self)
        self._no_bar.setLayout(column(margins=(0, HALF_GRID, 0, 0)))
        self._no_bar.hide()
        moves = self.dockLocationChanged, self.topLevelChanged, self.visibilityChanged
        for moved in (*moves, self.windowTitleChanged):
            moved.connect(self.moved)

    @property
    def is_tabbed(self) -> bool:
        """Whether a tab has its title: it shares its place with another panel that is not closed.

        What hides with its page is not closed: bars that came and went with the page took 0.1 s.
        """
        others = self._page.tabifiedDockWidgets(self)
        return not self.isFloating() and not all(one.isHidden() for one in others)

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if self.isFloating() and self.windowFlags() & Qt.WindowType.FramelessWindowHint:
            # On X11 and Wayland Qt takes the window manager's frame away, and the style draws none.
            painter = QPainter(self)
            painter.setPen(QColor(current_theme().outline))
            painter.drawRect(self.rect().adjusted(0, 0, -1, -1))
            painter.end()

    def follow_docking(self) -> None:
        """Have a title bar where no tab has the title; raise the bar of a window."""
        docking = "tab" if self.is_tabbed else "window" if self.isFloating() else "dock"
        if self.property("docking") != docking:
            self.setProperty("docking", docking)
            self._show_bar(docking != "tab")
            self.style().unpolish(self)
            self.style().polish(self)
            self.updateGeometry()
        self._dress_buttons()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() is QEvent.Type.StyleChange:
            self._dress_buttons()

    def _dress_buttons(self) -> None:
        """Give Qt's own bar the buttons of the tabs; Qt puts its own back whenever the panel moves."""
        for name, glyph in _BUTTONS.items():
            button = self.findChild(QAbstractButton, name, _DIRECT)
            if button is not None:
                button.setIcon(icon(glyph))

    def take_drag(self, pointer: QPoint) -> None:
        """Be dragged from its place on by the mouse button that is down, as by its title bar."""
        self._show_bar(True)
        self.setProperty("docking", "dock")
        title = QPoint(2 * GRID, GRID)
        # Qt drags a panel that is pressed on its title and moved; it takes the mouse with the second event.
        for kind, at in ((QEvent.Type.MouseButtonPress, self.mapToGlobal(title)), (_MOVE, pointer)):
            button = Qt.MouseButton.NoButton if kind is _MOVE else Qt.MouseButton.LeftButton
            here, down = self.mapFromGlobal(at), Qt.MouseButton.LeftButton
            event = QMouseEvent(kind, here, at, button, down, Qt.KeyboardModifier.NoModifier)
            QApplication.sendEvent(self, event)

    def _show_bar(self, shown: bool) -> None:
        # Qt makes a window anew whose bar is set, in the middle of a drag too, and then crashes at the end.
        if shown is (self.titleBarWidget() is None):
            return
        # Qt has a bar of its own where it is given none.
        self.setTitleBarWidget(None if shown else self._no_bar)  # type: ignore[arg-type]
        self._no_bar.setVisible(not shown)
        layout = self.layout()
        if layout is not None:
            layout.activate()


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
