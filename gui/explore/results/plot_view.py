"""The plot of the runs: a list with a bar in each row, so that keys, selection and scrolling are a list's."""

from collections.abc import Callable

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetrics, QKeyEvent, QPainter, QPen, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
    QWidget,
)

from engine.device_info import RECORDED
from engine.results.columns import SPEED_UP
from gui.explore.results.plot_model import BAR, NAME, NUMBER, RATIO, ROW_ROLE, PlotModel
from gui.explore.results.plot_rows import Order, PlotRow
from gui.style.letters import follow_letters
from gui.style.metrics import EARLIER_OPACITY, GRID, HALF_GRID, number_font, small_font
from gui.style.series import series_for
from gui.style.theme import current_theme
from gui.widgets.runs_model import PIN

Index = QModelIndex | QPersistentModelIndex
# Makes the word of a tick.
TickText = Callable[[float], str]

# Five rows and the words below them on a small screen.
_LEAST_ROW = 3 * GRID - 2
_BAR_HEIGHT = 10
_SPREAD_HEIGHT = 4
_CHOSEN_WIDTH = 3
_GLYPH_WIDTH = 3 * GRID
# Of the width: what names may take where bars would be short, and what bars have before that.
_NAMES_SHARE, _BARS_SHARE = 0.3, 0.3
_OLDER_OPACITY = 0.5
_VCENTER = int(Qt.AlignmentFlag.AlignVCenter)


def row_height() -> int:
    """Return the height of a row, whose letters may be large."""
    return max(_LEAST_ROW, QFontMetrics(number_font()).height() + HALF_GRID)


class PlotView(QTableView):
    """Shows the rows; the axis stands in the header over the bars."""

    def __init__(self, model: PlotModel, tick_text: TickText) -> None:
        super().__init__()
        self.plot_model = model
        self._axis = _AxisHeader(self, tick_text)
        self.setHorizontalHeader(self._axis)
        self.setModel(model)
        self._cells = _Cells(self)
        self.setItemDelegate(self._cells)
        self.setFont(number_font())
        self.setFrameShape(QTableView.Shape.NoFrame)
        self.setShowGrid(False)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setTabKeyNavigation(False)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.verticalHeader().hide()
        self.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.verticalHeader().setMinimumSectionSize(1)
        self.setAccessibleName("Time and speed-up of the runs")
        self._axis.sectionClicked.connect(self._sort)
        model.drawn.connect(self._follow)
        follow_letters(self, self._fit_letters)

    def minimumSizeHint(self) -> QSize:
        return QSize(30 * GRID, self._axis.sizeHint().height() + 2 * row_height())

    def sizeHint(self) -> QSize:
        return QSize(60 * GRID, self.whole_height)

    @property
    def whole_height(self) -> int:
        """The height in which every row is seen."""
        return self._axis.sizeHint().height() + self.plot_model.rowCount() * row_height()

    def draw(self, painter: QPainter, width: int) -> None:
        """Draw the axis and all rows, whichever are in view; for pictures of the plot."""
        theme, top, high = current_theme(), self._axis.sizeHint().height(), row_height()
        widths = self._widths(width)
        painter.fillRect(0, 0, width, self.whole_height, QColor(theme.base))
        left = 0
        for column, wide in enumerate(widths):
            self._axis.paintSection(painter, QRect(left, 0, wide, top), column)
            for row in range(self.plot_model.rowCount()):
                option = QStyleOptionViewItem()
                self.initViewItemOption(option)
                option.rect = QRect(left, top + row * high, wide, high)
                self._cells.paint(painter, option, self.plot_model.index(row, column))
            left += wide

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit_letters(self) -> None:
        self.verticalHeader().setDefaultSectionSize(row_height())
        self.updateGeometry()
        self._follow()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        # Return restores a run, as a double click does; Qt gives it to editing, of which there is none.
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.currentIndex().isValid():
            self.activated.emit(self.currentIndex())
        else:
            super().keyPressEvent(event)

    def _sort(self, column: int) -> None:
        self.plot_model.sort_by(Order.TEACHING if column == NAME else Order.BEST)

    def _follow(self) -> None:
        words = map(self.plot_model.words, range(self.plot_model.rowCount()))
        self.setAccessibleDescription("; ".join(words))
        self.setColumnHidden(RATIO, self.plot_model.shown.shown.key == SPEED_UP)
        self._fit()
        self.viewport().update()

    def _fit(self) -> None:
        for column, width in enumerate(self._widths(self.viewport().width())):
            self.setColumnWidth(column, width)

    def _widths(self, whole: int) -> list[int]:
        """Return the widths of the columns: names and numbers as they need, the bars what is left."""
        metrics = QFontMetrics(number_font())
        heads = QFontMetrics(small_font())

        def widest(column: int) -> int:
            model = self.plot_model
            head = heads.horizontalAdvance(model.headerData(column, Qt.Orientation.Horizontal))
            texts = (str(model.index(row, column).data() or "") for row in range(model.rowCount()))
            return max([head, *map(metrics.horizontalAdvance, texts)]) + 2 * GRID + 1

        numbers = [0 if self.isColumnHidden(column) else widest(column) for column in (NUMBER, RATIO)]
        names = [self._cells.name_width(row) for row in self.plot_model.rows()]
        name = max([heads.horizontalAdvance("Kernel ▾") + 2 * GRID, *names])
        room = max(0, whole - sum(numbers))
        name = min(name, max(int(_NAMES_SHARE * whole), room - int(_BARS_SHARE * whole)), room)
        return [name, max(0, room - name), *numbers]


class _Cells(QStyledItemDelegate):
    """Paints a row: its mark and name, its bar, its numbers."""

    def __init__(self, view: PlotView) -> None:
        super().__init__(view)
        self._view = view

    def name_width(self, row: PlotRow) -> int:
        """Return the width of a name with its mark, its pin and its note."""
        metrics = QFontMetrics(number_font())
        return _GLYPH_WIDTH + metrics.horizontalAdvance(self._name(row)) + GRID

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        theme = current_theme()
        row: PlotRow = index.data(ROW_ROLE)
        rect: QRect = option.rect
        is_selected = bool(option.state & QStyle.StateFlag.State_Selected)
        painter.save()
        painter.fillRect(rect, QColor(theme.raised if is_selected else theme.base))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if self._view.plot_model.shown.is_earlier:
            painter.setOpacity(EARLIER_OPACITY)
        font = number_font()
        painter.setFont(font)
        match index.column():
            case column if column == NAME:
                self._paint_name(painter, rect, row, is_selected)
            case column if column == BAR:
                self._paint_bar(painter, rect, row)
            case _:
                painter.setPen(QColor(theme.text))
                right = int(Qt.AlignmentFlag.AlignRight) | _VCENTER
                painter.drawText(rect.adjusted(0, 0, -GRID, 0), right, str(index.data()))
        is_current = index.row() == self._view.currentIndex().row()
        if option.state & QStyle.StateFlag.State_HasFocus or (self._view.hasFocus() and is_current):
            painter.setPen(QPen(QColor(theme.muted), 1, Qt.PenStyle.DotLine))
            painter.drawLine(rect.left(), rect.bottom(), rect.right(), rect.bottom())
        painter.restore()

    def _name(self, row: PlotRow) -> str:
        results = self._view.plot_model.results
        note = results.note_of(row.run.result)
        pin = f"{PIN} " if results.is_pinned(row.run.result) else ""
        return f"{pin}{row.name}{f' – {note}' if note else ''}"

    def _paint_name(self, painter: QPainter, rect: QRect, row: PlotRow, is_selected: bool) -> None:
        theme, series = current_theme(), series_for(row.run.result.variant)
        if is_selected:
            painter.fillRect(
                QRect(rect.left(), rect.top(), _CHOSEN_WIDTH, rect.height()), QColor(theme.accent)
            )
        painter.setPen(QColor(series.colour))
        mark = QRect(rect.left(), rect.top(), _GLYPH_WIDTH, rect.height())
        painter.drawText(mark, int(Qt.AlignmentFlag.AlignCenter), series.glyph)
        painter.setPen(QColor(theme.text))
        inner = rect.adjusted(_GLYPH_WIDTH, 0, -HALF_GRID, 0)
        # The middle of a long name goes: variant and block stay known.
        name = painter.fontMetrics().elidedText(self._name(row), Qt.TextElideMode.ElideMiddle, inner.width())
        painter.drawText(inner, _VCENTER, name)

    def _paint_bar(self, painter: QPainter, rect: QRect, row: PlotRow) -> None:
        theme, scale = current_theme(), self._view.plot_model.scale
        field = QRectF(rect.adjusted(0, 0, -HALF_GRID, 0))

        def x(value: float) -> float:
            return field.left() + scale.share(value) * field.width()

        painter.setPen(QPen(QColor(theme.line), 1))
        for tick in scale.ticks:
            painter.drawLine(round(x(tick)), rect.top(), round(x(tick)), rect.bottom())
        colour = QColor(series_for(row.run.result.variant).colour)
        middle, begin = field.center().y(), x(0.0) if not scale.is_log else field.left()
        bar = QRectF(begin, middle - _BAR_HEIGHT / 2, x(row.value) - begin, _BAR_HEIGHT).normalized()
        if row.run.result.device == RECORDED:
            # Filled is what this machine measured.
            painter.setPen(QPen(colour, 1.5))
            painter.drawRect(bar.adjusted(0.75, 0.75, -0.75, -0.75))
        else:
            painter.fillRect(bar, colour)
        painter.setOpacity(painter.opacity() * _OLDER_OPACITY)
        for older in row.older:
            painter.fillRect(QRectF(x(older) - 1, middle - _BAR_HEIGHT / 2 - 3, 2, _BAR_HEIGHT + 6), colour)
        painter.setOpacity(painter.opacity() / _OLDER_OPACITY)
        if row.spread:
            p20, p80, minimum = row.spread
            ink = QColor(theme.text)
            wide = max(1.0, x(p80) - x(p20))
            painter.fillRect(QRectF(x(p20), middle - _SPREAD_HEIGHT / 2, wide, _SPREAD_HEIGHT), ink)
            painter.fillRect(QRectF(x(minimum) - 0.75, middle - _BAR_HEIGHT / 2, 1.5, _BAR_HEIGHT), ink)


class _AxisHeader(QHeaderView):
    """The header: titles of the columns, and over the bars the words of the ticks."""

    def __init__(self, view: QWidget, tick_text: TickText) -> None:
        super().__init__(Qt.Orientation.Horizontal, view)
        self._tick_text = tick_text
        self.setFont(small_font())
        self.setSectionsClickable(True)
        self.setHighlightSections(False)
        self.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.setMinimumSectionSize(0)

    def sizeHint(self) -> QSize:
        return QSize(super().sizeHint().width(), QFontMetrics(small_font()).height() + GRID)

    def tick_words(self, width: int) -> list[tuple[float, str]]:
        """Return the words over the bars with their left ends, none over another one."""
        model = self.model()
        assert isinstance(model, PlotModel)
        if not model.rowCount():
            return []
        field, free_from = width - HALF_GRID, 0.0
        found = []
        for tick in model.scale.ticks:
            word = self._tick_text(tick)
            wide = QFontMetrics(small_font()).horizontalAdvance(word)
            # The last one ends with the axis.
            left = min(max(0.0, model.scale.share(tick) * field - wide / 2), float(width - wide))
            if left >= free_from:
                found.append((left, word))
                free_from = left + wide + HALF_GRID
        return found

    def paintSection(self, painter: QPainter, rect: QRect, logicalIndex: int) -> None:  # noqa: N803
        theme = current_theme()
        painter.save()
        painter.fillRect(rect, QColor(theme.window))
        painter.setPen(QColor(theme.line))
        painter.drawLine(rect.left(), rect.bottom(), rect.right(), rect.bottom())
        painter.setPen(QColor(theme.muted))
        painter.setFont(small_font())
        if logicalIndex == BAR:
            for left, word in self.tick_words(rect.width()):
                painter.drawText(
                    QRectF(rect.left() + left, rect.top(), rect.width(), rect.height()), _VCENTER, word
                )
        else:
            text = str(self.model().headerData(logicalIndex, Qt.Orientation.Horizontal))
            is_name = logicalIndex == NAME
            side = Qt.AlignmentFlag.AlignLeft if is_name else Qt.AlignmentFlag.AlignRight
            inner = rect.adjusted(GRID, 0, -GRID, 0)
            text = QFontMetrics(small_font()).elidedText(text, Qt.TextElideMode.ElideRight, inner.width())
            painter.drawText(inner, int(side) | _VCENTER, text)
        painter.restore()
