"""How cells of a table of runs are painted: the variant's shape, the proof in the colour of its state."""

from PySide6.QtCore import QModelIndex, QPersistentModelIndex
from PySide6.QtGui import QColor, QPainter, QPalette
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem

from engine.results.columns import KERNEL, Column
from engine.results.compare import Compared
from gui.style.metrics import GRID
from gui.style.series import series_for
from gui.style.theme import Theme, current_theme
from gui.widgets.runs_model import RUN_ROLE, RunsModel

_SELECTED = QStyle.StateFlag.State_Selected


class RunCells(QStyledItemDelegate):
    """Paints one cell; text, alignment and tooltip come from the model."""

    def __init__(self, model: RunsModel) -> None:
        super().__init__(model)
        self._columns = model.columns

    def initStyleOption(
        self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        super().initStyleOption(option, index)
        run, column = index.data(RUN_ROLE), self._columns[index.column()]
        option.palette.setColor(QPalette.ColorRole.Text, QColor(_text_colour(column, run, current_theme())))
        if column.key == "variant":
            # Room for the shape, which `paint` adds in its own colour.
            space = max(1, option.fontMetrics.horizontalAdvance(" "))
            option.text = f"{' ' * round(2 * GRID / space + 1)}{option.text}"

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        super().paint(painter, option, index)
        if self._columns[index.column()].key != "variant":
            return
        result, theme = index.data(RUN_ROLE).result, current_theme()
        series = series_for(result.variant)
        colour = theme.muted if result.refused else series.colour
        painter.save()
        painter.setPen(QColor(theme.accent_text if option.state & _SELECTED else colour))
        place = option.rect.adjusted(GRID, 0, -GRID, 0)
        painter.drawText(place, int(option.displayAlignment), series.glyph)
        painter.restore()


def _text_colour(column: Column, run: Compared, theme: Theme) -> str:
    result = run.result
    was_tried = not result.refused and result.no_speed != "not run yet"
    if column.key == "proof" and was_tried:
        return theme.good if result.is_proven else theme.error
    if column.key == KERNEL and was_tried and result.no_speed:
        return theme.muted if result.is_proven else theme.error
    # What was only counted is as good as ever.
    counted = column.metric is not None and column.metric.value(run) is not None
    return theme.text if was_tried or counted else theme.muted
