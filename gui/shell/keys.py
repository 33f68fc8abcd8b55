"""The keys of all commands in a table: a double click on a key, or F2, and the new ones are typed."""

from collections.abc import Mapping

from PySide6.QtCore import QAbstractItemModel, QModelIndex, QPersistentModelIndex, Qt, Signal
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import (
    QHeaderView,
    QKeySequenceEdit,
    QPushButton,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableWidget,
    QTableWidgetItem,
    QWidget,
)

from gui.page.actions import Actions
from gui.widgets.panel_parts import column, quiet_label, row

_Index = QModelIndex | QPersistentModelIndex
_NATIVE = QKeySequence.SequenceFormat.NativeText
_KEYS = 2  # the column
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
    if keys in _FIELDS:
        return f"{keys} has a meaning in text fields and tables. Choose another one."
    has_modifier = any(modifier in keys for modifier in ("Ctrl+", "Alt+", "Meta+"))
    if keys and not has_modifier and keys.removeprefix("Shift+") not in _ALONE:
        return f"{keys} alone is typed into fields. Add Ctrl or Alt."
    return ""


class KeysTable(QWidget):
    """Every command with its keys. A key that another command has is taken from it, which is said."""

    changed = Signal(object)  # the shortcuts that are not the commands' own, by the action's name

    def __init__(self, actions: Actions) -> None:
        super().__init__()
        self._actions = actions
        self.table = QTableWidget(len(actions.names()), 3)
        self.table.setAccessibleName("Commands and their keys")
        self.table.setHorizontalHeaderLabels(["Command", "Menu", "Keys"])
        self.table.verticalHeader().hide()
        self.table.setShowGrid(False)
        self.table.setSelectionBehavior(QTableWidget.SelectionBehavior.SelectRows)
        self.table.setTabKeyNavigation(False)
        self.table.setItemDelegateForColumn(_KEYS, _KeysDelegate(self))
        header = self.table.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft)
        self.note = quiet_label(wraps=True)
        self.note.setAccessibleName("What a new key changes")
        self.remove = QPushButton("Re&move")
        self.remove.setToolTip("Leave the selected command without keys.")
        self.remove.clicked.connect(lambda: self.choose_at(self.table.currentRow(), ""))
        self.reset_all = QPushButton("Reset a&ll")
        self.reset_all.setToolTip("Give every command its own keys again.")
        self.reset_all.clicked.connect(lambda: self._take({}))
        hint = quiet_label("Double-click a key, or press F2, to type new ones.", wraps=True)
        self.setLayout(column(hint, (self.table, 1), self.note, row(self.remove, 1, self.reset_all)))
        self._fill()
        self.table.selectRow(0)

    def choose_at(self, at: int, keys: str) -> None:
        """Give the command in a row these keys, or none, unless they would be in the way of typing."""
        name = self._actions.names()[at]
        self.note.setText(refusal_of(keys))
        if self.note.text():
            return
        own = {**self._actions.own_keys, name: keys}
        for other in self._actions.names():
            its = self._actions.keys_of(other).split()
            if other != name and keys in its:
                own[other] = " ".join(key for key in its if key != keys)
                self.note.setText(
                    f"{keys} was the key of “{_title(self._actions, other)}”, which has lost it."
                )
        self._take(own)

    def _take(self, own: Mapping[str, str]) -> None:
        known = set(self._actions.names())
        # Those of pages that are not built yet stay.
        self.changed.emit(
            {name: keys for name, keys in own.items()
             if name not in known or keys.split() != self._actions.entry(name).keys.split()}
        )  # fmt: skip
        self._fill()

    def _fill(self) -> None:
        for at, name in enumerate(self._actions.names()):
            entry, keys = self._actions.entry(name), self._actions.keys_of(name).split()
            where = " > ".join(filter(None, (entry.menu, entry.submenu))).replace("&", "")
            written = ", ".join(QKeySequence(key).toString(_NATIVE) for key in keys)
            for column_at, text in enumerate((_title(self._actions, name), where, written)):
                item = QTableWidgetItem(text)
                item.setToolTip(entry.tip)
                if column_at != _KEYS:
                    item.setFlags(item.flags() & ~Qt.ItemFlag.ItemIsEditable)
                font = item.font()
                font.setBold(column_at == _KEYS and name in self._actions.own_keys)
                item.setFont(font)
                self.table.setItem(at, column_at, item)
        self.reset_all.setEnabled(bool(self._actions.own_keys))


class _KeysDelegate(QStyledItemDelegate):
    """Takes one combination of keys in the cell."""

    def __init__(self, keys: KeysTable) -> None:
        super().__init__(keys)
        self._keys = keys

    def createEditor(self, parent: QWidget, option: QStyleOptionViewItem, index: _Index) -> QWidget:
        edit = QKeySequenceEdit(parent)
        edit.setMaximumSequenceLength(1)
        edit.setAccessibleName("New keys")
        # Complete with the first combination; it says so again when it loses the focus.
        once = Qt.ConnectionType.SingleShotConnection
        edit.editingFinished.connect(lambda: self._choose(edit, index.row()), once)
        return edit

    def setEditorData(self, editor: QWidget, index: _Index) -> None:
        """Begin empty: what is typed replaces the keys."""

    def setModelData(self, editor: QWidget, model: QAbstractItemModel, index: _Index) -> None:
        """Leave the text to `choose`."""

    def _choose(self, edit: QKeySequenceEdit, at: int) -> None:
        self.closeEditor.emit(edit)
        if keys := edit.keySequence().toString(QKeySequence.SequenceFormat.PortableText):
            self._keys.choose_at(at, keys)


def _title(actions: Actions, name: str) -> str:
    return actions.entry(name).text.replace("&", "").rstrip("…")
