"""One table of a paper: its headings, each once over its pair of columns; printed figures are quiet."""

import math
import re
from collections import Counter
from dataclasses import replace
from decimal import Decimal

from PySide6.QtCore import QModelIndex, QObject, QRect, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QKeyEvent,
    QPainter,
    QPalette,
    QResizeEvent,
    QStandardItem,
    QStandardItemModel,
)
from PySide6.QtWidgets import (
    QFrame,
    QHeaderView,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
    QWidget,
)

from engine.course.files import Column, Part, columns_of
from engine.course.paper import MISPRINT, Cell, CourseTable
from gui.course.kernels_table import ENTER, TALLEST, plain
from gui.style.metrics import GRID, HALF_GRID
from gui.style.theme import current_theme
from gui.widgets.number_table import Index, dress_table

IS_QUIET_ROLE, IS_RECORDED_ROLE = Qt.ItemDataRole.UserRole, Qt.ItemDataRole.UserRole + 1
EXCERPT_ROLE = Qt.ItemDataRole.UserRole + 2

EMPTY = "–"
# Figures are shorter, "1048576 of 2097152" too; what is longer is read as a sentence.
_LONGEST_FIGURE = 24
_BIG = re.compile(r"\d{4,}")
_COUNTS = re.compile(r"\d+( of \d+)?")
_NUMBER = re.compile(r"-?\d+(\.\d+)?")
# Of a heading: a line may end after a hyphen.
_BREAKABLE = re.compile(r"[^\s-]+-?|-")
_UNITS = ("s", "ms", "µs", "ns")
_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
# A text in a cell may be a sentence; where there is no room for it in a line, it is wrapped.
_WIDEST = 40 * GRID
_NARROWEST_SENTENCE = 30 * GRID
# Beside a heading: as far from the edge as the figures, and less on the other side.
_NEAR = 2
_HEAD_MARGINS = GRID + 2 * _NEAR
# The least width of a column of figures whose heading is over no other one.
_ALONE = 6 * GRID - 2
# Of a column, and how many lines its heading may take: the first with which all columns are in sight.
_FITS = ((8 * GRID, HALF_GRID, 2), (5 * GRID, 0, 3), (5 * GRID, 0, 4))
_WRAPPED = int(Qt.TextFlag.TextWordWrap) | int(Qt.AlignmentFlag.AlignBottom)


def reasons_of(table: CourseTable) -> tuple[str, ...]:
    """Return why cells are empty: each reason once, with its number of cells."""
    reasons = Counter(cell.reason for row in table.rows for cell in row if cell.reason and not cell.here)
    return tuple(
        f"{EMPTY} ({count} cell{'s' if count != 1 else ''}): {reason}" for reason, count in reasons.items()
    )


class CourseTableModel(QStandardItemModel):
    """One table of a paper; `columns` are those of the view."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.columns: tuple[Column, ...] = ()
        self._table: CourseTable | None = None

    def show(self, table: CourseTable | None) -> None:
        if table == self._table:
            return
        self._table = table
        table = table and _in_short_units(table)
        columns = columns_of(table) if table else ()
        self.columns = tuple(replace(one, heading=plain(one.heading)) for one in columns)
        self.clear()
        if table is None:
            return
        names = [one.position for one in self.columns if one.part is Part.NAME]
        row_names = [", ".join(row[at].printed for at in names) for row in table.rows]
        for index, column in enumerate(self.columns):
            cells = [row[column.position] for row in table.rows]
            # As the paper has them in this column: 1,048,576 unless it printed such counts without commas.
            has_commas = not any(_BIG.search(cell.printed) for cell in cells)
            named = zip(cells, row_names, strict=True)
            items = [_item(cell, column, name, has_commas) for cell, name in named]
            is_code = bool(table.excerpts) and column == self.columns[-1]
            if is_code:
                for item, of_row in zip(items, table.excerpts, strict=True):
                    # Kernels, files and lines are in the tooltip, and above the code itself.
                    item.setText("\n".join(dict.fromkeys(one.code.partition(":")[0] for one in of_row)))
                    item.setData(of_row[0] if of_row else None, EXCERPT_ROLE)
                    places = (f"{one.code}: {one.where}" for one in of_row)
                    item.setToolTip("\n".join((*places, "A click or Enter shows the code.")))
            header = QStandardItem(column.heading)
            whose = {
                Part.PAPER: ", as the paper printed it",
                Part.HERE: ", on this machine",
                Part.RECORDED: ", recorded on another machine: the note below names it",
            }
            header.setToolTip(column.heading + whose.get(column.part, ""))
            # Names and sentences are read from the left, figures from the right.
            is_words = column.part is Part.NAME or is_code
            texts = [item.text() for item in items if item.text() != EMPTY]
            is_words = is_words or any(len(text) > _LONGEST_FIGURE for text in texts)
            is_words = is_words or (bool(texts) and not any(map(str.isdigit, "".join(texts))))
            for item in (header, *items):
                item.setTextAlignment(_LEFT if is_words else _RIGHT)
            self.appendColumn(items)
            self.setHorizontalHeaderItem(index, header)

    def is_words(self, column: int) -> bool:
        """Return whether a column holds names or sentences, and not figures."""
        head = self.horizontalHeaderItem(column)
        return head is not None and bool(head.textAlignment() & Qt.AlignmentFlag.AlignLeft)


def _in_short_units(table: CourseTable) -> CourseTable:
    """Return a table with times in the unit that the shortest has one of; the paper's digits stay."""
    headings, columns = list(table.headings), list(zip(*table.rows, strict=True))
    for at, cells in enumerate(columns):
        texts = [text for cell in cells for text in (cell.printed, cell.here, cell.recorded) if text]
        is_time = headings[at].endswith("(s)") and all(map(_NUMBER.fullmatch, texts))
        if is_time and (times := [abs(float(text)) for text in texts if float(text)]):
            thousands = min(max(math.ceil(-math.log10(min(times)) / 3), 0), len(_UNITS) - 1)
            headings[at] = f"{headings[at].removesuffix('(s)')}({_UNITS[thousands]})"
            columns[at] = tuple(_moved(cell, 3 * thousands) for cell in cells)
    return replace(table, headings=tuple(headings), rows=tuple(zip(*columns, strict=True)))


def _moved(cell: Cell, digits: int) -> Cell:
    """Return a cell of numbers, each with its point so many digits further right."""
    texts = cell.printed, cell.here, cell.recorded
    printed, here, recorded = (text and f"{Decimal(text).scaleb(digits):f}" for text in texts)
    return replace(cell, printed=printed, here=here, recorded=recorded)


def _item(cell: Cell, column: Column, row_name: str, has_commas: bool) -> QStandardItem:
    figure = plain(cell.recorded if column.part is Part.RECORDED else cell.here)
    if has_commas and _COUNTS.fullmatch(figure):
        # A spreadsheet takes the digits alone.
        figure = _BIG.sub(lambda digits: f"{int(digits[0]):,}", figure)
    text = figure or EMPTY if column.part in (Part.HERE, Part.RECORDED) else cell.marked
    item = QStandardItem(text)
    item.setData(column.part is Part.PAPER or text == EMPTY, IS_QUIET_ROLE)
    item.setData(column.part is Part.RECORDED, IS_RECORDED_ROLE)
    if column.part is Part.NAME:
        item.setAccessibleText(text)
        item.setToolTip(text)
        return item
    where = ", ".join(filter(None, (column.heading, row_name)))
    if column.part is Part.PAPER:
        about = f"the paper printed {cell.printed}." if text else "not in the paper."
        if cell.is_misprint:
            about += f" A misprint: the note below that begins with {MISPRINT} says what is right."
    elif column.part is Part.RECORDED:
        about = f"{text}, recorded on another machine." if cell.recorded else "not recorded."
    else:
        about = f"{text} on this machine." if cell.here else f"empty. {cell.reason}".rstrip()
    item.setToolTip(f"{where}: {about}")
    item.setAccessibleText(f"{where}: {about}")
    return item


class PairedHeader(QHeaderView):
    """Two lines of headings: the upper one spans the columns of one heading."""

    def __init__(self, model: CourseTableModel, parent: QWidget | None = None) -> None:
        super().__init__(Qt.Orientation.Horizontal, parent)
        self._table = model
        self.setSectionsClickable(False)
        self.setHighlightSections(False)
        self.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        self.setAccessibleName("The paper's headings")
        # The text of a pair goes over both of its columns.
        self.sectionResized.connect(lambda: self.viewport().update())
        self.sectionResized.connect(lambda: self.updateGeometry())

    def sizeHint(self) -> QSize:
        metrics, upper = self.fontMetrics(), 0
        for column in range(self.count()):
            width = max(1, sum(map(self.sectionSize, self._pair(column))) - GRID - _NEAR)
            heading = self._shown(self._table.columns[column].heading, width)
            area = metrics.boundingRect(QRect(0, 0, width, TALLEST), _WRAPPED, heading)
            upper = max(upper, area.height())
        return QSize(super().sizeHint().width(), upper + metrics.height() + GRID)

    def minimum_width(self, column: int, lines: int) -> int:
        """Return the width that a column needs for its headings in so many lines, no word cut, pixels."""
        heading = self._table.columns[column].heading
        metrics = self.fontMetrics()
        longest = max(map(metrics.horizontalAdvance, _BREAKABLE.findall(heading)), default=0)
        # In lines of one length; words do not break evenly, so that it may take one line more.
        even = metrics.horizontalAdvance(heading) // lines
        share = len(self._pair(column))
        return max(-(-(max(longest, even) + _HEAD_MARGINS) // share), self.least_width(column))

    def least_width(self, column: int) -> int:
        """Return the width of a column whose heading is cut, pixels; of a name's, which is not."""
        one = self._table.columns[column]
        words = [one.part] if one.part else _BREAKABLE.findall(one.heading)
        longest = max(map(self.fontMetrics().horizontalAdvance, words), default=0) + _HEAD_MARGINS
        return longest if one.part is Part.NAME or len(self._pair(column)) > 1 else max(longest, _ALONE)

    def paintSection(self, painter: QPainter, rect: QRect, logical: int) -> None:
        theme = current_theme()
        painter.fillRect(rect, QColor(theme.window))
        painter.setPen(QColor(theme.line))
        painter.drawLine(rect.bottomLeft(), rect.bottomRight())
        columns = self._pair(logical)
        if logical == columns[0] and logical:
            painter.drawLine(rect.topLeft(), rect.bottomLeft())
        column = self._table.columns[logical]
        has_lower = column.part is not Part.NAME
        painter.setPen(QColor(theme.text))
        painter.setClipRect(rect)
        is_words = self._table.is_words(logical)
        align = Qt.AlignmentFlag.AlignLeft if is_words else Qt.AlignmentFlag.AlignRight
        sides = (GRID, -_NEAR) if is_words else (_NEAR, -GRID)
        left = rect.left() - sum(self.sectionSize(column) for column in columns if column < logical)
        span = QRect(left, rect.top(), sum(map(self.sectionSize, columns)), rect.height())
        area = span.adjusted(sides[0], HALF_GRID, sides[1], -HALF_GRID)
        if has_lower:
            area.setBottom(area.bottom() - self.fontMetrics().height())
        if len(columns) > 1:
            align = Qt.AlignmentFlag.AlignHCenter
        painter.drawText(area, _WRAPPED | int(align), self._shown(column.heading, area.width()))
        if has_lower:
            painter.setPen(QColor(theme.muted if column.part is Part.PAPER else theme.text))
            lower = rect.adjusted(sides[0], 0, sides[1], -HALF_GRID)
            below = Qt.AlignmentFlag.AlignLeft if is_words else Qt.AlignmentFlag.AlignRight
            painter.drawText(lower, int(below) | int(Qt.AlignmentFlag.AlignBottom), column.part)

    def _pair(self, column: int) -> list[int]:
        """Return the columns under the same heading of the paper's."""
        position = self._table.columns[column].position
        return [at for at, other in enumerate(self._table.columns) if other.position == position]

    def _shown(self, heading: str, width: int) -> str:
        """Return a heading whose words fit a width; no line ends within a unit such as GB/s."""
        cut, mode = self.fontMetrics().elidedText, Qt.TextElideMode.ElideRight
        words = _BREAKABLE.sub(lambda word: cut(word[0], mode, width), heading)
        return re.sub(r"(?<=\S)/(?=\S)", "\u2060/\u2060", words)


class _CourseCells(QStyledItemDelegate):
    def initStyleOption(self, option: QStyleOptionViewItem, index: Index) -> None:
        super().initStyleOption(option, index)
        theme = current_theme()
        colour = QColor(theme.muted if index.data(IS_QUIET_ROLE) else theme.text)
        if index.data(EXCERPT_ROLE) is not None:
            colour = QColor(theme.accent)
        option.palette.setColor(QPalette.ColorRole.Text, colour)
        option.palette.setColor(QPalette.ColorRole.HighlightedText, colour)
        option.palette.setColor(QPalette.ColorRole.Highlight, QColor(theme.raised))
        option.font.setItalic(bool(index.data(IS_RECORDED_ROLE)))

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        # With a style sheet's padding, Qt wraps but leaves no room above and below the lines.
        area = QRect(0, 0, option.rect.width() - 2 * GRID, TALLEST)
        words = option.fontMetrics.boundingRect(area, int(Qt.TextFlag.TextWordWrap), index.data() or "")
        return QSize(option.rect.width(), words.height() + GRID)


class CourseTableView(QTableView):
    """Shows a CourseTable; arrow keys go from cell to cell, the tooltip says more of each."""

    code_wanted = Signal(object)  # the Excerpt of the cell that was clicked

    def __init__(self) -> None:
        super().__init__()
        self.cells = CourseTableModel(self)
        self.setModel(self.cells)
        self.setItemDelegate(_CourseCells(self))
        self.header = PairedHeader(self.cells, self)
        self.setHorizontalHeader(self.header)
        self.setFrameShape(QFrame.Shape.NoFrame)
        dress_table(self, "Table of the paper")
        self.setSelectionBehavior(QTableView.SelectionBehavior.SelectItems)
        self.setWordWrap(True)
        self.verticalHeader().setMinimumSectionSize(3 * GRID)
        self.clicked.connect(self._want_code)
        self.setMouseTracking(True)
        self.entered.connect(self._show_hand)
        self.viewportEntered.connect(lambda: self.viewport().unsetCursor())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in ENTER and self.currentIndex().data(EXCERPT_ROLE) is not None:
            self._want_code(self.currentIndex())
        else:
            super().keyPressEvent(event)

    def _want_code(self, index: QModelIndex) -> None:
        if (excerpt := index.data(EXCERPT_ROLE)) is not None:
            self.code_wanted.emit(excerpt)

    def _show_hand(self, index: QModelIndex) -> None:
        is_link, shapes = index.data(EXCERPT_ROLE) is not None, Qt.CursorShape
        self.viewport().setCursor(shapes.PointingHandCursor if is_link else shapes.ArrowCursor)

    def show_table(self, table: CourseTable | None) -> None:
        self.cells.show(table)
        self.setAccessibleName(table.title if table else "Table of the paper")
        self._share_width()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._share_width()

    def _share_width(self) -> None:
        """Give each column the width it needs; sentences share the rest, and are wrapped."""
        columns, space = range(self.cells.columnCount()), self.viewport().width()
        width_of, sides = self.fontMetrics().horizontalAdvance, 2 * GRID + HALF_GRID
        cells = []
        for column in columns:
            texts = (self.cells.index(row, column).data() for row in range(self.cells.rowCount()))
            parts = (part for text in texts for part in text.split("\n"))
            cells.append(max(map(width_of, parts), default=0) + sides)
        for narrowest, padding, lines in _FITS:
            wanted = [self.header.minimum_width(column, lines) for column in columns]
            widths = [max(cell + padding, head, narrowest) for cell, head in zip(cells, wanted, strict=True)]
            sentences = [column for column in columns if widths[column] > _WIDEST]
            if sentences or sum(widths) <= space:
                break
        if columns and sum(widths) > space and not sentences:
            # Words of headings are cut then, as little as can be, and if need be the longest name: both are
            # whole in their tooltips. Where that is not enough either, nothing is cut, and the table scrolls.
            least = [max(cells[column], self.header.least_width(column)) for column in columns]
            names, short = filter(self.cells.is_words, columns), sum(least) - space
            name = max(names, key=least.__getitem__, default=0)
            if short <= least[name] // 3:
                least[name] -= max(0, short)
                kept = (space - sum(least)) / (sum(widths) - sum(least))
                widths = [int(low + (high - low) * kept) for low, high in zip(least, widths, strict=True)]
        missing, whole = max(0, sum(widths) - space), sum(widths[column] for column in sentences)
        for column in sentences:
            needed = widths[column]
            narrowest = min(_NARROWEST_SENTENCE, needed // 2)
            # What is missing is taken from each in the share of what it needs.
            widths[column] = max(narrowest, needed - -(-missing * needed // whole))
        for column in columns:
            self.setColumnWidth(column, widths[column])
        self.header.updateGeometry()
        self.updateGeometries()
        if sentences:
            self.resizeRowsToContents()
            return
        # The rows of a table before had sentences, perhaps.
        for row in range(self.cells.rowCount()):
            self.setRowHeight(row, self.verticalHeader().defaultSectionSize())
