"""The message over the page: what happened, why, and what to do."""

from collections.abc import Callable
from html import escape

from PySide6.QtCore import QEvent, QObject, QPoint, QRect, QSize, Qt, QTimer
from PySide6.QtWidgets import QFrame, QGridLayout, QLabel, QPushButton, QSizePolicy, QToolButton, QWidget

from gui.page.messages import Message, Messages, Severity
from gui.style.icons import icon
from gui.style.metrics import GRID, HALF_GRID
from gui.style.theme import current_theme, theme_notifier
from gui.widgets.panel_parts import row

# Enough to read two lines; warnings and errors stay.
EXPIRES_AFTER_MS = 8_000
WIDTH = 88 * GRID
_LEAST_WIDTH = 40 * GRID
_SIGN = QSize(18, 18)
_WORDS = {Severity.INFO: "Note", Severity.WARNING: "Warning", Severity.ERROR: "Error"}


class MessageBar(QFrame):
    """Shows the newest message over the lower edge of a page; information expires, shown or not."""

    def __init__(self, messages: Messages, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._messages = messages
        self._expiry = QTimer(self, singleShot=True, interval=EXPIRES_AFTER_MS)
        self._expiry.timeout.connect(self._expire)
        self.setObjectName("messageBar")
        self._icon = QLabel()
        self._icon.setFixedSize(_SIGN)
        self._text = QLabel()
        self._text.setWordWrap(True)
        self._text.setTextFormat(Qt.TextFormat.RichText)
        self._text.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self._text.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self._more = QLabel()
        self._action, self._other = QPushButton(), QPushButton()
        for button in (self._action, self._other):
            button.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self._action.clicked.connect(lambda: self._act(lambda message: message.act))
        self._other.clicked.connect(lambda: self._act(lambda message: message.other_act))
        self._close = QToolButton(autoRaise=True)
        self._close.setIcon(icon("close"))
        self._close.setIconSize(QSize(16, 16))
        self._close.setToolTip("Dismiss this message.")
        self._close.setAccessibleName("Dismiss message")
        self._close.clicked.connect(self._dismiss)
        # The buttons have a line of their own: beside them, over a narrow middle, the text would have no
        # room.
        grid = QGridLayout(self)
        grid.setContentsMargins(2 * GRID, HALF_GRID, GRID, HALF_GRID)
        grid.setHorizontalSpacing(GRID)
        grid.setVerticalSpacing(HALF_GRID)
        grid.setColumnStretch(1, 1)
        for column, widget in enumerate((self._icon, self._text, self._more, self._close)):
            grid.addWidget(widget, 0, column)
        grid.addLayout(row(1, self._action, self._other, spacing=GRID), 1, 1, 1, 3)
        self._middle: QWidget | None = None
        if parent is not None:
            self.show_over(parent)
        messages.changed.connect(self._show)
        theme_notifier().changed.connect(self._show)
        self._show()

    @property
    def text(self) -> str:
        """The message as plain text."""
        message = self._messages.newest
        return sentence(message) if message else ""

    def show_over(self, middle: QWidget) -> None:
        """Lie over this part of the parent, or all of it, from now on."""
        for widget in {self._middle, self.parentWidget()}:
            if widget is not None:
                widget.removeEventFilter(self)
        self._middle = middle
        for widget in {middle, self.parentWidget()}:
            if widget is not None:
                widget.installEventFilter(self)
        self._place()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.Resize, QEvent.Type.Move):
            self._place()
        return super().eventFilter(watched, event)

    def _place(self) -> None:
        """Centre the bar at the lower edge of the middle; where that is very narrow the bar is wider."""
        parent, middle, layout = self.parentWidget(), self._middle, self.layout()
        if parent is None or middle is None or layout is None or self.isHidden():
            return
        area = QRect(middle.mapTo(parent, QPoint()), middle.size()) if middle is not parent else parent.rect()
        width = min(max(area.width() - 2 * GRID, _LEAST_WIDTH), WIDTH, parent.width() - 4 * GRID)
        height = max(layout.totalHeightForWidth(width), layout.totalMinimumSize().height())
        left = area.center().x() - width // 2
        left = max(2 * GRID, min(left, parent.width() - width - 2 * GRID))
        self.setGeometry(left, max(0, area.bottom() + 1 - height - GRID), width, height)
        self.raise_()

    def _expire(self) -> None:
        if self.underMouse():
            # It is being read.
            self._expiry.start()
        else:
            self._messages.clear(*self._messages.notices)

    def _show(self) -> None:
        message = self._messages.newest
        self._expiry.stop()
        self.setVisible(message is not None)
        if message is None:
            return
        theme = current_theme()
        colour = {"info": theme.accent, "warning": theme.warning, "error": theme.error}[message.severity]
        self.setStyleSheet(
            f"#messageBar {{ background: {theme.raised}; border: 1px solid {theme.line};"
            f" border-left: 4px solid {colour}; border-radius: 4px; }}"
        )
        self._icon.setPixmap(icon(message.severity).pixmap(_SIGN, self.devicePixelRatio()))
        self._text.setText(html(message))
        self._text.setAccessibleName(f"{_WORDS[message.severity]}: {sentence(message)}")
        self._more.setText(f"{self._messages.count - 1} more" if self._messages.count > 1 else "")
        self._more.setVisible(self._messages.count > 1)
        self._action.setText(message.action)
        self._action.setVisible(bool(message.action))
        self._other.setText(message.other_action)
        self._other.setVisible(bool(message.other_action))
        if self._messages.notices:
            self._expiry.start()
        self._place()

    def _dismiss(self) -> None:
        if self._messages.newest is not None:
            self._messages.clear(self._messages.newest.source)

    def _act(self, chosen: Callable[[Message], Callable[[], None] | None]) -> None:
        message = self._messages.newest
        self._dismiss()
        if message is not None and (act := chosen(message)) is not None:
            act()


def html(message: Message) -> str:
    """Return a message as rich text: what happened stands out."""
    return f"<b>{escape(_closed(message.what))}</b> {escape(_rest(message))}"


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
    return text if text[-1] in ".!?:" else text + "."
