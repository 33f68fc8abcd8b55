"""The preferences as a dialog: what is changed shows at once and is kept."""

from collections.abc import Mapping
from typing import get_args

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import (
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

from gui.page.actions import Actions
from gui.shell.preferences import LETTERS, PreferencesController
from gui.style.metrics import GRID
from gui.style.theme import ThemeName
from gui.widgets.fields import NumberBox
from gui.widgets.panel_parts import close_box, column, dress_table, form, label_for, quiet_label, row

_MARGINS = (2 * GRID, 2 * GRID, 2 * GRID, 2 * GRID)
# Every widget is laid out anew: not for each digit that is typed.
_LETTERS_AFTER_MS = 60
# What text fields and tables do by themselves.
_FIELDS = (
    *("Ctrl+C", "Ctrl+X", "Ctrl+A", "Ctrl+F", "Ctrl+Shift+V"),
    *("Tab", "Shift+Tab", "Return", "Enter", "Space"),
)
_ALONE = {f"F{number}" for number in range(1, 25)} | {"Esc", "Pause", "Print", "Help"}


class PreferencesDialog(QDialog):
    """Two tabs: how the window looks, and the keys of its commands. Esc closes; nothing waits for an OK."""

    def __init__(self, controller: PreferencesController, actions: Actions, parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowTitle("Preferences")
        self.theme = QComboBox()
        self.theme.setAccessibleName("Theme")
        self.theme.setToolTip("Light, dark, or as the desktop is.")
        for name in get_args(ThemeName):
            self.theme.addItem(name.capitalize(), name)
        self.theme.setCurrentIndex(self.theme.findData(controller.preferences.theme))
        self.theme.activated.connect(lambda: controller.choose_theme(self.theme.currentData()))
        self.letters = NumberBox("Letter size", *LETTERS, f"a whole number from {LETTERS[0]} to {LETTERS[1]}")
        self.letters.setSuffix(" %")
        self.letters.setSingleStep(10)
        self.letters.setToolTip(f"Size of all letters, {LETTERS[0]} to {LETTERS[1]} % of the desktop's.")
        self.letters.setValue(controller.preferences.letters)
        self._letters_timer = QTimer(self, singleShot=True, interval=_LETTERS_AFTER_MS)
        self._letters_timer.timeout.connect(lambda: controller.choose_letters(self.letters.value()))
        self.letters.valueChanged.connect(self._letters_timer.start)
        self.refusal = quiet_label(wraps=True)
        self.letters.refused.connect(self.refusal.setText)
        look = QWidget()
        fields = form(GRID)
        fields.addRow("&Theme", self.theme)
        fields.addRow("&Letter size", self.letters)
        look.setLayout(column(fields, self.refusal, 1, margins=_MARGINS))
        self.keys = KeysTable(actions)
        self.keys.changed.connect(controller.choose_keys)
        self.tabs = QTabWidget()
        self.tabs.addTab(look, "&Appearance")
        self.tabs.addTab(self.keys, "&Keys")
        box = close_box(self)
        self.setLayout(column((self.tabs, 1), box, spacing=2 * GRID, margins=_MARGINS))
        # Enter takes what is typed, no more.
        for button in self.findChildren(QPushButton):
            button.setAutoDefault(False)
        self.resize(80 * GRID, 66 * GRID)


class KeysTable(QWidget):
    """Every command with its keys; those of the selected one are typed below. Another command loses them."""

    changed = Signal(object)  # the shortcuts that are not the commands' own, by the action's name

    def __init__(self, actions: Actions) -> None:
        super().__init__()
        self._actions, self._names = actions, actions.names()
        self.table = QTableWidget(len(self._names), 3)
        dress_table(self.table, "Commands and their keys")
        # Of several, a key that is held, as Shift is where Shift+F1 opens this, would select none.
        self.table.setSelectionMode(QTableWidget.SelectionMode.SingleSelection)
        self.table.setHorizontalHeaderLabels(["Command", "Menu", "Keys"])
        header = self.table.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft)
        self.edit = QKeySequenceEdit()
        self.edit.setMaximumSequenceLength(1)
        self.edit.setAccessibleName("Keys of the selected command")
        self.edit.setToolTip("Type the new keys of the selected command.")
        # Also said when it loses the focus.
        self.edit.editingFinished.connect(self._take_typed)
        self.note = quiet_label(wraps=True)
        self.note.setAccessibleName("What a new key changes")
        self.remove = QPushButton("Re&move")
        self.remove.setToolTip("Leave the selected command without keys.")
        self.remove.clicked.connect(lambda: self._choose(""))
        self.reset_all = QPushButton("Reset a&ll")
        self.reset_all.setToolTip("Give every command its own keys again.")
        self.reset_all.clicked.connect(lambda: self._take({}))
        self.table.itemSelectionChanged.connect(self._show_selected)
        below = row(label_for("&New keys", self.edit), (self.edit, 1), self.remove, self.reset_all)
        self.setLayout(column((self.table, 1), below, self.note, margins=_MARGINS))
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
        name = self._name
        self.note.setText(refusal_of(typed))
        if self.note.text():
            self._show_selected()
            return
        others = [other for other in self._names if other != name]
        had = [other for other in others if typed in self._actions.keys_of(other).split()]
        # The first in the list has a key that two have.
        own = self._actions.own_keys
        self._take({name: typed} | {other: its for other, its in own.items() if other != name})
        for other in had:
            title = self._actions.entry(other).title
            self.note.setText(f"{typed} was the key of “{title}”, which has lost it.")

    def _take(self, own: Mapping[str, str]) -> None:
        # Those of pages that are not built yet stay.
        self.changed.emit(
            {name: keys for name, keys in own.items()
             if name not in self._names or keys.split() != self._actions.entry(name).keys.split()}
        )  # fmt: skip
        self._fill()
        self._show_selected()

    def _fill(self) -> None:
        for at, name in enumerate(self._names):
            entry, form = self._actions.entry(name), QKeySequence.SequenceFormat.NativeText
            keys = QKeySequence.listToString(self._actions[name].shortcuts(), form)
            for column_at, text in enumerate((entry.title, entry.where, keys)):
                item = QTableWidgetItem(text)
                item.setToolTip(entry.tip)
                self.table.setItem(at, column_at, item)
        self.reset_all.setEnabled(bool(self._actions.own_keys))

    def _show_selected(self) -> None:
        keys = self._actions.keys_of(self._name).split()
        self.edit.setKeySequence(QKeySequence(keys[0] if keys else ""))


def refusal_of(keys: str) -> str:
    """Return why keys cannot be those of a command; empty if they can. Keys as `QKeySequence` writes them."""
    if keys in _FIELDS:
        return f"{keys} has a meaning in text fields and tables. Choose another one."
    has_modifier = any(modifier in keys for modifier in ("Ctrl+", "Alt+", "Meta+"))
    if keys and not has_modifier and keys.removeprefix("Shift+") not in _ALONE:
        return f"{keys} alone is typed into fields. Add Ctrl or Alt."
    return ""
