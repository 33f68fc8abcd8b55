"""The papers, to choose one."""

from typing import Any

from PySide6.QtCore import (
    QAbstractListModel,
    QItemSelectionModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QSize,
    Qt,
)
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QListView, QWidget

from gui.course.course_kernels import SECOND_ROLE
from gui.course.course_model import CourseModel
from gui.course.two_lines import TwoLines
from gui.style.metrics import GRID
from gui.style.theme import theme_notifier

Index = QModelIndex | QPersistentModelIndex
_NO_PARENT = QModelIndex()


class _Papers(QAbstractListModel):
    def __init__(self, course: CourseModel, parent: QObject) -> None:
        super().__init__(parent)
        self._papers = course.papers

    def rowCount(self, parent: Index = _NO_PARENT) -> int:
        return 0 if parent.isValid() else len(self._papers)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        paper = self._papers[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return paper.title
        if role == SECOND_ROLE:
            return paper.authors
        if role == Qt.ItemDataRole.ToolTipRole:
            return paper.about
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return f"{paper.title}, {paper.authors}"
        return None


class PapersList(QListView):
    """Chooses the paper that is shown."""

    def __init__(self, course: CourseModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._course = course
        self.setModel(_Papers(course, self))
        self.setItemDelegate(TwoLines(self, bold=True))
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollMode(QListView.ScrollMode.ScrollPerPixel)
        self.setAccessibleName("Papers of the course")
        self.setAccessibleDescription("Arrow keys choose a paper.")
        self.selectionModel().currentChanged.connect(self._choose)
        course.paper_changed.connect(self._show_choice)
        theme_notifier().changed.connect(self.viewport().update)
        self._show_choice()

    def sizeHint(self) -> QSize:
        return QSize(31 * GRID, 40 * GRID)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        # Titles are wrapped, so heights follow the width.
        self.scheduleDelayedItemsLayout()

    def _choose(self, current: QModelIndex, _previous: QModelIndex) -> None:
        if current.isValid():
            self._course.choose(self._course.papers[current.row()].key)

    def _show_choice(self) -> None:
        paper = self._course.paper
        row = self._course.papers.index(paper) if paper else -1
        index = self.model().index(row, 0)
        if row >= 0 and index != self.currentIndex():
            self.selectionModel().setCurrentIndex(index, QItemSelectionModel.SelectionFlag.ClearAndSelect)
