"""How one kernel of the list is painted: on its line what it is and its time, below that why it is greyed."""

from collections.abc import Callable

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QPainter, QPen
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from engine.device_info import AUTO
from gui.explore.kernel.variants_model import KEY_ROLE, REASON_ROLE, SUBTITLE_ROLE, TIME_ROLE, UNDER_ROLE
from gui.explore.workspace import Workspace
from gui.style.metrics import GRID, HALF_GRID, number_font, small_font
from gui.style.series import series_for
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

    Parameters
    ----------
    workspace : Workspace
    reason_width : callable
        Returns how wide a reason may be, pixels.
    parent : QWidget
    """

    def __init__(self, workspace: Workspace, reason_width: Callable[[], int], parent: QWidget) -> None:
        super().__init__(parent)
        self._workspace = workspace
        self._reason_width = reason_width

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(24 * GRID, row_height(index.data(UNDER_ROLE), self._reason_width()))

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        theme = current_theme()
        key = index.data(KEY_ROLE)
        greyed = bool(index.data(REASON_ROLE))
        chosen = key == self._workspace.settings.variant
        rect: QRect = option.rect
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        # A bar and a quiet ground mark the choice; a ground in the accent would drown the variant's own colour.
        if chosen:
            painter.fillRect(rect, QColor(theme.raised))
            painter.fillRect(QRect(rect.left(), rect.top(), _BAR_WIDTH, rect.height()), QColor(theme.accent))
        elif option.state & QStyle.StateFlag.State_MouseOver and not greyed:
            painter.fillRect(rect, QColor(theme.window))
        text = theme.muted if greyed else theme.text
        quiet = theme.muted
        painter.setPen(QColor(quiet))
        painter.setFont(small_font())
        under = QRect(0, rect.top() + ROW_HEIGHT - _REASON_LIFT, self._reason_width(), rect.height())
        under.moveLeft(rect.left() + _SHAPE_WIDTH)
        painter.drawText(under, _WRAPPED, index.data(UNDER_ROLE))
        whole, rect = rect, QRect(rect.left(), rect.top(), rect.width(), ROW_HEIGHT)

        painter.setFont(number_font())
        shape = _AUTO_SHAPE if key == AUTO else series_for(key).glyph
        colour = theme.accent if key == AUTO else series_for(key).colour
        painter.setPen(QColor(theme.muted if greyed else colour))
        painter.setOpacity(0.5 if greyed else 1.0)
        painter.drawText(QRect(rect.left(), rect.top(), _SHAPE_WIDTH, rect.height()), _CENTRE, shape)
        painter.setOpacity(1.0)

        time = index.data(TIME_ROLE)
        # Numbers stand out, words in their place do not.
        painter.setFont(number_font() if time.endswith("ms") else small_font())
        inner = rect.adjusted(_SHAPE_WIDTH, 0, -GRID, 0)
        painter.setPen(QColor(quiet if greyed else text))
        painter.drawText(inner, _RIGHT, time)
        inner.setRight(inner.right() - painter.fontMetrics().horizontalAdvance(time) - GRID)

        painter.setFont(_title_font(index.data(), inner.width()))
        inner.setLeft(inner.left() + self._draw_text(painter, inner, index.data(), text) + GRID)
        painter.setFont(small_font())
        # Half a key says nothing; it is in the results and in the baselines too.
        subtitle = index.data(SUBTITLE_ROLE)
        if _cut(painter, subtitle, inner.width()) == subtitle:
            self._draw_text(painter, inner, subtitle, quiet)
        if option.state & QStyle.StateFlag.State_HasFocus:
            painter.setPen(QPen(QColor(quiet), 1, Qt.PenStyle.DotLine))
            painter.drawRect(whole.adjusted(1, 1, -2, -2))
        painter.restore()

    def _draw_text(self, painter: QPainter, place: QRect, words: str, colour: str) -> int:
        """Write words into the place, cut where it is too narrow, and return their width."""
        painter.setPen(QColor(colour))
        shown = _cut(painter, words, place.width())
        painter.drawText(place, _LEFT, shown)
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


def _cut(painter: QPainter, words: str, width: int) -> str:
    """Return the words, with … at their end where they are wider than that."""
    return painter.fontMetrics().elidedText(words, Qt.TextElideMode.ElideRight, width)
