"""The menu bar, built from the actions' menus and sections."""

from collections.abc import Mapping

from PySide6.QtWidgets import QMenu, QMenuBar

from gui.page.actions import Actions

_TITLES = ("&File", "&Edit", "&View", "&Run", "&Help")


class Menus:
    """Puts actions into the menu bar by section; filled anew when there are more.

    `others` are menus whose entries come and go, by the menu and the section that each is in.
    """

    def __init__(self, bar: QMenuBar, actions: Actions, others: Mapping[tuple[str, int], QMenu]) -> None:
        self._actions = actions
        self._others = others
        self._menus = {title: _with_tips(bar.addMenu(title)) for title in _TITLES}
        self._submenus: dict[str, QMenu] = {}
        actions.added.connect(self._fill)
        self._fill()

    def _fill(self) -> None:
        for menu in (*self._menus.values(), *self._submenus.values()):
            # Not clear(), with which Qt for Python ends the actions too.
            for action in menu.actions():
                menu.removeAction(action)
        for title, menu in self._menus.items():
            placed = [(at, menu.menuAction()) for (where, at), menu in self._others.items() if where == title]
            for entry in self._actions.entries(title):
                action = self._actions[entry.name]
                if not entry.submenu:
                    placed.append((entry.section, action))
                    continue
                if entry.submenu not in self._submenus:
                    self._submenus[entry.submenu] = _with_tips(QMenu(entry.submenu, menu))
                submenu = self._submenus[entry.submenu]
                if submenu.isEmpty():
                    placed.append((entry.section, submenu.menuAction()))
                submenu.addAction(action)
            before = None
            for section, action in sorted(placed, key=lambda one: one[0]):
                if before not in (None, section):
                    menu.addSeparator()
                menu.addAction(action)
                before = section


def _with_tips(menu: QMenu) -> QMenu:
    menu.setToolTipsVisible(True)
    return menu
