"""The menu Open recent, and Reopen last."""

import os
from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QMenu

from gui.page.messages import Message, Messages, Severity
from gui.page.recent import KINDS, RecentFiles

_SOURCE = "recent"
_LONGEST = 60


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
            self._messages.show(Message(_SOURCE, Severity.INFO, what, why, "Open one with Ctrl+O."))

    def open(self, path: str) -> None:
        """Open one of the files."""
        if os.path.exists(path):
            self._messages.clear(_SOURCE)
            self._open_file(path)
            return
        self._recent.forget(path)
        what, why = f"{os.path.basename(path)} is gone", f"there is no {path} any more"
        self._messages.show(Message(_SOURCE, Severity.WARNING, what, why, "It was taken off the list."))

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
