"""The actions of the window, by name. Shell and pages bring their own; menus and bars are made of them."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QAction, QActionGroup, QKeySequence, QUndoGroup

from gui.style.icons import icon


@dataclass(frozen=True, slots=True)
class Entry:
    """The description of an action."""

    name: str  # its key in `Actions`
    text: str
    tip: str  # the tooltip that teaches it
    keys: str = ""  # its shortcuts, separated by blanks
    icon: str = ""
    menu: str = ""  # title of the menu that it is in; empty for none
    section: int = 0  # sections of a menu are in this order, with lines between them
    submenu: str = ""  # title of the menu inside that menu; empty for none
    data: str = ""  # the value of a choice

    @property
    def title(self) -> str:
        """Its text as it is read."""
        return plain(self.text)

    @property
    def where(self) -> str:
        """Its menu, and the menu inside that one."""
        return " > ".join(filter(None, (plain(self.menu), plain(self.submenu))))


def plain(text: str) -> str:
    """Return the text of an action as it is read: without marks for keys and dialogs."""
    return text.replace("&", "").rstrip("…")


class Actions(QObject):
    """The actions by name: `actions["run"]`."""

    added = Signal()  # there are more actions

    def __init__(self) -> None:
        super().__init__()
        self._actions: dict[str, QAction] = {}
        self.entries: dict[str, Entry] = {}
        """The descriptions of all actions by their names."""
        self._words: dict[str, str] = {}
        self.own_keys: Mapping[str, str] = {}
        """The shortcuts that the person chose, by the action's name, as `Entry.keys` has them."""

    def __getitem__(self, name: str) -> QAction:
        return self._actions[name]

    def all(self) -> list[QAction]:
        return list(self._actions.values())

    def why_not(self, name: str) -> str:
        """Return why an action cannot be chosen now; empty where it can."""
        is_allowed = self._actions[name].isEnabled()
        return "" if is_allowed else self._words.get(name) or "Not available now."

    def keys_of(self, name: str) -> str:
        """Return an action's shortcuts, the person's or its own; a key assigned to another is that one's."""
        taken: dict[str, str] = {}
        for other, keys in self.own_keys.items():
            for key in keys.split():
                taken.setdefault(key, other)
        keys = self.own_keys.get(name, self.entries[name].keys)
        return " ".join(key for key in keys.split() if taken.get(key, name) == name)

    def use_keys(self, own: Mapping[str, str]) -> None:
        """Take the shortcuts that the person chose, also for actions that come later."""
        self.own_keys = dict(own)
        for name in self._actions:
            self._show_keys(name)

    def add(self, entries: Iterable[Entry]) -> list[QAction]:
        made = [self._add(entry, QAction(entry.text, self)) for entry in entries]
        self.added.emit()
        return made

    def add_choice(self, entries: Iterable[Entry]) -> QActionGroup:
        """Make actions of which one is chosen at a time."""
        group = QActionGroup(self)
        for action in self.add(entries):
            action.setCheckable(True)
            group.addAction(action)
        return group

    def add_history(self, stacks: QUndoGroup, undo: Entry, redo: Entry) -> None:
        """Make undo and redo of the group's active stack; their texts name the step."""
        self._add(undo, stacks.createUndoAction(self, undo.text))
        self._add(redo, stacks.createRedoAction(self, redo.text))
        # Qt writes the step's name over tooltip and text, after this signal's earlier receivers.
        queued = Qt.ConnectionType.QueuedConnection
        for entry, changed in ((undo, stacks.undoTextChanged), (redo, stacks.redoTextChanged)):
            changed.connect(lambda _text, name=entry.name: self.explain(name, ""), queued)
        self.added.emit()

    def connect_to(self, **acts: Callable[[], object]) -> None:
        for name, act in acts.items():
            self._actions[name].triggered.connect(lambda _on=False, act=act: act())

    def explain(self, name: str, words: str) -> None:
        """Append a text to the tooltip, such as why the action is disabled."""
        self._words[name], action = words, self._actions[name]
        keys = action.shortcut().toString(QKeySequence.SequenceFormat.NativeText)
        tip = f"{self.entries[name].tip} {words}".strip() + f" ({keys})" * bool(keys)
        if action.toolTip() != tip:
            action.setToolTip(tip)
            action.setStatusTip("")

    def allow(self, name: str, why_not: str) -> None:
        """Let an action be chosen, or say why it cannot be."""
        self._actions[name].setEnabled(not why_not)
        self.explain(name, why_not)

    def _show_keys(self, name: str) -> None:
        self._actions[name].setShortcuts([QKeySequence(keys) for keys in self.keys_of(name).split()])
        self.explain(name, self._words.get(name, ""))

    def _add(self, entry: Entry, action: QAction) -> QAction:
        action.setObjectName(entry.name)
        action.setIconText(entry.title)
        action.setData(entry.data)
        if entry.icon:
            action.setIcon(icon(entry.icon))
        self._actions[entry.name], self.entries[entry.name] = action, entry
        self._show_keys(entry.name)
        return action
