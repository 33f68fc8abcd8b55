"""The header of a paper's table: the paper's heading once over its pair of columns, and under it whose figures these are."""

from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtGui import QColor, QFontMetrics, QPainter
from PySide6.QtWidgets import QHeaderView, QWidget

from gui.course.course_table_model import CourseTableModel, Side
from gui.style.metrics import GRID, HALF_GRID
from gui.style.theme import current_theme

_TALLEST = 10_000
_HEADING_LINES = 2
_WRAPPED = int(Qt.TextFlag.TextWordWrap) | int(Qt.AlignmentFlag.AlignBottom)


class PairedHeader(QHeaderView):
    """Two lines of headings: the upper one spans the columns of one heading."""

    def __init__(self, model: CourseTableModel, parent: QWidget | None = None) -> None:
        super().__init__(Qt.Orientation.Horizontal, parent)
        self._table = model
        self.setSectionsClickable(False)
        self.setHighlightSections(False)
        self.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        self.setAccessibleName("The paper's headings")
        self.sectionResized.connect(self._repaint)

    def sizeHint(self) -> QSize:
        upper = max((self._upper_height(column) for column in range(self.count())), default=0)
        return QSize(super().sizeHint().width(), upper + self._lower_height() + GRID)

    def minimum_width(self, column: int) -> int:
        """Return the width that a column needs for its headings in few lines, no word cut, pixels."""
        heading = self._table.heading(column)
        metrics = self.fontMetrics()
        longest = max((metrics.horizontalAdvance(word) for word in heading.split()), default=0)
        # In lines of one length; words do not break evenly, so that it may take one line more.
        even = metrics.horizontalAdvance(heading) // _HEADING_LINES
        share = len(self._pair(column))
        below = metrics.horizontalAdvance(self._table.columns[column].side)
        return max(-(-(max(longest, even) + 2 * GRID) // share), below + 2 * GRID)

    def paintSection(self, painter: QPainter, rect: QRect, logical: int) -> None:
        theme = current_theme()
        painter.fillRect(rect, QColor(theme.window))
        painter.setPen(QColor(theme.line))
        painter.drawLine(rect.bottomLeft(), rect.bottomRight())
        columns = self._pair(logical)
        if logical == columns[0] and logical:
            painter.drawLine(rect.topLeft(), rect.bottomLeft())
        side = self._table.columns[logical].side
        has_lower = side is not Side.NAME
        painter.setPen(QColor(theme.text))
        painter.setClipRect(rect)
        place = self._span(columns, rect, logical).adjusted(GRID, HALF_GRID, -GRID, -HALF_GRID)
        if has_lower:
            place.setBottom(place.bottom() - self._lower_height())
        is_words = self._table.is_words(logical)
        align = Qt.AlignmentFlag.AlignLeft if is_words else Qt.AlignmentFlag.AlignRight
        if len(columns) > 1:
            align = Qt.AlignmentFlag.AlignHCenter
        painter.drawText(place, _WRAPPED | int(align), self._table.heading(logical))
        if has_lower:
            painter.setPen(QColor(theme.muted if side is Side.PRINTED else theme.text))
            lower = rect.adjusted(GRID, 0, -GRID, -HALF_GRID)
            below = Qt.AlignmentFlag.AlignLeft if is_words else Qt.AlignmentFlag.AlignRight
            painter.drawText(lower, int(below) | int(Qt.AlignmentFlag.AlignBottom), side.value)

    def _pair(self, column: int) -> list[int]:
        """Return the columns that stand under the same heading of the paper's."""
        heading = self._table.columns[column].heading
        return [at for at, other in enumerate(self._table.columns) if other.heading == heading]

    def _span(self, columns: list[int], rect: QRect, logical: int) -> QRect:
        left = rect.left() - sum(self.sectionSize(column) for column in columns if column < logical)
        return QRect(left, rect.top(), sum(map(self.sectionSize, columns)), rect.height())

    def _upper_height(self, column: int) -> int:
        width = sum(map(self.sectionSize, self._pair(column))) - 2 * GRID
        place = QRect(0, 0, max(width, 1), _TALLEST)
        return self.fontMetrics().boundingRect(place, _WRAPPED, self._table.heading(column)).height()

    def _lower_height(self) -> int:
        return QFontMetrics(self.font()).height()

    def _repaint(self) -> None:
        # The text of a pair goes over both of its columns.
        self.viewport().update()
        self.updateGeometry()
