"""The menus, made from the actions that there are. Nothing is done here."""

from itertools import groupby

from PySide6.QtWidgets import QMenu, QMenuBar

from gui.page.actions import Actions

_TITLES = ("&File", "&Edit", "&View", "&Run", "&Help")
_PANELS_MENU = "&View"


class Menus:
    """Fills the menu bar, and again when there are more actions.

    Parameters
    ----------
    panels : QMenu
        Stands at the end of View; its entries follow the page that is shown.
    """

    def __init__(self, bar: QMenuBar, actions: Actions, panels: QMenu) -> None:
        self._bar = bar
        self._actions = actions
        self._panels = panels
        self._menus: dict[str, QMenu] = {}
        for title in _TITLES:
            self._menu(title)
        actions.added.connect(self.fill)
        self.fill()

    def fill(self) -> None:
        """Put every action into its menu."""
        for title, menu in self._menus.items():
            menu.clear()
            for section, entries in groupby(self._actions.entries(title), key=lambda entry: entry.section):
                menu.addSeparator()
                submenus: dict[str, QMenu] = {}
                for entry in entries:
                    place = menu
                    if entry.submenu:
                        place = submenus.get(entry.submenu) or _with_tips(menu.addMenu(entry.submenu))
                        submenus[entry.submenu] = place
                    place.addAction(self._actions[entry.name])
                if (title, section) == (_PANELS_MENU, 90):
                    menu.addMenu(self._panels)

    def _menu(self, title: str) -> QMenu:
        return self._menus.setdefault(title, _with_tips(self._bar.addMenu(title)))


def _with_tips(menu: QMenu) -> QMenu:
    menu.setToolTipsVisible(True)
    return menu
