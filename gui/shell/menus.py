"""The menu bar, built from the actions' menus and sections, and its menu Open recent."""

import os
from collections.abc import Callable, Mapping
from functools import partial

from PySide6.QtCore import QObject
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QMenuBar

from gui.page.actions import Actions
from gui.page.files import KINDS, RecentFiles
from gui.page.messages import Message, Messages, Severity

_RECENT = "recent"
_LONGEST = 60
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


class RecentMenu(QObject):
    """Lists the files when it is opened; one that is gone is said, and leaves the list."""

    def __init__(
        self,
        recent: RecentFiles,
        messages: Messages,
        open_file: Callable[[str], object],
        shown: Callable[[], str],
    ) -> None:
        super().__init__()
        self._recent, self._messages, self._open_file, self._shown = recent, messages, open_file, shown
        self.menu = QMenu("Open &recent")
        self.menu.setToolTipsVisible(True)
        self.menu.aboutToShow.connect(self._fill)
        recent.changed.connect(self._enable)
        self._enable()

    def open_last(self) -> None:
        """Open the newest file that is not the picture that is shown."""
        paths = [one.path for one in self._recent.all() if one.path != self._shown()]
        if paths:
            self.open(paths[0])
        else:
            what, why = "There is nothing to reopen", "no other file was opened yet"
            self._messages.show(Message(_RECENT, Severity.INFO, what, why, "Open one with Ctrl+O."))

    def open(self, path: str) -> None:
        """Open one of the files."""
        if os.path.exists(path):
            self._messages.clear(_RECENT)
            self._open_file(path)
            return
        self._recent.forget(path)
        what, why = f"{os.path.basename(path)} is gone", f"there is no {path} any more"
        self._messages.show(Message(_RECENT, Severity.WARNING, what, why, "It was taken off the list."))

    def _enable(self) -> None:
        self.menu.menuAction().setEnabled(bool(self._recent.all()))

    def _fill(self) -> None:
        self.menu.clear()
        for kind in KINDS:
            paths = self._recent.of(kind)
            if paths:
                self.menu.addSection(f"{kind.capitalize()}s")
            for path in paths:
                folder = os.path.dirname(path)
                near = folder if len(folder) <= _LONGEST else f"…{folder[-_LONGEST:]}"
                # An ampersand would underline the next letter.
                name = f"{os.path.basename(path)}    {near}".replace("&", "&&")
                action = self.menu.addAction(name, partial(self.open, path))
                action.setToolTip(path)
        self.menu.addSeparator()
        self.menu.addAction("&Forget these", self._recent.forget).setToolTip("Empty this list.")
