"""How a table of runs is painted: shapes before names, bars before numbers, and their axis in the header."""

from collections.abc import Sequence

from PySide6.QtCore import QRect, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetrics, QPainter, QPalette
from PySide6.QtWidgets import (
    QHeaderView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionHeader,
    QStyleOptionViewItem,
    QTableView,
)

from engine.device_info import RECORDED
from engine.results.columns import KERNEL, SPEED_UP, VARIANT, Column
from engine.results.metrics import Compared, Metric
from gui.runs.bars import bar_area, paint_bar, tick_words
from gui.runs.model import PIN, RECORDED_MARK, RUN_ROLE, Index, RunsModel
from gui.style.metrics import EARLIER_OPACITY, GRID, small_font
from gui.style.theme import Theme, current_theme, series_for

_CHOSEN_WIDTH = 3
_VCENTER = int(Qt.AlignmentFlag.AlignVCenter)


class RunCells(QStyledItemDelegate):
    """Paints the shape of a variant, the bar of a number, and a proof in the colour of its state."""

    def __init__(self, table: QTableView, header: "BarHeader", model: RunsModel) -> None:
        super().__init__(table)
        self._table, self._header = table, header
        self._runs, self._columns = model, model.columns

    def initStyleOption(self, option: QStyleOptionViewItem, index: Index) -> None:
        super().initStyleOption(option, index)
        run, column = index.data(RUN_ROLE), self._columns[index.column()]
        theme = current_theme()
        is_earlier = self._runs.is_earlier(run.result)
        colour = QColor(theme.muted if is_earlier else _text_colour(column, run, theme))
        option.palette.setColor(QPalette.ColorRole.Text, colour)
        # A quiet ground and the accent beside the name: on the accent colours of bars would drown.
        option.palette.setColor(QPalette.ColorRole.Highlight, QColor(theme.raised))
        option.palette.setColor(QPalette.ColorRole.HighlightedText, colour)
        # Upright is what this machine measured.
        option.font.setItalic(run.result.device == RECORDED)
        if column.key == VARIANT.key:
            # Room for the shape, which `paint` adds in its own colour.
            space = max(1, option.fontMetrics.horizontalAdvance(" "))
            mark = RECORDED_MARK if run.result.device == RECORDED else ""
            note = self._runs.note_of(run.result)
            before = " " * round(2 * GRID / space + 1) + f"{PIN} " * self._runs.is_pinned(run.result)
            option.text = f"{before}{option.text}{mark}{f' – {note}' if note else ''}"

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        super().paint(painter, option, index)
        key, result = self._columns[index.column()].key, index.data(RUN_ROLE).result
        is_earlier = self._runs.is_earlier(result)
        painter.save()
        if key == VARIANT.key:
            theme, rect = current_theme(), option.rect
            if option.state & QStyle.StateFlag.State_Selected:
                painter.fillRect(rect.left(), rect.top(), _CHOSEN_WIDTH, rect.height(), QColor(theme.accent))
            series = series_for(result.variant)
            painter.setPen(QColor(theme.muted if result.refused or is_earlier else series.colour))
            painter.drawText(rect.adjusted(GRID, 0, -GRID, 0), _VCENTER, series.glyph)
        elif index.column() == self._runs.bar_column:
            painter.setOpacity(EARLIER_OPACITY if is_earlier else 1.0)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            paint_bar(painter, option.rect, self._header.number_width, self._runs.bars, result)
        painter.restore()

    def draw(self, painter: QPainter, width: int, rows: Sequence[int]) -> None:
        """Draw names, bars and speed-ups of some rows under their heads."""
        table, at = self._table, self._runs.bar_column
        names, ratios = self._runs.position(VARIANT.key), self._runs.position(SPEED_UP)
        sides = {names: table.columnWidth(names), ratios: 0 if at == ratios else table.columnWidth(ratios)}
        sides |= {at: width - sides[names] - sides[ratios]}
        header, high = self._header, table.rowHeight(0)
        painter.fillRect(0, 0, width, header.height() + high * len(rows), QColor(current_theme().base))
        left = 0
        for column in dict.fromkeys((names, at, ratios)):
            wide = sides[column]
            header.paintSection(painter, QRect(left, 0, wide, header.height()), column)
            for place, row in enumerate(rows):
                option = QStyleOptionViewItem()
                table.initViewItemOption(option)
                option.rect = QRect(left, header.height() + place * high, wide, high)
                self.paint(painter, option, self._runs.order.index(row, column))
            left += wide


class BarHeader(QHeaderView):
    """The header of a table of runs: over the bars it has the words of their ticks."""

    def __init__(self, table: QTableView, model: RunsModel) -> None:
        super().__init__(Qt.Orientation.Horizontal, table)
        self._runs = model
        self.number_width = 0
        """What the numbers take of the column with bars."""
        self.setSectionsClickable(True)
        self.setTextElideMode(Qt.TextElideMode.ElideRight)

    def initStyleOptionForIndex(self, option: QStyleOptionHeader, logicalIndex: int) -> None:  # noqa: N803
        super().initStyleOptionForIndex(option, logicalIndex)
        arrows = QStyleOptionHeader.SortIndicator
        if option.sortIndicator != arrows.None_:
            # With a style sheet Qt draws its arrow over the end of the words.
            is_ascending = self.sortIndicatorOrder() == Qt.SortOrder.AscendingOrder
            option.text = f"{option.text} {'▴' if is_ascending else '▾'}"
            option.sortIndicator = arrows.None_

    def paintSection(self, painter: QPainter, rect: QRect, logicalIndex: int) -> None:  # noqa: N803
        painter.save()
        super().paintSection(painter, rect, logicalIndex)
        painter.restore()
        if logicalIndex != self._runs.bar_column:
            return
        painter.save()
        painter.setPen(QColor(current_theme().muted))
        painter.setFont(small_font())
        head = self._runs.headerData(logicalIndex, Qt.Orientation.Horizontal)
        title = QFontMetrics(self.font()).horizontalAdvance(head)
        area = bar_area(rect, self.number_width)
        for left, word in tick_words(self._runs.bars, area, rect.right() - title - 4 * GRID):
            painter.drawText(QRectF(left, rect.top(), rect.width(), rect.height()), _VCENTER, word)
        painter.restore()


def _text_colour(column: Column, run: Compared, theme: Theme) -> str:
    result = run.result
    was_tried = not result.refused and result.no_speed != "not run yet"
    if column.key == "proof" and was_tried:
        return theme.good if result.is_proven else theme.error
    if column.key == KERNEL and was_tried and result.no_speed:
        return theme.muted if result.is_proven else theme.error
    # What was only counted is as good as ever.
    counted = isinstance(column, Metric) and column.value(run) is not None
    return theme.text if was_tried or counted else theme.muted
