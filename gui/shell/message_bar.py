"""The bar under the top bar: what happened, why, and what would do. Never in the way, never a traceback."""

from html import escape

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QSizePolicy, QToolButton, QWidget

from gui.page.messages import Message, Messages, Severity
from gui.style.icons import icon
from gui.style.metrics import GRID, HALF_GRID
from gui.style.theme import current_theme, theme_notifier

_ICONS = {Severity.INFO: "info", Severity.WARNING: "warning", Severity.ERROR: "error"}
_WORDS = {Severity.INFO: "Note", Severity.WARNING: "Warning", Severity.ERROR: "Error"}


class MessageBar(QFrame):
    """Shows the newest message; hidden while there is none."""

    def __init__(self, messages: Messages, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._messages = messages
        self.setObjectName("messageBar")
        self._icon = QLabel()
        self._icon.setFixedSize(18, 18)
        self._text = QLabel()
        self._text.setWordWrap(True)
        self._text.setTextFormat(Qt.TextFormat.RichText)
        self._text.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self._text.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self._more = QLabel()
        self._action = QPushButton()
        self._action.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self._action.clicked.connect(self._act)
        self._close = QToolButton(autoRaise=True)
        self._close.setIcon(icon("close"))
        self._close.setIconSize(QSize(16, 16))
        self._close.setToolTip("Dismiss this message.")
        self._close.setAccessibleName("Dismiss message")
        self._close.clicked.connect(self._dismiss)
        row = QHBoxLayout(self)
        row.setContentsMargins(2 * GRID, HALF_GRID, GRID, HALF_GRID)
        row.setSpacing(GRID)
        for widget in (self._icon, self._text, self._more, self._action, self._close):
            row.addWidget(widget)
        messages.changed.connect(self._show)
        theme_notifier().changed.connect(self._show)
        self._show()

    @property
    def text(self) -> str:
        """What it says, without marks."""
        message = self._messages.newest
        return sentence(message) if message else ""

    def _show(self) -> None:
        message = self._messages.newest
        self.setVisible(message is not None)
        if message is None:
            return
        theme = current_theme()
        colour = {"info": theme.accent, "warning": theme.warning, "error": theme.error}[message.severity]
        self.setStyleSheet(
            f"#messageBar {{ background: {theme.raised}; border: 0; border-left: 4px solid {colour};"
            f" border-bottom: 1px solid {theme.line}; }}"
        )
        self._icon.setPixmap(icon(_ICONS[message.severity]).pixmap(18, 18))
        head, rest = escape(_closed(message.what)), escape(_rest(message))
        self._text.setText(f"<b>{head}</b> {rest}")
        self._text.setAccessibleName(f"{_WORDS[message.severity]}: {sentence(message)}")
        self._more.setText(f"{self._messages.count - 1} more" if self._messages.count > 1 else "")
        self._more.setVisible(self._messages.count > 1)
        self._action.setText(message.action)
        self._action.setVisible(bool(message.action))

    def _dismiss(self) -> None:
        if self._messages.newest is not None:
            self._messages.clear(self._messages.newest.source)

    def _act(self) -> None:
        message = self._messages.newest
        if message is not None:
            self._messages.clear(message.source)
            self._messages.action_chosen.emit(message.source)


def sentence(message: Message) -> str:
    """Return a message as one line."""
    return " ".join(f"{_closed(message.what)} {_rest(message)}".split())


def _rest(message: Message) -> str:
    return " ".join(_closed(part) for part in (message.why, message.remedy) if part)


def _closed(text: str) -> str:
    """Return a text as a sentence: with a capital first and a full stop."""
    text = " ".join(text.split())
    if not text:
        return ""
    # The name of a file or a variant keeps its letters.
    first = text.split(" ", 1)[0]
    if first.isalpha():
        text = text[0].upper() + text[1:]
    return text if text[-1] in ".!?" else text + "."
