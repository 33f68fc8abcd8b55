"""Measures the paper's tables on this machine: a button, then how far it is and a way to stop it."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QProgressBar, QPushButton, QSizePolicy, QWidget

from gui.course.course_model import CourseModel
from gui.engine_link.engine_state import EngineState
from gui.style.metrics import GRID, HALF_GRID
from gui.widgets.elided_label import ElidedLabel

_TEACHES = (
    "Run every kernel of this paper's tables on this machine, verify each result, and put the figures beside the printed "
    "ones. It may take some minutes; previews wait meanwhile."
)
_STAGE_WIDTH = 26 * GRID


class MeasureBar(QWidget):
    """The button, or the progress of the measurement that goes on."""

    def __init__(self, course: CourseModel, state: EngineState, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._course = course
        self._state = state
        self.button = QPushButton("Measure on this machine")
        self.stage = ElidedLabel(small=True)
        self.progress = QProgressBar()
        self.cancel = QPushButton("Cancel")
        self._build()
        self.button.clicked.connect(course.ask_to_measure)
        self.cancel.clicked.connect(course.ask_to_cancel)
        course.paper_changed.connect(self._refresh)
        course.tables_changed.connect(self._refresh)
        course.measuring_changed.connect(self._refresh)
        state.ready_changed.connect(self._refresh)
        state.running_changed.connect(self._refresh)
        self._refresh()

    def _refresh(self) -> None:
        measuring, paper = self._course.measuring, self._course.paper
        for widget in (self.stage, self.progress, self.cancel):
            widget.setVisible(measuring is not None)
        self.button.setVisible(measuring is None)
        if measuring is not None:
            # Another paper can be looked at meanwhile.
            of_another = paper is not None and paper.key != measuring.paper
            stage = f"{measuring.paper}: {measuring.stage}" if of_another else measuring.stage
            self.stage.setText("stopping" if measuring.cancelling else stage)
            self.progress.setValue(round(measuring.fraction * 100))
            self.cancel.setEnabled(not measuring.cancelling)
            return
        again = paper is not None and self._course.known(paper.key).is_measured
        self.button.setText("Measure again" if again else "Measure on this machine")
        why_not = self._why_not()
        self.button.setEnabled(not why_not)
        self.button.setToolTip(f"{_TEACHES} {why_not}".rstrip())

    def _why_not(self) -> str:
        if self._course.paper is None:
            return "Choose a paper first."
        if not self._state.is_ready:
            return f"Not now: the engine is {self._state.status}."
        return "Not now: a run goes on; Esc cancels it." if self._state.running else ""

    def _build(self) -> None:
        self.stage.setFixedWidth(_STAGE_WIDTH)
        self.stage.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.progress.setFixedWidth(14 * GRID)
        self.progress.setAccessibleName("Progress of the measurement")
        self.cancel.setToolTip("Stop measuring; the tables stay as they are (Esc).")
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(HALF_GRID)
        for widget in (self.stage, self.progress, self.cancel, self.button):
            row.addWidget(widget, 0, Qt.AlignmentFlag.AlignVCenter)
