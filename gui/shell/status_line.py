"""The status line: engine and device, progress, the page's last run and its verification, the speed-up."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QFrame, QLabel, QProgressBar, QSizePolicy

from gui.engine_link.engine_state import READY, EngineState
from gui.page.contract import PageStatus
from gui.style.metrics import GRID, HALF_GRID, number_font
from gui.widgets.elided_label import ElidedLabel
from gui.widgets.panel_parts import row

_STEPS = 1000


class StatusLine(QFrame):
    """Engine, last run and speed-up; work that takes over half a second shows its progress in the middle."""

    def __init__(self, state: EngineState) -> None:
        super().__init__()
        self._state = state
        self._status = PageStatus()
        self._engine = _label("Engine", "The engine's process and the device that it works on.")
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
        self._figure = _label("Figure", "")
        self._figure.setFont(number_font())
        parts = self._engine, self._bar, (self._stage, 1), (self._last, 1), self._figure
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
        self._figure.setText(status.figure)
        self._figure.setToolTip(status.figure_tip)
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


def _label(name: str, tip: str) -> QLabel:
    label = QLabel()
    label.setAccessibleName(name)
    label.setToolTip(tip)
    label.setTextFormat(Qt.TextFormat.PlainText)
    return label
