"""The preferences: theme, window, layout and columns of each page, kept as JSON of our own (no QSettings).

What cannot be read in a file is left out, and the file is kept beside as .bak; nothing in it can stop the
program.
"""

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, cast, get_args, get_type_hints

import platformdirs
from msgspec import Meta
from PySide6.QtCore import QObject
from PySide6.QtWidgets import QApplication

from engine.errors import EngineError
from engine.files.atomic_write import atomic_write
from engine.files.reading import read_json
from engine.files.standard_streams import note_error
from gui.page.actions import Actions
from gui.page.contract import PageLayout, Pixels
from gui.page.files import Recent
from gui.page.messages import Message, Messages, Severity
from gui.style.metrics import set_letter_size
from gui.style.theme import ThemeName, apply_theme
from gui.typed_json import Reading, in_short

SOURCE = "preferences"
VERSION = 1
LARGEST_BYTES = 1 << 20
LETTERS = 80, 200
"""The smallest and the largest size of the letters, per cent."""


# As ssh calls a server, which an option is not.
_Server = Annotated[str, Meta(pattern=r"^\s*[^-\s]")]


@dataclass(frozen=True, slots=True)
class Preferences:
    """What is kept from one start to the next."""

    theme: ThemeName = "system"
    # Left, top, width and height of the window without its frame, when it is not maximised; empty for the
    # default.
    window: tuple[Pixels, Pixels, Pixels, Pixels] | tuple[()] = ()
    is_maximized: bool = False
    arranged: dict[str, PageLayout] = field(default_factory=dict)  # by page key
    last_folder: str = ""  # where the file dialogs begin
    # Whether the person shows a column of a page's table: by page key, then by the column's key.
    columns: dict[str, dict[str, bool]] = field(default_factory=dict)
    recorded: bool = False  # whether recorded figures of a GPU are shown
    recent: tuple[Recent, ...] = ()  # the files that were opened last, newest first
    servers: tuple[tuple[_Server, str], ...] = ()  # those that are known: as ssh calls them, and their Python
    letters: Annotated[int, Meta(ge=LETTERS[0], le=LETTERS[1])] = 100  # their size, per cent of the desktop's
    shortcuts: dict[str, str] = field(default_factory=dict)  # those that the person chose, by the action


def default_path() -> Path:
    """Return where the preferences are kept on this system."""
    return Path(platformdirs.user_config_dir("haloscope", appauthor=False)) / "preferences.json"


def load_preferences(path: Path) -> tuple[Preferences, str]:
    """Return the preferences, and a notice for the person (empty if there is nothing to say)."""
    if not os.path.exists(path):
        return Preferences(), ""
    try:
        document = read_json(path, LARGEST_BYTES)
        if document.get("version") != VERSION:
            raise EngineError(str(path), f"its version is {document.get('version')!r} and not {VERSION}", "")
        preferences, faults = _converted(document)
    except EngineError as error:
        preferences, faults = Preferences(), (f"{error.why}.",)
    if not faults:
        return preferences, ""
    kept = path.with_suffix(".json.bak")
    with suppress(OSError):
        os.replace(path, kept)
    why = "The preferences could not be read" if preferences == Preferences() else "Some could not be read"
    return preferences, f"{why}. {in_short(faults)} Defaults are used; the old file is kept as {kept}."


def _converted(document: dict[str, Any]) -> tuple[Preferences, tuple[str, ...]]:
    """Return what is right in a document, and what is wrong with the rest."""
    kinds = get_type_hints(Preferences, include_extras=True)
    # msgspec takes no union of two tuples.
    kinds["window"] = get_args(kinds["window"])[0]
    # Names of another version are none of ours.
    known = {name: value for name, value in document.items() if name in kinds}
    if known.get("window") == []:
        del known["window"]
    reading = Reading()
    return Preferences(**reading.fields(known, kinds)), reading.notes


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
        self._path = path
        self._actions = actions
        self.preferences, notice = load_preferences(path) if path else (Preferences(), "")
        if notice:
            messages.everywhere.show(
                Message(SOURCE, Severity.WARNING, "The layout is the default one", notice)
            )
        actions.use_keys(self.preferences.shortcuts)
        set_letter_size(app, self.preferences.letters)
        self.show_theme(theme or self.preferences.theme)

    def show_theme(self, name: str) -> None:
        """Show a theme, this time only."""
        apply_theme(self._app, cast(ThemeName, name))

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

    def choose_theme(self, name: ThemeName) -> None:
        """Show a theme, from now on."""
        self.preferences = replace(self.preferences, theme=name)
        self.show_theme(name)

    def choose_letters(self, percent: int) -> None:
        """Show all letters at so many per cent, from now on."""
        self.preferences = replace(self.preferences, letters=percent)
        set_letter_size(self._app, percent)

    def choose_keys(self, shortcuts: Mapping[str, str]) -> None:
        """Take these shortcuts in place of the actions' own, from now on."""
        self.preferences = replace(self.preferences, shortcuts=dict(shortcuts))
        self._actions.use_keys(shortcuts)
