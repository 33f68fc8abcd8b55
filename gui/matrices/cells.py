"""How cells of the table of products are painted: the variant's shape in its colour, the proof in that of its state."""

from PySide6.QtCore import QModelIndex, QPersistentModelIndex
from PySide6.QtGui import QColor, QPainter, QPalette
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem

from engine.results.product import MatmulResult
from gui.matrices.matmul_columns import COLUMNS, Key
from gui.matrices.matmul_model import ROW_ROLE
from gui.style.metrics import GRID
from gui.style.series import series_for
from gui.style.theme import Theme, current_theme


class MatmulCells(QStyledItemDelegate):
    """Paints one cell; text, alignment and tooltip come from the model."""

    def initStyleOption(
        self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        super().initStyleOption(option, index)
        row = index.data(ROW_ROLE)
        if isinstance(row, MatmulResult):
            key = COLUMNS[index.column()].key
            option.palette.setColor(QPalette.ColorRole.Text, QColor(_text_colour(key, row, current_theme())))
            if key is Key.VARIANT:
                # Room for the shape, which `paint` adds in its own colour.
                space = max(1, option.fontMetrics.horizontalAdvance(" "))
                option.text = f"{' ' * round(2 * GRID / space + 1)}{option.text}"

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        super().paint(painter, option, index)
        row = index.data(ROW_ROLE)
        if not isinstance(row, MatmulResult) or COLUMNS[index.column()].key is not Key.VARIANT:
            return
        series, theme = series_for(row.variant), current_theme()
        colour = theme.muted if _cannot_run(row) else series.colour
        if option.state & QStyle.StateFlag.State_Selected:
            colour = theme.accent_text
        painter.save()
        painter.setPen(QColor(colour))
        painter.drawText(option.rect.adjusted(GRID, 0, -GRID, 0), int(option.displayAlignment), series.glyph)
        painter.restore()


def _cannot_run(row: MatmulResult) -> bool:
    return bool(row.failure)


def _text_colour(key: Key, row: MatmulResult, theme: Theme) -> str:
    counted = key in (Key.CGMA, Key.LECTURE, Key.LIMIT)
    if key is Key.STATUS and row.verification is not None:
        return theme.good if row.is_proven else theme.error
    if (_cannot_run(row) or row.verification is None) and not counted:
        return theme.muted
    return theme.text
