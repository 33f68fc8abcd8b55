"""The tabs of panels that share a place: what the title bar of a panel offers stands in their row."""

from PySide6.QtCore import QEvent, QObject, QPoint, QSize, Qt
from PySide6.QtGui import QContextMenuEvent, QHelpEvent, QMouseEvent
from PySide6.QtWidgets import QApplication, QMainWindow, QMenu, QTabBar, QToolButton, QToolTip, QWidget

from gui.page.dock import Dock
from gui.style.icons import icon
from gui.style.metrics import GRID, HALF_GRID

_FLOAT, _CLOSE = "Make this panel a window of its own.", "Close this panel; the menu View, Panels shows it."
_BUTTON_SIDE = 2 * GRID + HALF_GRID
# So far out of its row a tab is no longer moved within it.
_OUT = 2 * GRID


class DockTabs(QObject):
    """Closes the panel of a tab, or makes it a window: by buttons, menu, double click or drag.

    The two buttons are for the panel in front. They stand at the end of the row where it has room for them.
    """

    def __init__(self, bar: QTabBar, page: QMainWindow) -> None:
        super().__init__(bar)
        self._bar, self._page = bar, page
        self._dragged: Dock | None = None
        self._buttons = QWidget(bar)
        self._buttons.setObjectName("tabButtons")
        self._buttons.setFixedSize(2 * _BUTTON_SIDE, _BUTTON_SIDE)
        parts = ("dock-window", "Float", _FLOAT, self._float), ("close", "Close", _CLOSE, self._close)
        for at, (glyph, name, tip, act) in enumerate(parts):
            button = QToolButton(self._buttons, autoRaise=True)
            button.setIcon(icon(glyph))
            button.setIconSize(QSize(_BUTTON_SIDE - GRID, _BUTTON_SIDE - GRID))
            button.setGeometry(at * _BUTTON_SIDE, 0, _BUTTON_SIDE, _BUTTON_SIDE)
            button.setAccessibleName(f"{name} the panel in front")
            button.setToolTip(tip)
            # As the buttons of title bars: the menu of the tab has them for the keyboard.
            button.setFocusPolicy(Qt.FocusPolicy.NoFocus)
            button.clicked.connect(lambda _on, act=act: act(self._bar.currentIndex()))
        bar.setElideMode(Qt.TextElideMode.ElideNone)
        bar.setAccessibleName("Panels in this place")
        bar.installEventFilter(self)

    def fit(self) -> None:
        """Put the buttons at the end of the row, if it has room for them beside all tabs."""
        bar, last = self._bar, self._bar.count() - 1
        used = bar.tabRect(last).right() - bar.tabRect(0).left() + HALF_GRID if last >= 0 else 0
        self._buttons.move(
            bar.width() - self._buttons.width() - HALF_GRID, (bar.height() - _BUTTON_SIDE) // 2
        )
        self._buttons.setVisible(used + self._buttons.width() + HALF_GRID <= bar.width())

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        kinds = QEvent.Type
        if event.type() in (kinds.Resize, kinds.LayoutRequest, kinds.FontChange):
            self.fit()
        elif isinstance(event, QContextMenuEvent):
            by_key = event.reason() == QContextMenuEvent.Reason.Keyboard
            at = self._bar.currentIndex() if by_key else self._bar.tabAt(event.pos())
            below = self._bar.mapToGlobal(self._bar.tabRect(at).bottomLeft())
            self._show_menu(at, below if by_key else event.globalPos())
            return True
        elif isinstance(event, QHelpEvent) and event.type() == kinds.ToolTip:
            return self._show_tip(event)
        elif isinstance(event, QMouseEvent):
            return self._follow_mouse(event)
        return False

    def _dock_at(self, at: int) -> Dock | None:
        # Qt tells nobody which panel a tab is of; titles are unique on a page.
        title = self._bar.tabText(at) if at >= 0 else None
        return next((dock for dock in self._page.findChildren(Dock) if dock.windowTitle() == title), None)

    def _float(self, at: int) -> None:
        dock = self._dock_at(at)
        if dock is not None:
            dock.setFloating(True)

    def _close(self, at: int) -> None:
        dock = self._dock_at(at)
        if dock is not None:
            dock.close()

    def _show_menu(self, at: int, where: QPoint) -> None:
        dock = self._dock_at(at)
        if dock is None:
            return
        menu = QMenu(self._bar)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addAction(icon("dock-window"), "&Float", lambda: self._float(at))
        menu.addAction(icon("close"), "&Close", lambda: self._close(at))
        menu.popup(where)

    def _show_tip(self, event: QHelpEvent) -> bool:
        dock = self._dock_at(self._bar.tabAt(event.pos()))
        if dock is None:
            return False
        tip = f"{dock.windowTitle()}. Drag it out of the row, or double click, for a window of its own."
        QToolTip.showText(event.globalPos(), tip, self._bar)
        return True

    def _follow_mouse(self, event: QMouseEvent) -> bool:
        kinds, at = QEvent.Type, event.position().toPoint()
        is_left = event.button() == Qt.MouseButton.LeftButton
        if event.type() == kinds.MouseButtonPress and is_left:
            self._dragged = self._dock_at(self._bar.tabAt(at))
        elif event.type() == kinds.MouseButtonRelease:
            self._dragged = None
        elif event.type() == kinds.MouseButtonDblClick and is_left:
            self._float(self._bar.tabAt(at))
            return True
        elif event.type() == kinds.MouseMove and self._dragged is not None:
            row = self._bar.rect().adjusted(-_OUT, -_OUT, _OUT, _OUT)
            if not row.contains(at):
                dock, self._dragged = self._dragged, None
                self._end_move_in_row(event)
                dock.take_drag(event.globalPosition().toPoint())
                return True
        return False

    def _end_move_in_row(self, event: QMouseEvent) -> None:
        """Let go of the tab: Qt moves it within its row until the button is up."""
        button, no_key = Qt.MouseButton, Qt.KeyboardModifier.NoModifier
        up = QEvent.Type.MouseButtonRelease
        where = event.position(), event.globalPosition()
        released = QMouseEvent(up, *where, button.LeftButton, button.NoButton, no_key)
        QApplication.sendEvent(self._bar, released)
