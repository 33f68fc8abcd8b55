"""The preferences: theme, window, layout and columns of each page, kept as JSON of our own (no QSettings).

A file that cannot be read is kept beside as .bak and the defaults are used; nothing in it can stop the
program.
"""

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import platformdirs
from PySide6.QtCore import QObject
from PySide6.QtWidgets import QApplication

from engine.errors import EngineError
from engine.files.atomic_write import atomic_write
from engine.files.reading import read_json
from gui.page.actions import Actions
from gui.page.messages import Message, Messages, Severity
from gui.page.recent import KINDS, Recent
from gui.shell.command_line import THEMES
from gui.shell.crash_log import note_error
from gui.shell.shell_actions import theme_entries
from gui.style.letters import set_letter_size
from gui.style.theme import ThemeName, apply_theme

SOURCE = "preferences"
VERSION = 1
LARGEST_BYTES = 1 << 20
MOST_RECENT = 8
LETTERS = 80, 200
"""The smallest and the largest size of the letters, per cent."""


@dataclass(frozen=True, slots=True)
class Preferences:
    """What is kept from one start to the next."""

    theme: str = "system"  # or "light", "dark"
    # Left, top, width and height of the window without its frame, when it is not maximised; empty for the
    # default.
    window: tuple[int, ...] = ()
    is_maximized: bool = False
    layouts: dict[str, str] = field(default_factory=dict)  # those of the docks, by page key
    last_folder: str = ""  # where the file dialogs begin
    # Whether the person shows a column of a page's table: by page key, then by the column's key.
    columns: dict[str, dict[str, bool]] = field(default_factory=dict)
    recorded: bool = False  # whether recorded figures of a GPU are shown
    recent: tuple[Recent, ...] = ()  # the files that were opened last, newest first
    servers: tuple[tuple[str, str], ...] = ()  # those that are known: as ssh calls them, and their Python
    letters: int = 100  # size of the letters, per cent of the desktop's
    shortcuts: dict[str, str] = field(default_factory=dict)  # those that the person chose, by the action
    recent_commands: tuple[str, ...] = ()  # keys of the commands that the palette shows first


def default_path() -> Path:
    """Return where the preferences are kept on this system."""
    return Path(platformdirs.user_config_dir("haloscope", appauthor=False)) / "preferences.json"


def load_preferences(path: Path) -> tuple[Preferences, str]:
    """Return the preferences, and a notice for the person (empty if there is nothing to say)."""
    if not os.path.exists(path):
        return Preferences(), ""
    try:
        return _checked(read_json(path, LARGEST_BYTES)), ""
    except EngineError as error:
        kept = path.with_suffix(".json.bak")
        with suppress(OSError):
            os.replace(path, kept)
        return Preferences(), f"{error.why}. The defaults are used; the old file is kept as {kept}."


def save_preferences(path: Path, preferences: Preferences) -> None:
    """Write the preferences; the folder is made if need be.

    Raises
    ------
    FileWriteError
        The file cannot be written there.
    """
    with suppress(OSError):  # atomic_write says what is wrong with the folder
        path.parent.mkdir(parents=True, exist_ok=True)
    document = {"version": VERSION, **asdict(preferences)}
    atomic_write(path, (json.dumps(document, indent=2, allow_nan=False) + "\n").encode())


def _checked(document: dict[str, Any]) -> Preferences:
    if document.get("version") != VERSION:
        raise _bad(f"its version is {document.get('version')!r} and not {VERSION}")
    theme = document.get("theme", "system")
    if theme not in THEMES:
        raise _bad(f"its theme is {theme!r} and not one of {', '.join(THEMES)}")
    layouts = document.get("layouts", {})
    if not isinstance(layouts, dict):
        raise _bad("its layouts are not a table")
    for text in layouts.values():
        _check_hexadecimal(text)
    window, is_maximized = document.get("window", []), document.get("is_maximized", False)
    if not isinstance(window, list) or len(window) not in (0, 4) or not all(map(_is_pixels, window)):
        raise _bad("the place of its window is not four whole numbers")
    if not isinstance(is_maximized, bool):
        raise _bad("whether its window is maximised is not true or false")
    folder = document.get("last_folder", "")
    if not isinstance(folder, str):
        raise _bad("its folder is not a text")
    columns = document.get("columns", {})
    tables = columns.values() if isinstance(columns, dict) else [None]
    for chosen in tables:
        if not isinstance(chosen, dict) or not all(isinstance(shown, bool) for shown in chosen.values()):
            raise _bad("its columns are not a table of true and false")
    recorded = document.get("recorded", False)
    if not isinstance(recorded, bool):
        raise _bad("whether recorded figures are shown is not true or false")
    servers = document.get("servers", [])
    if not isinstance(servers, list) or not all(map(_is_server, servers)):
        raise _bad("its servers are not pairs of texts")
    recent = document.get("recent", [])
    if not isinstance(recent, list) or not all(map(_is_recent, recent)):
        raise _bad("its recent files are not pairs of a kind and a path")
    letters = document.get("letters", 100)
    if type(letters) is not int or not LETTERS[0] <= letters <= LETTERS[1]:
        raise _bad(f"the size of its letters is not a whole number from {LETTERS[0]} to {LETTERS[1]}")
    shortcuts, commands = document.get("shortcuts", {}), document.get("recent_commands", [])
    if not isinstance(shortcuts, dict) or not all(isinstance(keys, str) for keys in shortcuts.values()):
        raise _bad("its shortcuts are not a table of texts")
    if not isinstance(commands, list) or not all(isinstance(key, str) for key in commands):
        raise _bad("its recent commands are not texts")
    return Preferences(
        theme,
        tuple(window),
        is_maximized,
        layouts,
        folder,
        columns,
        recorded,
        recent=tuple(Recent(*pair) for pair in recent),
        servers=tuple((name, python) for name, python in servers),
        letters=letters,
        shortcuts=shortcuts,
        recent_commands=tuple(commands),
    )


def _is_recent(pair: object) -> bool:
    is_pair = isinstance(pair, list) and len(pair) == 2 and pair[0] in KINDS
    return is_pair and isinstance(pair[1], str) and bool(pair[1]) and "\0" not in pair[1]  # type: ignore[index]


def _is_server(pair: object) -> bool:
    is_pair = isinstance(pair, list) and len(pair) == 2 and all(isinstance(word, str) for word in pair)
    return is_pair and bool(pair[0].strip()) and not pair[0].startswith("-")  # type: ignore[index]


def _is_pixels(number: object) -> bool:
    # No screen is as large; Qt takes 32 bits.
    return isinstance(number, int) and not isinstance(number, bool) and abs(number) < 1 << 20


def _check_hexadecimal(text: object) -> None:
    try:
        bytes.fromhex(text if isinstance(text, str) else "?")
    except ValueError:
        raise _bad("a layout in it is damaged") from None


def _bad(why: str) -> EngineError:
    return EngineError("The preferences cannot be used", f"The preferences could not be read: {why}", "")


class PreferencesController(QObject):
    """Theme and layout from one session to the next.

    Without a path nothing is read and nothing kept (tests, screenshots, measurements). A theme that is given
    overrides the kept one, this time only.
    """

    def __init__(
        self, app: QApplication, actions: Actions, messages: Messages, path: Path | None, theme: str = ""
    ) -> None:
        super().__init__(actions)
        self._app = app
        self.themes = actions.add_choice(theme_entries())
        self._path = path
        self.is_first_start = path is not None and not path.exists()
        self._actions = actions
        self.preferences, notice = load_preferences(path) if path else (Preferences(), "")
        if notice:
            messages.everywhere.show(
                Message(SOURCE, Severity.WARNING, "The layout is the default one", notice)
            )
        actions.use_keys(self.preferences.shortcuts)
        set_letter_size(app, self.preferences.letters)
        self.show_theme(theme or self.preferences.theme)
        self.themes.triggered.connect(lambda action: self._choose_theme(action.data()))

    def show_theme(self, name: str) -> None:
        """Show a theme, this time only."""
        apply_theme(self._app, cast(ThemeName, name))
        for action in self.themes.actions():
            action.setChecked(action.data() == name)

    def keep(self, preferences: Preferences) -> None:
        """Write the preferences as they are now."""
        self.preferences = preferences
        if self._path is None:
            return
        try:
            save_preferences(self._path, self.preferences)
        except EngineError as error:
            # The window is closing: a message would not be seen.
            note_error(error)

    def choose_letters(self, percent: int) -> None:
        """Show all letters at so many per cent, from now on."""
        self.preferences = replace(self.preferences, letters=percent)
        set_letter_size(self._app, percent)

    def choose_keys(self, shortcuts: Mapping[str, str]) -> None:
        """Take these shortcuts in place of the actions' own, from now on."""
        self.preferences = replace(self.preferences, shortcuts=dict(shortcuts))
        self._actions.use_keys(shortcuts)

    def note_command(self, key: str) -> None:
        """Keep a command as the most recent one."""
        others = (known for known in self.preferences.recent_commands if known != key)
        self.preferences = replace(self.preferences, recent_commands=(key, *others)[:MOST_RECENT])

    def _choose_theme(self, name: ThemeName) -> None:
        self.preferences = replace(self.preferences, theme=name)
        apply_theme(self._app, name)
