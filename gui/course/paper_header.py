"""What paper this is."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QVBoxLayout, QWidget

from gui.course.course_model import CourseModel
from gui.style.metrics import GRID, HALF_GRID, small_font


class PaperHeader(QWidget):
    """Title, authors, source, and what it is about."""

    def __init__(self, course: CourseModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._course = course
        self.title, self.origin, self.about = QLabel(), QLabel(), QLabel()
        font = self.title.font()
        font.setBold(True)
        font.setPointSizeF(font.pointSizeF() * 1.25)
        self.title.setFont(font)
        self.origin.setFont(small_font())
        self.origin.setForegroundRole(self.origin.foregroundRole().PlaceholderText)
        column = QVBoxLayout(self)
        column.setContentsMargins(GRID, GRID, GRID, HALF_GRID)
        column.setSpacing(HALF_GRID // 2)
        for label in (self.title, self.origin, self.about):
            label.setWordWrap(True)
            label.setTextFormat(Qt.TextFormat.PlainText)
            label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
            column.addWidget(label)
        course.paper_changed.connect(self._show)
        self._show()

    def _show(self) -> None:
        paper = self._course.paper
        self.title.setText(paper.title if paper else "")
        self.origin.setText(" · ".join(filter(None, (paper.authors, paper.source))) if paper else "")
        self.about.setText(paper.about if paper else "")
