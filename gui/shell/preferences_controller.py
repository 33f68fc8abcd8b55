"""Applies the preferences at the start, and saves them when the window closes."""

from dataclasses import replace
from pathlib import Path
from typing import cast

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QApplication

from engine.errors import EngineError
from gui.page.actions import Actions
from gui.page.messages import Message, Messages, Severity
from gui.shell.crash_log import note_error
from gui.shell.preferences import Preferences, load_preferences, save_preferences
from gui.shell.shell_actions import theme_entries
from gui.style.theme import ThemeName, apply_theme

SOURCE = "preferences"


class PreferencesController(QObject):
    """Theme and layout from one session to the next.

    Parameters
    ----------
    path : Path, optional
        None: nothing is read and nothing kept (tests, screenshots, measurements).
    theme : str
        Overrides the kept one, this time only; empty for none.
    """

    def __init__(
        self,
        app: QApplication,
        actions: Actions,
        messages: Messages,
        path: Path | None,
        theme: str = "",
    ) -> None:
        super().__init__(actions)
        self._app = app
        self.themes = actions.add_choice(theme_entries())
        self._path = path
        self.preferences, notice = load_preferences(path) if path else (Preferences(), "")
        if notice:
            messages.everywhere.show(
                Message(SOURCE, Severity.WARNING, "The layout is the default one", notice)
            )
        shown = theme or self.preferences.theme
        apply_theme(app, cast(ThemeName, shown))
        for action in self.themes.actions():
            action.setChecked(action.data() == shown)
        self.themes.triggered.connect(lambda action: self._choose_theme(action.data()))

    def keep(self, **fields: object) -> None:
        """Write the preferences with other values."""
        self.preferences = replace(self.preferences, **fields)  # type: ignore[arg-type]
        if self._path is None:
            return
        try:
            save_preferences(self._path, self.preferences)
        except EngineError as error:
            # The window is closing: there is nobody to tell.
            note_error(error)

    def _choose_theme(self, name: ThemeName) -> None:
        self.preferences = replace(self.preferences, theme=name)
        apply_theme(self._app, name)
