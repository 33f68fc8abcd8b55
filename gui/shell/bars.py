"""The bars around the pages: the page's tools and Run above, engine, progress and last run below."""

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QFrame, QLabel, QMenu, QProgressBar, QSizePolicy, QToolButton

from gui.engine_link.engine_state import READY, EngineState
from gui.page.actions import Actions
from gui.page.contract import Page, PageStatus, Tool
from gui.style.metrics import GRID, HALF_GRID
from gui.widgets.elided_label import ElidedLabel
from gui.widgets.panel_parts import row

_STEPS = 1000


class TopBar(QFrame):
    """Buttons for a page's most important actions."""

    def __init__(self, actions: Actions) -> None:
        super().__init__()
        self.caption = ElidedLabel(mode=Qt.TextElideMode.ElideMiddle)
        self.caption.setForegroundRole(QPalette.ColorRole.WindowText)
        self.caption.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.caption.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.caption.setAccessibleName("Document")
        # Made once for each page: Qt for Python ends an action with the button that it is the action of.
        self._tools: dict[Page, list[QToolButton]] = {}
        self._row = row((self.caption, 1), spacing=HALF_GRID, margins=(GRID, HALF_GRID, GRID, HALF_GRID))
        self.setLayout(self._row)
        # On every page, so that they do not move.
        run, self._run_all, cancel = (_button(Tool(actions[name])) for name in ("run", "run_all", "cancel"))
        for button, look in ((run, "primary"), (self._run_all, "primaryPart")):
            button.setObjectName(look)
            # On the accent colour, an icon in the colour of text would hardly be seen.
            button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextOnly)
        self._run = run
        # One button in two parts.
        self._row.addLayout(row(run, self._run_all, spacing=0))
        self._row.addWidget(cancel)

    def show_page(self, page: Page) -> None:
        """Show the tools of a page."""
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
        self._state = state
        self._status = PageStatus()
        self._engine = QLabel(textFormat=Qt.TextFormat.PlainText)
        self._engine.setAccessibleName("Engine")
        self._engine.setToolTip("The engine's process and the device that it works on.")
        self._stage = ElidedLabel()
        self._bar = QProgressBar()
        self._bar.setRange(0, _STEPS)
        self._bar.setTextVisible(False)
        self._bar.setFixedSize(16 * GRID, GRID)
        self._bar.setAccessibleName("Progress")
        self._bar.setToolTip("How far the engine is. Esc stops it.")
        self._last = ElidedLabel()
        for long, name in ((self._stage, "Progress"), (self._last, "Last run")):
            long.setAccessibleName(name)
            long.setForegroundRole(QPalette.ColorRole.WindowText)
            long.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        parts = self._engine, self._bar, (self._stage, 1), (self._last, 1)
        margins = (2 * GRID, HALF_GRID, 2 * GRID, HALF_GRID)
        self.setLayout(row(*parts, spacing=2 * GRID, margins=margins))
        state.ready_changed.connect(self._show_engine)
        state.progress_changed.connect(self._show_progress)
        self._show_engine()
        self._show_progress()

    @property
    def last_run(self) -> str:
        """The sentence about the last run."""
        return self._last.text()

    def show_page(self, status: PageStatus) -> None:
        """Show the status of a page: each has its own device and runs."""
        self._status = status
        self._last.setText(status.sentence)
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
        self._last.setVisible(not slow)
        self._bar.setValue(round(self._state.fraction * _STEPS))
        if slow:
            words = f"stopping: {self._state.stage}" if self._state.cancelling else self._state.stage
            self._stage.setText(words)
