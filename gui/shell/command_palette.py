"""The command palette: type a few letters, choose a command."""

from collections.abc import Callable, Sequence

from PySide6.QtCore import QEvent, QModelIndex, QObject, QPersistentModelIndex, QSize, Qt, QTimer
from PySide6.QtGui import QColor, QFontMetrics, QKeyEvent, QPainter
from PySide6.QtWidgets import (
    QDialog,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from gui.shell.commands import Command, found_by
from gui.style.metrics import GRID, HALF_GRID, small_font
from gui.style.theme import current_theme
from gui.widgets.painted_text import paint_text
from gui.widgets.panel_parts import column

WIDTH = 76 * GRID
_ROWS = 11
_COMMAND = Qt.ItemDataRole.UserRole
_MOVES = (Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_PageUp, Qt.Key.Key_PageDown)


class CommandPalette(QDialog):
    """A field, and under it the commands that fit; Enter runs one, Esc leaves.

    `chosen` is called with the command after the palette has closed.
    """

    def __init__(
        self,
        commands: Sequence[Command],
        recent: Sequence[str],
        chosen: Callable[[Command], None],
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        self._commands, self._recent, self._chosen, self._over = commands, recent, chosen, parent
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle("Commands")
        self.field = QLineEdit()
        self.field.setPlaceholderText(
            "Type a few letters of a command, a preset, a sample, a page or a panel"
        )
        self.field.setAccessibleName("Command")
        self.field.setToolTip("Letters may be left out: “sx” finds Sobel x.")
        self.field.textChanged.connect(self._list)
        self.field.installEventFilter(self)
        self.list = QListWidget()
        self.list.setAccessibleName("Commands that fit")
        self.list.setItemDelegate(_CommandRow(self.list))
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.setUniformItemSizes(True)
        self.list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.list.itemClicked.connect(self._choose)
        self.setLayout(column(self.field, (self.list, 1), margins=(GRID, GRID, GRID, GRID)))
        self._list("")
        height = _ROWS * _row_height() + self.field.sizeHint().height() + 4 * GRID
        width = min(WIDTH, parent.width() - 4 * GRID)
        self.resize(width, min(height, parent.height() - 8 * GRID))

    @property
    def shown(self) -> list[Command]:
        """The commands that are listed, in their order."""
        return [self.list.item(at).data(_COMMAND) for at in range(self.list.count())]

    def choose_current(self) -> None:
        """Run the command that is marked, if it can be chosen."""
        item = self.list.currentItem()
        if item is not None:
            self._choose(item)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.KeyPress and isinstance(event, QKeyEvent):
            if Qt.Key(event.key()) in _MOVES:
                self.list.keyPressEvent(event)
                return True
            if Qt.Key(event.key()) in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
                self.choose_current()
                return True
        return super().eventFilter(watched, event)

    def _list(self, typed: str) -> None:
        self.list.clear()
        for command in found_by(typed, self._commands, self._recent):
            item = QListWidgetItem(self.list)
            item.setData(_COMMAND, command)
            item.setData(Qt.ItemDataRole.ToolTipRole, command.tip)
            said = (command.title, command.where, command.keys, command.why_not)
            item.setData(Qt.ItemDataRole.AccessibleTextRole, ", ".join(filter(None, said)))
        if not self.list.count():
            item = QListWidgetItem(f"No command fits “{typed}”.", self.list)
            item.setFlags(Qt.ItemFlag.NoItemFlags)
        self.list.setCurrentRow(0)

    def _choose(self, item: QListWidgetItem) -> None:
        command = item.data(_COMMAND)
        if command is None or command.why_not:
            return
        self.accept()
        # Not before the focus is back where the command finds it.
        QTimer.singleShot(0, self._over, lambda chosen=self._chosen: chosen(command))


class _CommandRow(QStyledItemDelegate):
    """Title and menu at the left, keys at the right; below, in small letters, why it cannot be chosen."""

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        return QSize(20 * GRID, _row_height())

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        command = index.data(_COMMAND)
        if command is None:
            super().paint(painter, option, index)
            return
        theme = current_theme()
        is_marked = bool(option.state & QStyle.StateFlag.State_Selected)
        painter.save()
        painter.fillRect(option.rect, QColor(theme.accent if is_marked else theme.base))
        strong = QColor(theme.accent_text if is_marked else theme.muted if command.why_not else theme.text)
        quiet = QColor(theme.accent_text if is_marked else theme.muted)
        inner = option.rect.adjusted(GRID, 0, -GRID, 0)
        at_right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        inner.setRight(inner.right() - paint_text(painter, inner, command.keys, quiet, at_right) - 2 * GRID)
        inner.setLeft(inner.left() + paint_text(painter, inner, command.title, strong) + 2 * GRID)
        painter.setFont(small_font())
        paint_text(painter, inner, command.why_not or command.where, quiet)
        painter.restore()


def _row_height() -> int:
    return QFontMetrics(small_font()).height() + GRID + HALF_GRID
