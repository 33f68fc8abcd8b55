"""The keys of all commands as a table in which they can be changed; a key that is taken can be swapped."""

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QKeySequenceEdit,
    QLabel,
    QLineEdit,
    QPushButton,
    QTableWidget,
    QTableWidgetItem,
    QWidget,
)

from gui.page.actions import Actions
from gui.style.metrics import GRID
from gui.widgets.panel_parts import column, label_for, row

_PORTABLE = QKeySequence.SequenceFormat.PortableText
_NATIVE = QKeySequence.SequenceFormat.NativeText
# What text fields and tables do by themselves.
_FIELDS = {
    "Ctrl+C",
    "Ctrl+X",
    "Ctrl+A",
    "Ctrl+F",
    "Ctrl+Shift+V",
    "Tab",
    "Shift+Tab",
    "Return",
    "Enter",
    "Space",
}
_ALONE = {f"F{number}" for number in range(1, 25)} | {"Esc", "Pause", "Print", "Help"}


def refusal_of(keys: str) -> str:
    """Return why keys cannot be those of a command; empty if they can. Keys as `QKeySequence` writes them."""
    if "," in keys.replace("Ctrl+,", "").replace("Alt+,", "").replace("Meta+,", ""):
        return "Press one combination: a command has no sequences of several."
    if keys in _FIELDS:
        return f"{keys} has a meaning in text fields and tables. Choose another one."
    has_modifier = any(modifier in keys for modifier in ("Ctrl+", "Alt+", "Meta+"))
    if not has_modifier and keys.removeprefix("Shift+") not in _ALONE:
        return f"{keys} alone is typed into fields. Add Ctrl or Alt."
    return ""


class ShortcutTable(QWidget):
    """Every command with its keys; below, the keys of the selected one."""

    changed = Signal(object)  # the shortcuts that are not the commands' own, by the action's name

    def __init__(self, actions: Actions) -> None:
        super().__init__()
        self._actions = actions
        self._typed = ""
        self.filter = QLineEdit()
        self.filter.setPlaceholderText("Find a command or a key")
        self.filter.setAccessibleName("Find a command or a key")
        self.filter.setToolTip("Only commands with these letters in their name, menu or keys are listed.")
        self.filter.setClearButtonEnabled(True)
        self.filter.textChanged.connect(self._filter)
        self.table = QTableWidget(0, 3)
        self.table.setAccessibleName("Commands and their keys")
        self.table.setHorizontalHeaderLabels(["Command", "Menu", "Keys"])
        self.table.verticalHeader().hide()
        self.table.setShowGrid(False)
        self.table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.table.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.table.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.table.setTabKeyNavigation(False)
        header = self.table.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft)
        self.edit = QKeySequenceEdit()
        self.edit.setMaximumSequenceLength(1)
        self.edit.setAccessibleName("New keys of the selected command")
        self.edit.setToolTip("Press the keys that the selected command is to have.")
        self.edit.keySequenceChanged.connect(self._type)
        self.assign = _button("&Assign", "Give these keys to the selected command.", self._assign)
        self.swap = _button("S&wap", "The other command gets the keys that this one had.", self._swap)
        self.remove = _button("Re&move", "Leave the selected command without keys.", lambda: self._set(""))
        self.reset = _button("&Reset", "Give the selected command its own keys again.", self._reset)
        self.reset_all = _button("Reset a&ll", "Give every command its own keys again.", self._reset_all)
        self.said = QLabel()
        self.said.setWordWrap(True)
        self.said.setMinimumHeight(2 * self.fontMetrics().lineSpacing())
        self.said.setAlignment(Qt.AlignmentFlag.AlignTop)
        self.said.setAccessibleName("What is wrong with the new keys")
        buttons = row(self.assign, self.swap, self.remove, 1, self.reset, self.reset_all)
        keys = row(label_for("&New keys", self.edit), (self.edit, 1))
        self.setLayout(column(self.filter, (self.table, 1), keys, self.said, buttons))
        self.table.itemSelectionChanged.connect(self._show_selected)
        self._fill()
        self.table.selectRow(0)

    @property
    def selected(self) -> str:
        """The name of the command that is selected; empty for none."""
        at = self.table.currentRow()
        return self._actions.names()[at] if at >= 0 else ""

    def select(self, name: str) -> None:
        """Select a command."""
        if name in self._actions.names():
            self.table.selectRow(self._actions.names().index(name))

    def _fill(self) -> None:
        names = self._actions.names()
        self.table.setRowCount(len(names))
        for at, name in enumerate(names):
            for column_at, text in enumerate(self._texts(name)):
                item = QTableWidgetItem(text)
                item.setToolTip(self._actions.entry(name).tip)
                font = item.font()
                font.setBold(column_at == 2 and name in self._actions.own_keys)
                item.setFont(font)
                self.table.setItem(at, column_at, item)
        self._filter()

    def _filter(self) -> None:
        wanted = self.filter.text().casefold().split()
        for at, name in enumerate(self._actions.names()):
            words = " ".join(self._texts(name)).casefold()
            self.table.setRowHidden(at, not all(word in words for word in wanted))

    def _texts(self, name: str) -> tuple[str, str, str]:
        """Return what stands in a row: the command, its menu, its keys as the system writes them."""
        entry, keys = self._actions.entry(name), self._actions.keys_of(name).split()
        where = " > ".join(filter(None, (entry.menu, entry.submenu))).replace("&", "")
        written = ", ".join(QKeySequence(key).toString(_NATIVE) for key in keys)
        return _title(self._actions, name), where, written

    def _show_selected(self) -> None:
        with QSignalBlocker(self.edit):
            self.edit.clear()
        self._type(QKeySequence())

    def _type(self, keys: QKeySequence) -> None:
        """Say what is in the way of the new keys."""
        self._typed, name = keys.toString(_PORTABLE), self.selected
        refusal, other = refusal_of(self._typed) if self._typed else "", self._owner()
        if other == name and self._typed:
            refusal, other = "The command has these keys already.", ""
        self.assign.setEnabled(bool(name and self._typed and not refusal))
        self.swap.setEnabled(bool(name and other and not refusal))
        self.remove.setEnabled(bool(name and self._actions.keys_of(name)))
        self.reset.setEnabled(name in self._actions.own_keys)
        self.reset_all.setEnabled(bool(self._actions.own_keys))
        if other and not refusal:
            title = _title(self._actions, other)
            refusal = (
                f"{keys.toString(_NATIVE)} is the key of “{title}”. Assign takes it away, Swap exchanges."
            )
        self.said.setText(refusal)

    def _owner(self) -> str:
        """Return the command that has the typed keys; empty for none."""
        if not self._typed:
            return ""
        names = self._actions.names()
        return next((name for name in names if self._typed in self._actions.keys_of(name).split()), "")

    def _assign(self) -> None:
        self._set(self._typed)

    def _swap(self) -> None:
        self._set(self._typed, {self._owner(): self._actions.keys_of(self.selected)})

    def _set(self, keys: str, others: dict[str, str] | None = None) -> None:
        # What another command loses stays lost if this one gets other keys later.
        lost = {}
        for name in self._actions.names():
            its = self._actions.keys_of(name).split()
            if keys and name != self.selected and keys in its:
                lost[name] = " ".join(key for key in its if key != keys)
        self._take({**self._actions.own_keys, **lost, **(others or {}), self.selected: keys})

    def _reset(self) -> None:
        self._take({name: keys for name, keys in self._actions.own_keys.items() if name != self.selected})

    def _reset_all(self) -> None:
        self._take({})

    def _take(self, own: dict[str, str]) -> None:
        known = set(self._actions.names())
        # Those of pages that are not built yet stay.
        different = {name: keys for name, keys in own.items() if name not in known or keys != self._own(name)}
        name = self.selected
        self.changed.emit(different)
        self._fill()
        self.select(name)
        self._show_selected()

    def _own(self, name: str) -> str:
        return " ".join(self._actions.entry(name).keys.split())


def _title(actions: Actions, name: str) -> str:
    return actions.entry(name).text.replace("&", "").rstrip("…")


def _button(text: str, tip: str, act: object) -> QPushButton:
    button = QPushButton(text)
    button.setToolTip(tip)
    button.setAutoDefault(False)
    button.setMinimumWidth(9 * GRID)
    button.clicked.connect(lambda: act())  # type: ignore[operator]
    return button
