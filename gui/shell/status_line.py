"""The line at the bottom: the engine and its device, what it is doing, the page's last run and its proof, the speed-up."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QProgressBar, QSizePolicy, QWidget

from engine.results.columns import SPEED_UP
from engine.results.compare import Compared
from engine.results.metrics import metric
from gui.engine_link.engine_state import READY, EngineState
from gui.explore.results.results_model import ResultsModel
from gui.explore.workspace import Workspace
from gui.matrices.matmul_state import MatmulState
from gui.shell.last_run_text import ON_COURSE, matrices_sentence, no_run_sentence, run_sentence
from gui.style.metrics import GRID, HALF_GRID, number_font
from gui.style.theme import current_theme
from gui.widgets.elided_label import ElidedLabel
from gui.widgets.runs_model import baseline_name

_STEPS = 1000


class StatusLine(QFrame):
    """Four facts in words; the progress of anything that takes over half a second stands in the middle."""

    def __init__(
        self,
        workspace: Workspace,
        state: EngineState,
        results: ResultsModel,
        matmul: MatmulState,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._workspace = workspace
        self._state = state
        self._results = results
        self._matmul = matmul
        self._page = "explore"
        self._engine = _label("Engine", "The engine's process and the device that it works on.")
        self._stage = _Sentence("Progress")
        self._bar = QProgressBar()
        self._bar.setRange(0, _STEPS)
        self._bar.setTextVisible(False)
        self._bar.setFixedSize(16 * GRID, GRID)
        self._bar.setAccessibleName("Progress")
        self._bar.setToolTip("How far the engine is. Esc stops it.")
        self._last = _Sentence("Last run")
        for long in (self._stage, self._last):
            long.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self._speed_up = _label("Speed-up", "")
        self._speed_up.setFont(number_font())
        row = QHBoxLayout(self)
        row.setContentsMargins(2 * GRID, HALF_GRID, 2 * GRID, HALF_GRID)
        row.setSpacing(2 * GRID)
        row.addWidget(self._engine)
        row.addWidget(self._bar)
        row.addWidget(self._stage, 1, Qt.AlignmentFlag.AlignVCenter)
        row.addWidget(self._last, 1, Qt.AlignmentFlag.AlignVCenter)
        row.addWidget(self._speed_up)
        state.ready_changed.connect(self._show_engine)
        state.progress_changed.connect(self._show_progress)
        workspace.settings_changed.connect(self._show_engine)
        results.rowsInserted.connect(self._show_last)
        results.modelReset.connect(self._show_last)
        results.dataChanged.connect(self._show_last)
        matmul.settings_changed.connect(self._show_engine)
        for signal in (matmul.rows_changed, state.ready_changed, workspace.picture_changed):
            signal.connect(self._show_last)
        self._show_engine()
        self._show_progress()
        self._show_last()

    @property
    def last_run(self) -> str:
        """What it says of the last run."""
        return self._last.text()

    def show_page(self, key: str) -> None:
        """Speak of this page: each has a device and runs of its own."""
        self._page = key
        self._show_engine()
        self._show_last()

    def _show_engine(self) -> None:
        status = self._state.status
        if status == READY:
            chosen = self._matmul if self._page == "matrices" else self._workspace
            device = self._state.used_device(chosen.settings.device)
            status = f"{device.title}, ready" if device else "ready"
        self._engine.setText(f"Engine: {status}")

    def _show_progress(self) -> None:
        slow = self._state.slow
        self._bar.setVisible(slow)
        self._stage.setVisible(slow)
        self._last.setVisible(not slow)
        self._bar.setValue(round(self._state.fraction * _STEPS))
        words = f"stopping: {self._state.stage}" if self._state.cancelling else self._state.stage
        self._stage.setText(words)

    def _show_last(self) -> None:
        rows = self._results.rows()
        newest = None
        is_ready = self._state.is_ready
        if self._page == "matrices":
            words = matrices_sentence(self._matmul, engine_is_ready=is_ready)
        elif rows:
            newest = rows[-1]
            words = run_sentence(newest.result)
        elif self._page == "course":
            words = ON_COURSE
        else:
            has_picture = self._workspace.picture is not None
            words = no_run_sentence(engine_is_ready=is_ready, has_picture=has_picture)
        self._last.setText(words)
        self._show_speed_up(newest)

    def _show_speed_up(self, run: Compared | None) -> None:
        has_one = run is not None and run.speed_up is not None
        self._speed_up.setText(
            f"{metric(SPEED_UP).text(run)} vs {self._results.baseline}" if run and has_one else ""
        )
        self._speed_up.setToolTip(f"Against {baseline_name(run)}, same problem." if run and has_one else "")


class _Sentence(ElidedLabel):
    """A fact that may be long: cut with … where there is no room, and whole in its tooltip."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.setAccessibleName(name)

    @property
    def colour(self) -> QColor:
        return QColor(current_theme().text)


def _label(name: str, tip: str) -> QLabel:
    label = QLabel()
    label.setAccessibleName(name)
    label.setToolTip(tip)
    label.setTextFormat(Qt.TextFormat.PlainText)
    return label
