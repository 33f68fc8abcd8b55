"""How cells of the results table are painted: the variant's shape in its colour, the proof in the colour of its state."""

from PySide6.QtCore import QModelIndex, QPersistentModelIndex
from PySide6.QtGui import QColor, QPainter, QPalette
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem

from gui.explore.results.comparison import kernel_speed_ms, no_speed_word
from gui.explore.results.results_columns import COLUMNS, Key, Row
from gui.explore.results.results_model import ROW_ROLE
from gui.style.metrics import GRID
from gui.style.series import series_for
from gui.style.theme import Theme, current_theme

_SELECTED = QStyle.StateFlag.State_Selected


class ResultCells(QStyledItemDelegate):
    """Paints one cell; text, alignment and tooltip come from the model."""

    def initStyleOption(
        self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        super().initStyleOption(option, index)
        row = index.data(ROW_ROLE)
        if isinstance(row, Row):
            key = COLUMNS[index.column()].key
            colour = QColor(_text_colour(key, row, current_theme()))
            option.palette.setColor(QPalette.ColorRole.Text, colour)
            if key is Key.VARIANT:
                # Room for the shape, which `paint` adds in its own colour.
                option.text = f"{_gap(option)}{option.text}"

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        super().paint(painter, option, index)
        row = index.data(ROW_ROLE)
        if not isinstance(row, Row) or COLUMNS[index.column()].key is not Key.VARIANT:
            return
        series = series_for(row.result.variant)
        selected = option.state & _SELECTED
        painter.save()
        painter.setPen(QColor(current_theme().accent_text if selected else series.colour))
        place = option.rect.adjusted(GRID, 0, -GRID, 0)
        painter.drawText(place, int(option.displayAlignment), series.glyph)
        painter.restore()


def _gap(option: QStyleOptionViewItem) -> str:
    space = max(1, option.fontMetrics.horizontalAdvance(" "))
    return " " * round(2 * GRID / space + 1)


def _text_colour(key: Key, row: Row, theme: Theme) -> str:
    if key is Key.STATUS:
        if row.result.failure:
            return theme.error
        verification = row.result.verification
        return theme.good if verification is not None and verification.passed else theme.error
    if key is Key.KERNEL and kernel_speed_ms(row.result) is None:
        return theme.muted if no_speed_word(row.result) in ("simulated", "not timed") else theme.error
    return theme.text
