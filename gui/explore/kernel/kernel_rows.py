"""How one kernel of the list is painted: on its line what it is and its time, below that why it is greyed."""

from collections.abc import Callable

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QPainter, QPen
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from engine.device_info import AUTO
from gui.explore.kernel.variants_model import ROW_ROLE, VariantRow
from gui.explore.workspace import Workspace
from gui.style.metrics import GRID, HALF_GRID, number_font, small_font
from gui.style.series import Series, series_for
from gui.style.theme import current_theme

Index = QModelIndex | QPersistentModelIndex

ROW_HEIGHT = 3 * GRID
# Left and right of a reason.
BESIDE_REASON = 4 * GRID + HALF_GRID
_SHAPE_WIDTH = 3 * GRID + HALF_GRID
_BAR_WIDTH = 3
_AUTO_SHAPE = "✦"
_VCENTER = int(Qt.AlignmentFlag.AlignVCenter)
_LEFT = int(Qt.AlignmentFlag.AlignLeft) | _VCENTER
_RIGHT = int(Qt.AlignmentFlag.AlignRight) | _VCENTER
_CENTRE = int(Qt.AlignmentFlag.AlignCenter)
_WRAPPED = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop) | int(Qt.TextFlag.TextWordWrap)
# A reason belongs to the title above it: nearer to that than to the next one.
_REASON_LIFT = HALF_GRID
_MANY_LINES = 1000


class KernelRows(QStyledItemDelegate):
    """Paints one variant; the chosen one by the state, because a greyed row cannot be selected in Qt's sense.

    `reason_width` returns how wide a reason may be, pixels.
    """

    def __init__(self, workspace: Workspace, reason_width: Callable[[], int], parent: QWidget) -> None:
        super().__init__(parent)
        self._workspace = workspace
        self._reason_width = reason_width

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(24 * GRID, row_height(index.data(ROW_ROLE).under, self._reason_width()))

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        theme = current_theme()
        row: VariantRow = index.data(ROW_ROLE)
        whole: QRect = option.rect
        line = QRect(whole.left(), whole.top(), whole.width(), ROW_HEIGHT)
        muted, text = QColor(theme.muted), QColor(theme.muted if row.reason else theme.text)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        # A bar and a quiet background mark the choice; the accent would drown the variant's colour.
        if row.key == self._workspace.settings.variant:
            painter.fillRect(whole, QColor(theme.raised))
            painter.fillRect(
                QRect(whole.left(), whole.top(), _BAR_WIDTH, whole.height()), QColor(theme.accent)
            )
        elif option.state & QStyle.StateFlag.State_MouseOver and not row.reason:
            painter.fillRect(whole, QColor(theme.window))
        painter.setPen(muted)
        painter.setFont(small_font())
        under = QRect(
            whole.left() + _SHAPE_WIDTH,
            line.bottom() + 1 - _REASON_LIFT,
            self._reason_width(),
            whole.height(),
        )
        painter.drawText(under, _WRAPPED, row.under)

        painter.setFont(number_font())
        series = Series(theme.accent, "", _AUTO_SHAPE) if row.key == AUTO else series_for(row.key)
        painter.setPen(muted if row.reason else QColor(series.colour))
        painter.setOpacity(0.5 if row.reason else 1.0)
        painter.drawText(QRect(line.left(), line.top(), _SHAPE_WIDTH, line.height()), _CENTRE, series.glyph)
        painter.setOpacity(1.0)

        # Numbers stand out, words in their place do not.
        painter.setFont(number_font() if row.time.endswith("ms") else small_font())
        inner = line.adjusted(_SHAPE_WIDTH, 0, -GRID, 0)
        painter.setPen(text)
        painter.drawText(inner, _RIGHT, row.time)
        inner.setRight(inner.right() - painter.fontMetrics().horizontalAdvance(row.time) - GRID)

        painter.setFont(_title_font(row.title, inner.width()))
        inner.setLeft(inner.left() + _draw_text(painter, inner, row.title, text) + GRID)
        painter.setFont(small_font())
        # Half a key says nothing; it is in the results and in the baselines too.
        if painter.fontMetrics().horizontalAdvance(row.subtitle) <= inner.width():
            _draw_text(painter, inner, row.subtitle, muted)
        if option.state & QStyle.StateFlag.State_HasFocus:
            painter.setPen(QPen(muted, 1, Qt.PenStyle.DotLine))
            painter.drawRect(whole.adjusted(1, 1, -2, -2))
        painter.restore()


def _draw_text(painter: QPainter, rect: QRect, words: str, colour: QColor) -> int:
    """Write words, cut with … where the rectangle is too narrow, and return their width."""
    painter.setPen(colour)
    shown = painter.fontMetrics().elidedText(words, Qt.TextElideMode.ElideRight, rect.width())
    painter.drawText(rect, _LEFT, shown)
    return painter.fontMetrics().horizontalAdvance(shown)


def row_height(under: str, width: int) -> int:
    """Return the height of a row with these words under its title, in lines of so many pixels."""
    if not under:
        return ROW_HEIGHT
    words = QFontMetrics(small_font()).boundingRect(QRect(0, 0, width, _MANY_LINES), _WRAPPED, under)
    return ROW_HEIGHT - _REASON_LIFT + words.height() + HALF_GRID


def _title_font(title: str, width: int) -> QFont:
    """Return the font of a title: the smaller one where that keeps it whole beside a time."""
    font = number_font()
    return font if QFontMetrics(font).horizontalAdvance(title) <= width else small_font()
