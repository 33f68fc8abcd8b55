"""Which kernel is which: the paper's names and the variants here; the selected one is loaded, or read."""

from PySide6.QtCore import QPoint, QRect, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFont, QFontMetrics, QKeyEvent, QPainter, QPen, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QHeaderView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableWidget,
    QTableWidgetItem,
)

from engine.course.paper import CourseKernel
from engine.geometry.block import Layout
from gui.course.course_model import CourseModel
from gui.style.metrics import GRID, HALF_GRID, follow, follow_letters, number_font, small_font
from gui.style.theme import current_theme, series_for
from gui.widgets.number_table import Index, dress_table
from gui.widgets.panel_parts import text_button

ENTER = (Qt.Key.Key_Return, Qt.Key.Key_Enter)
# Of each column its heading, its tooltip, and its share of the width.
_COLUMNS = (
    ("In the paper", "What the paper calls the kernel, and where it is.", 0.28),
    ("Here", "The variant that does the same, in its colour and shape, and what is loaded with it.", 0.29),
    ("What differs", "What is not as in the paper, and why.", 0.43),
)


def configuration_text(kernel: CourseKernel) -> str:
    """Return how a kernel is run, without its variant, in a line."""
    block = str(kernel.block or "")
    if kernel.is_product:
        return f"tile {block}" if block else ""
    if not kernel.mask:
        return f"stage of the {kernel.task}"
    layout = "" if kernel.layout == Layout.PITCHED else f"rows {kernel.layout}"
    return ", ".join(filter(None, (kernel.mask, block, f"border {kernel.border}", layout)))


class KernelsTable(QTableWidget):
    """A row per kernel, loaded by Enter, a double click or `load_button`; the page lays both buttons out."""

    load_wanted = Signal(object)  # the person wants the configuration of this CourseKernel
    code_wanted = Signal(object)  # or its code

    def __init__(self, course: CourseModel) -> None:
        super().__init__(0, len(_COLUMNS))
        self._course = course
        self.setItemDelegate(TwoLines(self))
        self.load_button = text_button("load", "Load", "Load the selected kernel", "")
        self.code_button = text_button("code-tags", "Code", "Code of the selected kernel", "")
        for button in (self.load_button, self.code_button):
            # Before it is laid out: shown without a parent it would be a window.
            button.setParent(self)
            button.setAutoRaise(False)
        dress_table(self, "Which kernel is which")
        self.setAlternatingRowColors(False)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setAccessibleDescription("Enter loads the kernel of a row.")
        self.setSelectionMode(QTableWidget.SelectionMode.SingleSelection)
        self.setVerticalScrollMode(QTableWidget.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setWordWrap(True)
        self.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.horizontalHeader().setSectionsClickable(False)
        for column, (heading, tip, _share) in enumerate(_COLUMNS):
            header = QTableWidgetItem(heading)
            header.setToolTip(tip)
            header.setTextAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
            self.setHorizontalHeaderItem(column, header)
        self.load_button.clicked.connect(self._load)
        self.code_button.clicked.connect(lambda: self.code_wanted.emit(self.kernel(self.currentRow())))
        self.itemSelectionChanged.connect(self._explain_buttons)
        self.doubleClicked.connect(self._load)
        follow(self._show_kernels, course.paper_changed)
        follow_letters(self, self._share_width)

    def kernel(self, row: int) -> CourseKernel:
        assert self._course.paper is not None
        return self._course.paper.kernels[row]

    @property
    def needed_height(self) -> int:
        """Height of all rows and the header, pixels."""
        return self.horizontalHeader().height() + self.verticalHeader().length() + 2 * self.frameWidth()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in ENTER and self.currentIndex().isValid():
            self._load()
        else:
            super().keyPressEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._share_width()

    def _load(self) -> None:
        self.load_wanted.emit(self.kernel(self.currentRow()))

    def _share_width(self) -> None:
        for column, (_heading, _tip, share) in enumerate(_COLUMNS):
            self.setColumnWidth(column, int(self.viewport().width() * share))
        self.resizeRowsToContents()

    def _show_kernels(self) -> None:
        kernels = self._course.paper.kernels if self._course.paper else ()
        self.setRowCount(0)
        self.setRowCount(len(kernels))
        for row, kernel in enumerate(kernels):
            here = kernel.variant, configuration_text(kernel)
            texts = (kernel.name, kernel.place), here, (plain(kernel.difference) or "Nothing.", "")
            for column, (first, second) in enumerate(texts):
                item = QTableWidgetItem(first)
                item.setData(SECOND_ROLE, second)
                item.setData(VARIANT_ROLE, kernel.variant if column == 1 else None)
                item.setData(Qt.ItemDataRole.AccessibleTextRole, ", ".join(filter(None, (first, second))))
                item.setToolTip(f"Double click or Enter loads {kernel.name}.")
                self.setItem(row, column, item)
        self._share_width()
        self.setCurrentCell(0, 0)
        self._explain_buttons()
        self.scrollToTop()

    def _explain_buttons(self) -> None:
        kernel = self.kernel(self.currentRow()) if self.currentRow() >= 0 else None
        for button in (self.load_button, self.code_button):
            button.setEnabled(kernel is not None)
        if kernel is not None:
            does = f"Load this configuration ({kernel.variant}) and show it on its page (Enter)."
            self.load_button.setToolTip(does)
            beside = ", beside it with the paper's names" if kernel.names else ""
            self.code_button.setToolTip(f"Show the code of {kernel.variant}{beside}.")


SECOND_ROLE, VARIANT_ROLE = Qt.ItemDataRole.UserRole, Qt.ItemDataRole.UserRole + 1
"""The second line, and the variant whose shape stands before the first one."""

_BAR_WIDTH = 3
_SHAPE_WIDTH = 2 * GRID + HALF_GRID
_WRAP = int(Qt.TextFlag.TextWordWrap) | int(Qt.AlignmentFlag.AlignLeft) | int(Qt.AlignmentFlag.AlignTop)
TALLEST = 10_000


class TwoLines(QStyledItemDelegate):
    """Paints a cell, its first line bold on request; the shape of a variant stands before the words."""

    def __init__(self, view: QAbstractItemView, *, bold: bool = False) -> None:
        super().__init__(view)
        self._view, self._bold = view, bold

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        # The option of a list has no width, that of a table the column's.
        width = option.rect.width() or self._view.viewport().width()
        first, second = self._lines(index, QRect(0, 0, width, TALLEST))
        bottom = second.bottom() if index.data(SECOND_ROLE) else first.bottom()
        return QSize(width, bottom + 1 + GRID)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        theme = current_theme()
        rect: QRect = option.rect
        painter.save()
        if option.state & QStyle.StateFlag.State_Selected:
            painter.fillRect(rect, QColor(theme.raised))
            if index.column() == 0:
                bar = QRect(rect.left(), rect.top(), _BAR_WIDTH, rect.height())
                painter.fillRect(bar, QColor(theme.accent))
        first, second = self._lines(index, rect)
        variant = index.data(VARIANT_ROLE)
        if variant:
            series = series_for(variant)
            painter.setFont(self._font())
            painter.setPen(QColor(series.colour))
            baseline = first.top() + QFontMetrics(self._font()).ascent()
            painter.drawText(rect.left() + GRID, baseline, series.glyph)
        painter.setPen(QColor(theme.text))
        painter.setFont(self._font())
        painter.drawText(first, _WRAP, _breakable(index.data()))
        painter.setPen(QColor(theme.muted))
        painter.setFont(small_font())
        painter.drawText(second, _WRAP, _breakable(index.data(SECOND_ROLE)))
        if option.state & QStyle.StateFlag.State_Selected and self._view.hasFocus():
            # A dotted line around the row: the bar at its left is there without the focus, too.
            left = rect.left() + 1 if index.column() == 0 else rect.left() - 2
            has_next = index.sibling(index.row(), index.column() + 1).isValid()
            right = rect.right() + 2 if has_next else rect.right() - 1
            painter.setClipRect(rect)
            painter.setPen(QPen(QColor(theme.muted), 1, Qt.PenStyle.DotLine))
            painter.drawRect(QRect(QPoint(left, rect.top() + 1), QPoint(right - 1, rect.bottom() - 2)))
        painter.restore()

    def _lines(self, index: Index, rect: QRect) -> tuple[QRect, QRect]:
        left = GRID + (_SHAPE_WIDTH if index.data(VARIANT_ROLE) else 0)
        inner = rect.adjusted(left, GRID - 2, -GRID, 0)
        first = _wrapped(self._font(), inner, index.data())
        below = QRect(inner.left(), first.bottom() + 1, inner.width(), TALLEST)
        return first, _wrapped(small_font(), below, index.data(SECOND_ROLE))

    def _font(self) -> QFont:
        font = number_font()
        font.setBold(self._bold)
        return font


def _wrapped(font: QFont, area: QRect, words: str | None) -> QRect:
    """Return the part of a place that wrapped words take, in its full width."""
    needed = QFontMetrics(font).boundingRect(QRect(0, 0, area.width(), TALLEST), _WRAP, _breakable(words))
    return QRect(area.left(), area.top(), area.width(), needed.height())


def _breakable(words: str | None) -> str:
    """Allow a line break after each underscore of names such as convolution_1D_tiled_kernel."""
    return (words or "").replace("_", "_\u200b")


def plain(markdown: str) -> str:
    """Return a text without the back quotes of keys, which are for Markdown."""
    return markdown.replace("`", "")
