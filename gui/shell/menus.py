"""The menu bar, built from the actions' menus and sections."""

from collections.abc import Mapping

from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QMenuBar

from gui.page.actions import Actions

_TITLES = ("&File", "&Edit", "&View", "&Mask", "&Chain", "&Run", "&Help")


class Menus:
    """Puts actions into the menu bar by section; filled anew by the window when there are more.

    `others` are menus whose entries come and go, by the menu and the section that each is in.
    """

    def __init__(self, bar: QMenuBar, actions: Actions, others: Mapping[tuple[str, int], QMenu]) -> None:
        self._actions = actions
        self._others = others
        self._menus = {title: _with_tips(bar.addMenu(title)) for title in _TITLES}
        self._submenus: dict[str, QMenu] = {}

    def fill(self) -> None:
        """Show the actions that there are by now."""
        for title, menu in self._menus.items():
            # The actions of each menu by their sections; those of a submenu have their own within it.
            placed = {menu: [(at, one.menuAction()) for (of, at), one in self._others.items() if of == title]}
            for entry in self._actions.entries(title):
                holder = menu
                if entry.submenu:
                    if entry.submenu not in self._submenus:
                        self._submenus[entry.submenu] = _with_tips(QMenu(entry.submenu, menu))
                    holder = self._submenus[entry.submenu]
                    if holder not in placed:
                        placed[holder] = []
                        placed[menu].append((entry.section, holder.menuAction()))
                placed[holder].append((entry.section, self._actions[entry.name]))
            for holder, actions in placed.items():
                _show(holder, actions)


def _show(menu: QMenu, placed: list[tuple[int, QAction]]) -> None:
    """Have a menu show these actions, with lines between their sections."""
    # Not clear(), with which Qt for Python ends the actions too.
    for action in menu.actions():
        menu.removeAction(action)
    before = None
    for section, action in sorted(placed, key=lambda one: one[0]):
        if before not in (None, section):
            menu.addSeparator()
        menu.addAction(action)
        before = section


def _with_tips(menu: QMenu) -> QMenu:
    menu.setToolTipsVisible(True)
    return menu
