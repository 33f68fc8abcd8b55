"""More room for a panel that a person has asked it for, for as long as it is looked at."""

from collections.abc import Mapping

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QMainWindow, QTabBar

from gui.page.dock import Dock

# Of the page. The panels beside it keep the least width that they need.
_HEIGHT = 0.66


class DockRoom:
    """Makes a panel in a row of others large while it is in sight, and then puts the row back."""

    def __init__(self, page: QMainWindow, dock: Dock) -> None:
        self._page, self._dock = page, dock
        self._is_wanted = False
        # The sizes of the row, of its own one the width.
        self._before: Mapping[Dock, QSize] = {}

    def want(self, is_wanted: bool) -> None:
        """Take more room from now on, or no more."""
        self._is_wanted = is_wanted
        self.follow(True)

    def follow(self, is_visible: bool) -> None:
        """Note whether the panel is in sight."""
        # What hides with its page stays as it is.
        if not self._page.isVisible():
            return
        is_large = bool(self._before)
        if self._is_wanted and is_visible and not is_large:
            self._before = {dock: dock.size() for dock in (self._dock, *self._others())}
            width, height = self._page.width(), round(self._page.height() * _HEIGHT)
            self._resize({dock: QSize(width if dock is self._dock else 1, height) for dock in self._before})
        elif is_large and not (self._is_wanted and is_visible):
            before, self._before = self._before, {}
            self._resize(before)

    def _tabs_of(self, dock: Dock) -> int:
        """Return the height of the tabs over a panel, which are a part of its place."""
        bars = self._page.findChildren(QTabBar, options=Qt.FindChildOption.FindDirectChildrenOnly)
        return max((bar.height() for bar in bars), default=0) if dock.is_tabbed else 0

    def _others(self) -> list[Dock]:
        """Return the panels beside it: they have their size alone, while panels behind tabs share one."""
        page, area = self._page, self._page.dockWidgetArea(self._dock)
        behind = page.tabifiedDockWidgets(self._dock)
        return [
            dock
            for dock in page.findChildren(Dock)
            if dock is not self._dock
            and dock not in behind
            and not self._dock.isFloating()
            and not dock.isFloating()
            and dock.isVisible()
            and page.dockWidgetArea(dock) is area
        ]

    def _resize(self, sizes: Mapping[Dock, QSize]) -> None:
        docks, sides = list(sizes), Qt.Orientation
        self._page.resizeDocks(docks, [size.width() for size in sizes.values()], sides.Horizontal)
        # A panel behind tabs is lower than its place, by the tabs; all places of the row have one height.
        others = docks[1:] or docks
        height = max(sizes[dock].height() + self._tabs_of(dock) for dock in others)
        self._page.resizeDocks(others, [height] * len(others), sides.Vertical)
