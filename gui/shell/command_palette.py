"""The command palette: type words of a command, choose it. Every command of the window is one list."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from PySide6.QtCore import QEvent, QObject, Qt, QTimer
from PySide6.QtGui import QKeyEvent, QPalette
from PySide6.QtWidgets import QDialog, QHeaderView, QLineEdit, QTreeWidget, QTreeWidgetItem, QWidget

from gui.page.actions import Actions, plain
from gui.page.contract import Page
from gui.page.panels import shown_words
from gui.style.metrics import GRID
from gui.widgets.panel_parts import column

_WIDTH = 76 * GRID
_HEIGHT = 40 * GRID
_MOVES = (Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_PageUp, Qt.Key.Key_PageDown)


@dataclass(frozen=True, slots=True)
class Command:
    """What can be chosen in the command palette."""

    key: str
    title: str
    where: str  # its menu
    keys: str  # its shortcut, as the system writes it
    tip: str
    why_not: str  # why it cannot be chosen now; empty if it can
    run: Callable[[], object]


def commands_of(actions: Actions, page: Page) -> list[Command]:
    """Return every command while a page is shown: actions, what the page offers besides, its panels."""
    found = [_of_action(actions, name) for name in actions.names() if name != "palette"]
    for action in page.palette_actions:
        title, where = plain(action.text()), str(action.data() or "")
        why_not = "" if action.isEnabled() else "Not available now."
        found.append(Command(f"{where}:{title}", title, where, "", action.toolTip(), why_not, action.trigger))
    for panel in page.panels:
        name, title = panel.objectName(), panel.windowTitle()
        show = partial(page.bring_to_front, name)
        found.append(Command(f"panel:{name}", title, "Panel", "", shown_words(panel), "", show))
    return found


def found_by(typed: str, commands: Sequence[Command]) -> list[Command]:
    """Return the commands that a typed text fits, best first; what cannot be chosen now after what can."""
    chosen = [(score, one) for one in commands if (score := fit(typed, one))]
    chosen.sort(key=lambda at: (-at[0], bool(at[1].why_not)))
    return [one for _, one in chosen]


def fit(typed: str, command: Command) -> int:
    """Return how well a text fits, higher is better; 0 where it does not.

    Each typed word must begin a word of the title, of the menu, or else of the tooltip: "blur" finds a
    Gaussian.
    """
    words = typed.casefold().split()
    title, where, tip = (
        re.findall(r"\w+", text.casefold()) for text in (command.title, command.where, command.tip)
    )
    for score, there in ((3, title), (2, title + where), (1, title + where + tip)):
        if all(any(word.startswith(one) for word in there) for one in words):
            return score + (score == 3 and title[: len(words)] == words)
    return 0


def _of_action(actions: Actions, name: str) -> Command:
    action, entry = actions[name], actions.entry(name)
    keys = action.shortcut().toString(action.shortcut().SequenceFormat.NativeText)
    title = plain(action.text())
    if action.isCheckable() and action.isChecked():
        title = f"{title} (on)"
    return Command(name, title, entry.where, keys, action.toolTip(), actions.why_not(name), action.trigger)


class CommandPalette(QDialog):
    """A field, and under it the commands that fit; Enter closes it and runs one, Esc leaves."""

    def __init__(self, commands: Sequence[Command], parent: QWidget) -> None:
        super().__init__(parent)
        self._commands, self._over = commands, parent
        self.shown: list[Command] = []
        """The commands that are listed, in their order."""
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle("Commands")
        self.field = QLineEdit(
            placeholderText="Type words of a command, a preset, a sample, a page or a panel"
        )
        self.field.setAccessibleName("Command")
        self.field.setToolTip("The beginnings of words are enough: “so x” finds Sobel x.")
        self.field.textChanged.connect(self._list)
        self.field.returnPressed.connect(self._choose)
        self.field.installEventFilter(self)
        self.list = QTreeWidget(columnCount=3)
        self.list.setHeaderHidden(True)
        self.list.setRootIsDecorated(False)
        self.list.setAccessibleName("Commands that fit")
        self.list.setUniformRowHeights(True)
        self.list.setStyleSheet("QTreeView::item { padding: 2px; }")
        self.list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        modes = QHeaderView.ResizeMode
        for at, mode in enumerate((modes.ResizeToContents, modes.Stretch, modes.ResizeToContents)):
            self.list.header().setSectionResizeMode(at, mode)
        self.list.header().setStretchLastSection(False)
        self.list.itemClicked.connect(self._choose)
        self.setLayout(column(self.field, (self.list, 1), margins=(GRID, GRID, GRID, GRID)))
        self._list("")
        self.resize(min(_WIDTH, parent.width() - 4 * GRID), min(_HEIGHT, parent.height() - 8 * GRID))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress and event.key() in _MOVES:
            self.list.keyPressEvent(event)
            return True
        return super().eventFilter(watched, event)

    def _list(self, typed: str) -> None:
        self.list.clear()
        self.shown = found_by(typed, self._commands)
        quiet = self.palette().brush(QPalette.ColorRole.PlaceholderText)
        for command in self.shown:
            item = QTreeWidgetItem(self.list, [command.title, command.why_not or command.where, command.keys])
            for at in range(0 if command.why_not else 1, 3):
                item.setForeground(at, quiet)
            for at in range(3):
                item.setToolTip(at, command.tip)
        if not self.shown:
            item = QTreeWidgetItem(self.list, [f"No command fits “{typed}”."])
            item.setFlags(Qt.ItemFlag.NoItemFlags)
        self.list.setCurrentIndex(self.list.model().index(0, 0))

    def _choose(self) -> None:
        """Run the command that is marked, if it can be chosen."""
        at = self.list.currentIndex().row()
        # A click beside the rows marks none.
        if not 0 <= at < len(self.shown) or self.shown[at].why_not:
            return
        self.accept()
        # Not before the focus is back where the command finds it.
        QTimer.singleShot(0, self._over, self.shown[at].run)
