"""The papers, to choose one, and the header of the one that is shown."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QFontMetrics, QPalette, QResizeEvent
from PySide6.QtWidgets import QFrame, QLabel, QListWidget, QListWidgetItem, QWidget

from gui.course.course_model import CourseModel
from gui.course.two_lines import SECOND_ROLE, TwoLines, plain
from gui.style.letters import follow_letters
from gui.style.metrics import GRID, HALF_GRID, scaled_font
from gui.widgets.elided_label import ElidedLabel
from gui.widgets.panel_parts import column

_MOST_LINES = 8


class PapersList(QListWidget):
    """Chooses the paper that is shown."""

    def __init__(self, course: CourseModel) -> None:
        super().__init__()
        self._course = course
        for paper in course.papers:
            item = QListWidgetItem(paper.title, self)
            item.setData(SECOND_ROLE, paper.authors)
            item.setToolTip(plain(paper.about))
            item.setData(Qt.ItemDataRole.AccessibleTextRole, f"{paper.title}, {paper.authors}")
        self.setItemDelegate(TwoLines(self, bold=True))
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollMode(QListWidget.ScrollMode.ScrollPerPixel)
        self.setAccessibleName("Papers of the course")
        self.setAccessibleDescription("Arrow keys choose a paper.")
        self.currentRowChanged.connect(self._choose)
        course.paper_changed.connect(self._show_choice)
        self._show_choice()
        follow_letters(self, self._keep_words_whole)

    def _keep_words_whole(self) -> None:
        """Be as wide as the longest word at least: lines break between words only."""
        bold = QFontMetrics(scaled_font(1.0, bold=True))
        words = " ".join(f"{paper.title} {paper.authors}" for paper in self._course.papers).split()
        widest = max((bold.horizontalAdvance(word) for word in words), default=0)
        bar = self.verticalScrollBar().sizeHint().width()
        self.setMinimumWidth(widest + 2 * GRID + bar + 2 * self.frameWidth())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        # Titles are wrapped, so heights follow the width.
        self.scheduleDelayedItemsLayout()

    def _choose(self, row: int) -> None:
        if row >= 0:
            self._course.choose(self._course.papers[row].key)

    def _show_choice(self) -> None:
        if self._course.paper:
            self.setCurrentRow(self._course.papers.index(self._course.paper))


class PaperHeader(QWidget):
    """Title, authors, source, and what the paper is about."""

    def __init__(self, course: CourseModel) -> None:
        super().__init__()
        self._course = course
        self.title = QLabel(wordWrap=True, textFormat=Qt.TextFormat.PlainText)
        self.title.setFont(scaled_font(1.25, bold=True))
        self.title.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        # In a low window whole lines are left out.
        self.origin, self.about = ElidedLabel(most=_MOST_LINES, small=True), ElidedLabel(most=_MOST_LINES)
        self.about.setForegroundRole(QPalette.ColorRole.WindowText)
        labels = self.title, self.origin, self.about
        self.setLayout(column(*labels, spacing=HALF_GRID // 2, margins=(GRID, GRID, GRID, HALF_GRID)))
        course.paper_changed.connect(self._show)
        self._show()

    def _show(self) -> None:
        paper = self._course.paper
        self.title.setText(paper.title if paper else "")
        self.origin.setText(" · ".join(filter(None, (paper.authors, paper.source))) if paper else "")
        self.about.setText(plain(paper.about) if paper else "")
