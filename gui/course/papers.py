"""The papers, to choose one, and the header of the one that is shown."""

from PySide6.QtCore import QItemSelectionModel, QModelIndex, Qt
from PySide6.QtGui import QResizeEvent, QStandardItem, QStandardItemModel
from PySide6.QtWidgets import QFrame, QLabel, QListView, QWidget

from gui.course.course_model import CourseModel
from gui.course.kernels_model import SECOND_ROLE, plain
from gui.course.two_lines import TwoLines
from gui.style.metrics import GRID, HALF_GRID
from gui.widgets.panel_parts import column, quiet_label


class PapersList(QListView):
    """Chooses the paper that is shown."""

    def __init__(self, course: CourseModel) -> None:
        super().__init__()
        self._course = course
        papers = QStandardItemModel(self)
        for paper in course.papers:
            item = QStandardItem(paper.title)
            item.setData(paper.authors, SECOND_ROLE)
            item.setToolTip(plain(paper.about))
            item.setAccessibleText(f"{paper.title}, {paper.authors}")
            papers.appendRow(item)
        self.setModel(papers)
        self.setItemDelegate(TwoLines(self, bold=True))
        self.setEditTriggers(QListView.EditTrigger.NoEditTriggers)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollMode(QListView.ScrollMode.ScrollPerPixel)
        self.setAccessibleName("Papers of the course")
        self.setAccessibleDescription("Arrow keys choose a paper.")
        self.selectionModel().currentChanged.connect(self._choose)
        course.paper_changed.connect(self._show_choice)
        self._show_choice()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        # Titles are wrapped, so heights follow the width.
        self.scheduleDelayedItemsLayout()

    def _choose(self, current: QModelIndex, _previous: QModelIndex) -> None:
        if current.isValid():
            self._course.choose(self._course.papers[current.row()].key)

    def _show_choice(self) -> None:
        paper = self._course.paper
        index = self.model().index(self._course.papers.index(paper), 0) if paper else QModelIndex()
        if index.isValid() and index != self.currentIndex():
            self.selectionModel().setCurrentIndex(index, QItemSelectionModel.SelectionFlag.ClearAndSelect)


class PaperHeader(QWidget):
    """Title, authors, source, and what the paper is about."""

    def __init__(self, course: CourseModel) -> None:
        super().__init__()
        self._course = course
        self.title, self.origin, self.about = QLabel(), quiet_label(small=True), QLabel()
        font = self.title.font()
        font.setBold(True)
        font.setPointSizeF(font.pointSizeF() * 1.25)
        self.title.setFont(font)
        labels = self.title, self.origin, self.about
        for label in labels:
            label.setWordWrap(True)
            label.setTextFormat(Qt.TextFormat.PlainText)
            label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.setLayout(column(*labels, spacing=HALF_GRID // 2, margins=(GRID, GRID, GRID, HALF_GRID)))
        course.paper_changed.connect(self._show)
        self._show()

    def _show(self) -> None:
        paper = self._course.paper
        self.title.setText(paper.title if paper else "")
        self.origin.setText(" · ".join(filter(None, (paper.authors, paper.source))) if paper else "")
        self.about.setText(plain(paper.about) if paper else "")
