"""The bars around the pages, tools above and progress below, and over a page what happened and what to do."""

from functools import partial
from html import escape

from PySide6.QtCore import QEvent, QObject, QPoint, QRect, QSize, Qt, QTimer
from PySide6.QtWidgets import (
    QFrame,
    QLabel,
    QMenu,
    QProgressBar,
    QPushButton,
    QSizePolicy,
    QToolButton,
    QWidget,
)

from gui.engine_link.engine_state import READY, EngineState
from gui.page.actions import Actions
from gui.page.contract import Page, PageStatus, Tool
from gui.page.messages import Messages, Severity, WindowMessage
from gui.style.icons import icon
from gui.style.metrics import GRID, HALF_GRID, follow
from gui.style.theme import current_theme, theme_notifier
from gui.widgets.labels import ElidedLabel
from gui.widgets.panel_parts import column, named, row

_STEPS = 1000


class TopBar(QFrame):
    """Buttons for a page's most important actions."""

    def __init__(self, actions: Actions) -> None:
        super().__init__()
        self.caption = ElidedLabel(is_plain=True, mode=Qt.TextElideMode.ElideMiddle, name="Document")
        self.caption.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.caption.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        # Made once for each page: Qt for Python ends an action with the button that it is the action of.
        self._tools: dict[Page, list[QToolButton]] = {}
        self._row = row((self.caption, 1), spacing=HALF_GRID, margins=(GRID, HALF_GRID, GRID, HALF_GRID))
        self.setLayout(self._row)
        # On every page, so that they do not move.
        self._run, self._run_all = (_button(Tool(actions[name])) for name in ("run", "run_all"))
        for button, look in ((self._run, "primary"), (self._run_all, "primaryPart")):
            button.setObjectName(look)
            # On the accent colour, an icon in the colour of text would hardly be seen.
            button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextOnly)
        # One button in two parts.
        self._row.addLayout(row(self._run, self._run_all, spacing=0))
        self._row.addWidget(_button(Tool(actions["cancel"])))

    def show_page(self, page: Page) -> None:
        if page not in self._tools:
            self._tools[page] = [_button(tool) for tool in page.tools]
            for position, button in enumerate(self._tools[page]):
                self._row.insertWidget(position, button)
        for other, buttons in self._tools.items():
            for button in buttons:
                button.setVisible(other is page)
        has_both = bool(page.status.run_all_does)
        self._run_all.setVisible(has_both)
        if self._run.property("hasPart") != has_both:
            self._run.setProperty("hasPart", has_both)
            self._run.style().unpolish(self._run)
            self._run.style().polish(self._run)


def _button(tool: Tool) -> QToolButton:
    action = tool.action
    button = QToolButton(autoRaise=True)
    button.setDefaultAction(action)
    if tool.choices:
        menu = QMenu(button)
        menu.addActions(tool.choices)
        button.setMenu(menu)
        button.setPopupMode(QToolButton.ToolButtonPopupMode.MenuButtonPopup)
    button.setIconSize(QSize(2 * GRID + 2, 2 * GRID + 2))
    button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
    button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    button.setAccessibleName(action.iconText())
    return button


class StatusLine(QFrame):
    """Engine and last run; work that takes over half a second shows its progress in the middle."""

    def __init__(self, state: EngineState) -> None:
        super().__init__()
        self._state, self._status = state, PageStatus()
        label = QLabel(textFormat=Qt.TextFormat.PlainText)
        self._engine = named(label, "Engine", "The engine's process and the device that it works on.")
        bar = QProgressBar(maximum=_STEPS, textVisible=False)
        self._bar = named(bar, "Progress", "How far the engine is. Esc stops it.")
        self._bar.setFixedSize(16 * GRID, GRID)
        self._stage, self.last = (ElidedLabel(is_plain=True, name=name) for name in ("Progress", "Last run"))
        for long in (self._stage, self.last):
            long.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        parts, margins = ((self._stage, 1), (self.last, 1)), (2 * GRID, HALF_GRID, 2 * GRID, HALF_GRID)
        self.setLayout(row(self._engine, self._bar, *parts, spacing=2 * GRID, margins=margins))
        follow(self._show_engine, state.ready_changed)
        follow(self._show_progress, state.progress_changed)

    def show_page(self, status: PageStatus) -> None:
        """Show the status of a page: each has its own device and runs."""
        self._status = status
        self.last.setText(status.sentence)
        self._show_engine()

    def _show_engine(self) -> None:
        words = self._state.status
        if words == READY:
            device = self._state.used_device(self._status.device)
            words = f"{device.title}, ready" if device else "ready"
        self._engine.setText(f"Engine: {words}")

    def _show_progress(self) -> None:
        slow = self._state.slow
        self._bar.setVisible(slow)
        self._stage.setVisible(slow)
        self.last.setVisible(not slow)
        self._bar.setValue(round(self._state.fraction * _STEPS))
        if slow:
            words = f"stopping: {self._state.stage}" if self._state.cancelling else self._state.stage
            self._stage.setText(words)


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
        flags = Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        rich = Qt.TextFormat.RichText
        self._text = QLabel(wordWrap=True, textFormat=rich, textInteractionFlags=flags)
        self._text.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self._more = QLabel()
        self._buttons = QPushButton(), QPushButton()
        for at, button in enumerate(self._buttons):
            button.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
            button.clicked.connect(partial(self._dismiss, at))
        self._close = named(QToolButton(autoRaise=True), "Dismiss message", "Dismiss this message.")
        self._close.setIcon(icon("close"))
        self._close.setIconSize(QSize(16, 16))
        self._close.clicked.connect(lambda: self._dismiss())
        # The buttons have a line of their own: beside them, over a narrow middle, the text would have no
        # room.
        lines = row(self._icon, (self._text, 1), self._more, self._close), row(1, *self._buttons)
        self.setLayout(column(*lines, spacing=HALF_GRID, margins=(2 * GRID, HALF_GRID, GRID, HALF_GRID)))
        self._middle: QWidget | None = None
        if parent is not None:
            parent.installEventFilter(self)
            self.show_over(parent)
        follow(self._show, messages.changed, theme_notifier().changed)

    @property
    def text(self) -> str:
        message = self._messages.newest
        return " ".join(_words_of(message)).strip() if message else ""

    def show_over(self, middle: QWidget) -> None:
        """Lie over this part of the parent, or all of it, from now on."""
        if self._middle is not None:
            self._middle.removeEventFilter(self)
        self._middle = middle
        middle.installEventFilter(self)
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
        area = QRect(middle.mapTo(parent, QPoint()), middle.size())
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
        what, rest = _words_of(message)
        self._text.setText(f"<b>{escape(what)}</b> {escape(rest)}")
        self._text.setAccessibleName(f"{_WORDS[message.severity]}: {self.text}")
        self._more.setText(f"{self._messages.count - 1} more" if self._messages.count > 1 else "")
        self._more.setVisible(self._messages.count > 1)
        for button, text in zip(self._buttons, (message.action, message.other_action), strict=True):
            button.setText(text)
            button.setVisible(bool(text))
        if self._messages.notices:
            self._expiry.start()
        self._place()

    def _dismiss(self, at: int = -1) -> None:
        """Dismiss the message, and do what the button at this place is for."""
        message = self._messages.newest
        if message is None:
            return
        self._messages.clear(message.source)
        if at >= 0 and (act := (message.act, message.other_act)[at]) is not None:
            act()


def _words_of(message: WindowMessage) -> tuple[str, str]:
    """Return what happened, which stands out, and the rest, as sentences."""
    return _closed(message.what), " ".join(_closed(part) for part in (message.why, message.remedy) if part)


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
