"""Measures the paper's tables on this machine; the status line says how far it is, and Esc stops it."""

from PySide6.QtWidgets import QPushButton, QWidget

from gui.course.course_model import CourseModel
from gui.engine_link.engine_state import EngineState

_TEACHES = (
    "Run every kernel of this paper's tables on this machine, verify each result, and put the figures "
    "beside the printed ones. It may take some minutes; previews wait meanwhile."
)


class MeasureButton(QPushButton):
    """Measure on this machine, or measure again."""

    def __init__(self, course: CourseModel, state: EngineState, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._course = course
        self._state = state
        self.clicked.connect(course.ask_to_measure)
        for signal in (
            course.paper_changed,
            course.tables_changed,
            state.ready_changed,
            state.running_changed,
        ):
            signal.connect(self._refresh)
        self._refresh()

    def _refresh(self) -> None:
        paper = self._course.paper
        again = paper is not None and self._course.known(paper.key).is_measured
        self.setText("Measure again" if again else "Measure on this machine")
        why_not = self._state.why_no_run if paper else "Choose a paper first."
        self.setEnabled(not why_not)
        self.setToolTip(f"{_TEACHES} {why_not}".rstrip())
