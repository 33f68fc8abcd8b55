"""The preferences: theme, letters, keys, window, layout and columns, kept as JSON of our own; their dialog.

What cannot be read in a file is left out, and the file is kept beside as .bak; nothing in it can stop the
program. What is changed in the dialog shows at once and is kept.
"""

import json
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, cast, get_args, get_type_hints

import platformdirs
from msgspec import Meta
from PySide6.QtCore import QObject, Qt, QTimer, Signal
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import (
    QApplication,
    QComboBox,
    QDialog,
    QHeaderView,
    QKeySequenceEdit,
    QPushButton,
    QTableWidget,
    QTableWidgetItem,
    QTabWidget,
    QWidget,
)

from engine.errors import EngineError
from engine.files.atomic_write import atomic_write
from engine.files.reading import read_json
from engine.files.standard_streams import note_error
from gui.page.actions import Actions
from gui.page.contract import PageLayout, Place
from gui.page.files import Recent
from gui.page.messages import Messages
from gui.style.metrics import GRID, set_letter_size
from gui.style.theme import ThemeName, apply_theme
from gui.typed_json import Reading, in_short
from gui.widgets.fields import NumberBox
from gui.widgets.number_table import dress_table
from gui.widgets.panel_parts import boxed, close_box, column, form, label_for, named, quiet_label, row

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
    window: Place | tuple[()] = ()  # without its frame, when it is not maximised; empty for the default
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
    kinds, reading = get_type_hints(Preferences, include_extras=True), Reading()
    # msgspec takes no union of two tuples.
    kinds["window"] = get_args(kinds["window"])[0]
    try:
        document = read_json(path, LARGEST_BYTES)
        if document.get("version") != VERSION:
            raise EngineError(str(path), f"its version is {document.get('version')!r} and not {VERSION}", "")
        # Names of another version are none of ours.
        known = {name: value for name, value in document.items() if name in kinds}
        if known.get("window") == []:
            del known["window"]
        preferences, faults = Preferences(**reading.fields(known, kinds)), reading.notes
    except EngineError as error:
        preferences, faults = Preferences(), (f"{error.why}.",)
    if not faults:
        return preferences, ""
    kept = path.with_suffix(".json.bak")
    with suppress(OSError):
        os.replace(path, kept)
    why = "The preferences could not be read" if preferences == Preferences() else "Some could not be read"
    return preferences, f"{why}. {in_short(faults)} Defaults are used; the old file is kept as {kept}."


def save_preferences(path: Path, preferences: Preferences) -> None:
    """Write the preferences; the folder is made if need be. Raises FileWriteError."""
    with suppress(OSError):  # atomic_write says what is wrong with the folder
        path.parent.mkdir(parents=True, exist_ok=True)
    document = {"version": VERSION, **asdict(preferences)}
    atomic_write(path, (json.dumps(document, indent=2, allow_nan=False) + "\n").encode())


class PreferencesController(QObject):
    """Theme and layout from one session to the next; a theme that is given is shown this time only.

    Without a path nothing is read and nothing kept (tests, screenshots, measurements).
    """

    def __init__(
        self, app: QApplication, actions: Actions, messages: Messages, path: Path | None, theme: str = ""
    ) -> None:
        super().__init__(actions)
        self._app, self._actions, self._path = app, actions, path
        self.preferences, notice = load_preferences(path) if path else (Preferences(), "")
        if notice:
            messages.everywhere.warn(SOURCE, "The layout is the default one", notice)
        actions.use_keys(self.preferences.shortcuts)
        set_letter_size(app, self.preferences.letters)
        self.show_theme(theme or self.preferences.theme)

    def show_theme(self, name: str) -> None:
        """Show a theme, this time only."""
        apply_theme(self._app, cast("ThemeName", name))

    def keep(self, preferences: Preferences) -> None:
        self.preferences = preferences
        if self._path is None:
            return
        try:
            save_preferences(self._path, self.preferences)
        except EngineError as error:
            # The window is closing: a message would not be seen.
            note_error(error)

    def choose(self, **fields: Any) -> None:
        """Show and keep another theme, other letters or shortcuts: these fields of the preferences."""
        self.preferences = replace(self.preferences, **fields)
        show: dict[str, Callable[[Any], None]] = {
            "theme": self.show_theme,
            "letters": partial(set_letter_size, self._app),
            "shortcuts": self._actions.use_keys,
        }
        for name, value in fields.items():
            show[name](value)


# Every widget is laid out anew: not for each digit that is typed.
_LETTERS_AFTER_MS = 60
# What text fields and tables do by themselves.
_FIELDS = "Ctrl+C Ctrl+X Ctrl+A Ctrl+F Ctrl+Shift+V Tab Shift+Tab Return Enter Space"
_ALONE = {f"F{number}" for number in range(1, 25)} | {"Esc", "Pause", "Print", "Help"}


class PreferencesDialog(QDialog):
    """Two tabs: how the window looks, and the keys of its commands. Esc closes; nothing waits for an OK."""

    def __init__(self, controller: PreferencesController, actions: Actions, parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowTitle("Preferences")
        self.theme = named(QComboBox(), "Theme", "Light, dark, or as the desktop is.")
        for name in get_args(ThemeName):
            self.theme.addItem(name.capitalize(), name)
        self.theme.setCurrentIndex(self.theme.findData(controller.preferences.theme))
        self.theme.activated.connect(lambda: controller.choose(theme=self.theme.currentData()))
        self.letters = NumberBox("Letter size", *LETTERS, f"a whole number from {LETTERS[0]} to {LETTERS[1]}")
        self.letters.setSuffix(" %")
        self.letters.setSingleStep(10)
        self.letters.setToolTip(f"Size of all letters, {LETTERS[0]} to {LETTERS[1]} % of the desktop's.")
        self.letters.setValue(controller.preferences.letters)
        self._letters_timer = QTimer(self, singleShot=True, interval=_LETTERS_AFTER_MS)
        self._letters_timer.timeout.connect(lambda: controller.choose(letters=self.letters.value()))
        self.letters.valueChanged.connect(self._letters_timer.start)
        self.refusal = quiet_label(wraps=True)
        self.letters.refused.connect(self.refusal.setText)
        fields = form(GRID)
        fields.addRow("&Theme", self.theme)
        fields.addRow("&Letter size", self.letters)
        self.keys = KeysTable(actions)
        self.keys.changed.connect(lambda shortcuts: controller.choose(shortcuts=shortcuts))
        self.tabs = QTabWidget()
        self.tabs.addTab(boxed(column(fields, self.refusal, 1, margins=2 * GRID)), "&Appearance")
        self.tabs.addTab(self.keys, "&Keys")
        box = close_box(self)
        self.setLayout(column((self.tabs, 1), box, spacing=2 * GRID, margins=2 * GRID))
        # Enter takes what is typed, no more.
        for button in self.findChildren(QPushButton):
            button.setAutoDefault(False)
        self.resize(80 * GRID, 66 * GRID)


class KeysTable(QWidget):
    """Every command with its keys; those of the selected one are typed below. Another command loses them."""

    changed = Signal(object)  # the shortcuts that are not the commands' own, by the action's name

    def __init__(self, actions: Actions) -> None:
        super().__init__()
        self._actions, self._names = actions, list(actions.entries)
        self.table = QTableWidget(len(self._names), 3)
        dress_table(self.table, "Commands and their keys")
        # Of several, a key that is held, as Shift is where Shift+F1 opens this, would select none.
        self.table.setSelectionMode(QTableWidget.SelectionMode.SingleSelection)
        self.table.setHorizontalHeaderLabels(["Command", "Menu", "Keys"])
        header = self.table.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft)
        tip = "Type the new keys of the selected command."
        self.edit = named(QKeySequenceEdit(maximumSequenceLength=1), "Keys of the selected command", tip)
        # Also shown when it loses the focus.
        self.edit.editingFinished.connect(self._take_typed)
        self.note = named(quiet_label(wraps=True), "What a new key changes")
        self.remove = QPushButton("Re&move")
        self.remove.setToolTip("Leave the selected command without keys.")
        self.remove.clicked.connect(lambda: self._choose(""))
        self.reset_all = QPushButton("Reset a&ll")
        self.reset_all.setToolTip("Give every command its own keys again.")
        self.reset_all.clicked.connect(lambda: self._take({}))
        self.table.itemSelectionChanged.connect(self._show_selected)
        below = row(label_for("&New keys", self.edit), (self.edit, 1), self.remove, self.reset_all)
        self.setLayout(column((self.table, 1), below, self.note, margins=2 * GRID))
        self._fill()
        self.table.selectRow(0)

    @property
    def _name(self) -> str:
        return self._names[max(0, self.table.currentRow())]

    def _take_typed(self) -> None:
        typed = self.edit.keySequence().toString(QKeySequence.SequenceFormat.PortableText)
        if typed and typed not in self._actions.keys_of(self._name).split():
            self._choose(typed)

    def _choose(self, typed: str) -> None:
        """Give the selected command these keys, or none, unless they would be in the way of typing."""
        name, actions = self._name, self._actions
        words = refusal_of(typed)
        if not words:
            had = [one for one in self._names if one != name and typed in actions.keys_of(one).split()]
            # The first in the list has a key that two have.
            self._take({name: typed} | {one: its for one, its in actions.own_keys.items() if one != name})
            titles = (actions.entries[one].title for one in had)
            words = next((f"{typed} was the key of “{title}”, which has lost it." for title in titles), "")
        self.note.setText(words)
        self._show_selected()

    def _take(self, own: Mapping[str, str]) -> None:
        # Those of pages that are not built yet stay.
        self.changed.emit(
            {name: keys for name, keys in own.items()
             if name not in self._names or keys.split() != self._actions.entries[name].keys.split()}
        )  # fmt: skip
        self._fill()

    def _fill(self) -> None:
        form = QKeySequence.SequenceFormat.NativeText
        for at, name in enumerate(self._names):
            entry, keys = self._actions.entries[name], self._actions[name].shortcuts()
            for place, text in enumerate((entry.title, entry.where, QKeySequence.listToString(keys, form))):
                item = QTableWidgetItem(text)
                item.setToolTip(entry.tip)
                self.table.setItem(at, place, item)
        self.reset_all.setEnabled(bool(self._actions.own_keys))
        self._show_selected()

    def _show_selected(self) -> None:
        keys = self._actions.keys_of(self._name).split()
        self.edit.setKeySequence(QKeySequence(keys[0] if keys else ""))


def refusal_of(keys: str) -> str:
    """Return why keys cannot be those of a command; empty if they can. Keys as `QKeySequence` writes them."""
    if keys in _FIELDS.split():
        return f"{keys} has a meaning in text fields and tables. Choose another one."
    has_modifier = any(modifier in keys for modifier in ("Ctrl+", "Alt+", "Meta+"))
    if keys and not has_modifier and keys.removeprefix("Shift+") not in _ALONE:
        return f"{keys} alone is typed into fields. Add Ctrl or Alt."
    return ""
