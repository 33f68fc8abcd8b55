"""The ladder of kernels as a list of one line each: shape in the variant's colour, title, key, newest kernel time.

The list is as long as the ladder where there is room, and scrolls where there is not.
"""

from PySide6.QtCore import (
    QEvent,
    QModelIndex,
    QPersistentModelIndex,
    QRect,
    QSignalBlocker,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import QColor, QPainter, QPen, QResizeEvent
from PySide6.QtWidgets import QListView, QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from gui.state.variants_model import KEY_ROLE, REASON_ROLE, SUBTITLE_ROLE, TIME_ROLE, VariantsModel
from gui.state.workspace import AUTO, Workspace
from gui.style.metrics import GRID, HALF_GRID, number_font, small_font
from gui.style.series import series_for
from gui.style.theme import current_theme, theme_notifier

Index = QModelIndex | QPersistentModelIndex

_ROW_HEIGHT = 3 * GRID
# Auto and fifteen variants: what lies below does not jump when the engine tells of them.
_EXPECTED_ROWS = 16
_FEWEST_ROWS_SHOWN = 5
_SHAPE_WIDTH = 3 * GRID + HALF_GRID
_BAR_WIDTH = 3
_AUTO_SHAPE = "✦"
_VCENTER = int(Qt.AlignmentFlag.AlignVCenter)
_LEFT = int(Qt.AlignmentFlag.AlignLeft) | _VCENTER
_RIGHT = int(Qt.AlignmentFlag.AlignRight) | _VCENTER
_CENTRE = int(Qt.AlignmentFlag.AlignCenter)


class KernelList(QListView):
    """Chooses the variant of the workspace.

    Signals
    -------
    hovered(str)
        Key of the variant under the mouse; empty when it left.
    """

    hovered = Signal(str)

    def __init__(self, model: VariantsModel, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._variants = model
        self._workspace = workspace
        self._room = 0
        self.setModel(model)
        self._rows = _KernelRows(workspace, self)
        self.setItemDelegate(self._rows)
        self.setMouseTracking(True)
        self.setUniformItemSizes(True)
        self.setAccessibleName("Kernel")
        self.setAccessibleDescription("How the filter is computed; arrow keys choose.")
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.entered.connect(lambda index: self.hovered.emit(index.data(KEY_ROLE)))
        self.viewportEntered.connect(lambda: self.hovered.emit(""))
        self.selectionModel().currentChanged.connect(self._choose)
        workspace.settings_changed.connect(self._show_choice)
        model.modelReset.connect(self._show_ladder)
        theme_notifier().changed.connect(self._repaint)
        self._show_ladder()

    def sizeHint(self) -> QSize:
        rows = max(self._variants.rowCount(), _EXPECTED_ROWS)
        least, most = (count * _ROW_HEIGHT + 2 * self.frameWidth() for count in (_FEWEST_ROWS_SHOWN, rows))
        return QSize(34 * GRID, min(max(self._room, least), most))

    def minimumSizeHint(self) -> QSize:
        return QSize(24 * GRID, self.sizeHint().height())

    def set_room(self, height: int) -> None:
        """Take so many pixels at most; rows that do not fit are scrolled to. A few rows are shown anyway."""
        before = self.sizeHint()
        self._room = height
        if self.sizeHint() != before:
            self.setMaximumHeight(self.sizeHint().height())
            self.updateGeometry()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        # Not the current one: a greyed kernel, which a session or a paper may bring, is never that.
        self.scrollTo(self._chosen())

    def leaveEvent(self, event: QEvent) -> None:
        self.hovered.emit("")
        super().leaveEvent(event)

    def _choose(self, current: Index, _previous: Index) -> None:
        if current.isValid() and current.flags() & Qt.ItemFlag.ItemIsSelectable:
            self._workspace.change(variant=current.data(KEY_ROLE))

    def _show_ladder(self) -> None:
        self.setMaximumHeight(self.sizeHint().height())
        self.updateGeometry()
        self._show_choice()

    def _chosen(self) -> QModelIndex:
        return self._variants.index(self._variants.position(self._workspace.settings.variant))

    def _show_choice(self) -> None:
        index = self._chosen()
        if index != self.currentIndex():
            # The state leads here; the person's own choice comes through `_choose`.
            with QSignalBlocker(self.selectionModel()):
                self.setCurrentIndex(index)
            self.scrollTo(index)
        self._repaint()

    def _repaint(self) -> None:
        self.viewport().update()


class _KernelRows(QStyledItemDelegate):
    """Paints one variant; the chosen one by the state, because a greyed row cannot be selected in Qt's sense."""

    def __init__(self, workspace: Workspace, parent: QWidget) -> None:
        super().__init__(parent)
        self._workspace = workspace

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(24 * GRID, _ROW_HEIGHT)

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

        painter.setFont(number_font())
        inner.setLeft(inner.left() + self._draw_text(painter, inner, index.data(), text) + GRID)
        painter.setFont(small_font())
        # Half a key says nothing; it is in the results and in the baselines too.
        subtitle = index.data(SUBTITLE_ROLE)
        if _cut(painter, subtitle, inner.width()) == subtitle:
            self._draw_text(painter, inner, subtitle, quiet)
        if option.state & QStyle.StateFlag.State_HasFocus:
            painter.setPen(QPen(QColor(quiet), 1, Qt.PenStyle.DotLine))
            painter.drawRect(rect.adjusted(1, 1, -2, -2))
        painter.restore()

    def _draw_text(self, painter: QPainter, place: QRect, words: str, colour: str) -> int:
        """Write words into the place, cut where it is too narrow, and return their width."""
        painter.setPen(QColor(colour))
        shown = _cut(painter, words, place.width())
        painter.drawText(place, _LEFT, shown)
        return painter.fontMetrics().horizontalAdvance(shown)


def _cut(painter: QPainter, words: str, width: int) -> str:
    """Return the words, with … at their end where they are wider than that."""
    return painter.fontMetrics().elidedText(words, Qt.TextElideMode.ElideRight, width)
