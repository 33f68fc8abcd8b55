"""The menu bar, built from the actions' menus and sections."""

from bisect import bisect_right

from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QMenuBar

from gui.page.actions import Actions

_TITLES = ("&File", "&Edit", "&View", "&Run", "&Help")
_PANELS = "&View", 90


class Menus:
    """Puts actions into the menu bar by section, also those added later.

    `panels` becomes a submenu of View; its entries follow the visible page.
    """

    def __init__(self, bar: QMenuBar, actions: Actions, panels: QMenu) -> None:
        self._actions = actions
        self._menus = {title: _with_tips(bar.addMenu(title)) for title in _TITLES}
        self._sections: dict[str, list[tuple[int, QAction]]] = {title: [] for title in _TITLES}
        self._submenus: dict[str, QMenu] = {}
        self._placed: set[str] = set()
        self._insert(*_PANELS, panels.menuAction())
        actions.added.connect(self.fill)
        self.fill()

    def fill(self) -> None:
        """Add every action that no menu has yet."""
        for title in _TITLES:
            for entry in self._actions.entries(title):
                if entry.name in self._placed:
                    continue
                self._placed.add(entry.name)
                action = self._actions[entry.name]
                if not entry.submenu:
                    self._insert(title, entry.section, action)
                    continue
                if entry.submenu not in self._submenus:
                    submenu = _with_tips(QMenu(entry.submenu, self._menus[title]))
                    self._submenus[entry.submenu] = submenu
                    self._insert(title, entry.section, submenu.menuAction())
                self._submenus[entry.submenu].addAction(action)

    def _insert(self, title: str, section: int, action: QAction) -> None:
        """Add an action at the end of its section; separators stand between sections."""
        menu, placed = self._menus[title], self._sections[title]
        at = bisect_right(placed, section, key=lambda other: other[0])
        is_new = all(section != other for other, _ in placed)
        after = placed[at][1] if at < len(placed) else None
        if after is None:
            if is_new and placed:
                menu.addSeparator()
            menu.addAction(action)
        elif is_new:
            # The separator before the next section is now the one before this section.
            menu.insertAction(after, action)
            menu.insertSeparator(after)
        else:
            line = menu.actions()[menu.actions().index(after) - 1]
            menu.insertAction(line, action)
        placed.insert(at, (section, action))


def _with_tips(menu: QMenu) -> QMenu:
    menu.setToolTipsVisible(True)
    return menu
