"""The ladder of kernels as a list: as long as the ladder where there is room, else it scrolls.

On its line a kernel has shape, title, key and newest time; below it stands why it is greyed.
"""

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QSignalBlocker, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QKeyEvent, QPainter, QPen, QResizeEvent
from PySide6.QtWidgets import QListView, QStyle, QStyledItemDelegate, QStyleOptionViewItem

from engine.device_info import AUTO
from gui.explore.kernel.variants_model import ROW_ROLE, VariantRow, VariantsModel
from gui.explore.workspace import Workspace
from gui.style.metrics import GRID, HALF_GRID, number_font, small_font
from gui.style.series import Series, series_for
from gui.style.theme import current_theme

Index = QModelIndex | QPersistentModelIndex

_ROW_HEIGHT = 3 * GRID
# Left and right of a reason.
_BESIDE_REASON = 4 * GRID + HALF_GRID
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
# Auto, the variants, and the reasons of those that are mostly greyed: what lies below does not jump when the
# engine lists them.
_EXPECTED_HEIGHT = 26 * _ROW_HEIGHT
_FEWEST_ROWS_SHOWN = 5


class KernelList(QListView):
    """Chooses the variant of the workspace."""

    def __init__(self, model: VariantsModel, workspace: Workspace) -> None:
        super().__init__()
        self._variants = model
        self._workspace = workspace
        self._ladder_height = 0
        self.setModel(model)
        self.setItemDelegate(_Rows(self, workspace))
        self.setMouseTracking(True)
        # A row is as high as its reason needs, and that changes with the width.
        self.setResizeMode(QListView.ResizeMode.Adjust)
        self.setVerticalScrollMode(QListView.ScrollMode.ScrollPerPixel)
        self.setAccessibleName("Kernel")
        self.setAccessibleDescription("How it is computed; arrow keys choose.")
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.selectionModel().currentChanged.connect(self._choose)
        workspace.settings_changed.connect(self._show_choice)
        model.modelReset.connect(self._show_ladder)
        model.dataChanged.connect(self._show_reasons)
        self._show_ladder()

    def sizeHint(self) -> QSize:
        return QSize(34 * GRID, self._rows_height() + 2 * self.frameWidth())

    def minimumSizeHint(self) -> QSize:
        return QSize(24 * GRID, _FEWEST_ROWS_SHOWN * _ROW_HEIGHT + 2 * self.frameWidth())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_ladder()
        # Not the current one: a greyed kernel, which a session or a paper may bring, is never that.
        self.scrollTo(self._chosen())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        # The arrows pass over greyed rows, so without a mouse their reasons would stay out of sight.
        steps = {Qt.Key.Key_PageUp: -1, Qt.Key.Key_PageDown: 1}.get(Qt.Key(event.key()), 0)
        bar = self.verticalScrollBar()
        if steps and event.modifiers() == Qt.KeyboardModifier.NoModifier:
            bar.setValue(bar.value() + steps * (bar.pageStep() - _ROW_HEIGHT))
        else:
            super().keyPressEvent(event)

    def _choose(self, current: Index, _previous: Index) -> None:
        if current.isValid() and current.flags() & Qt.ItemFlag.ItemIsSelectable:
            self._workspace.change(variant=current.data(ROW_ROLE).key)

    def reason_width(self) -> int:
        """Return how wide a reason may be, so that its lines stay when a scroll bar appears."""
        bar = self.verticalScrollBar().sizeHint().width()
        return max(GRID, self.width() - 2 * self.frameWidth() - bar - _BESIDE_REASON)

    def _rows_height(self) -> int:
        width = self.reason_width()
        return max(_EXPECTED_HEIGHT, sum(_row_height(row.under, width) for row in self._variants.rows()))

    def _show_ladder(self) -> None:
        self._fit_ladder()
        self._show_choice()

    def _show_reasons(self) -> None:
        # Rows may have changed their heights though the sum is the same.
        self.scheduleDelayedItemsLayout()
        if self._fit_ladder():
            self.scrollTo(self._chosen())

    def _fit_ladder(self) -> bool:
        """Adopt the height of the rows; False if it is unchanged."""
        height = self._rows_height()
        if height == self._ladder_height:
            return False
        self._ladder_height = height
        self.scheduleDelayedItemsLayout()
        self.setMaximumHeight(self.sizeHint().height())
        self.updateGeometry()
        return True

    def _chosen(self) -> QModelIndex:
        return self._variants.index(self._variants.position(self._workspace.settings.variant))

    def _show_choice(self) -> None:
        index = self._chosen()
        if index != self.currentIndex():
            # The state leads here; the person's own choice comes through `_choose`.
            with QSignalBlocker(self.selectionModel()):
                self.setCurrentIndex(index)
            self.scrollTo(index)
        self.viewport().update()


class _Rows(QStyledItemDelegate):
    """Paints one variant; the chosen one by the state, because in Qt a greyed row cannot be selected."""

    def __init__(self, kernels: KernelList, workspace: Workspace) -> None:
        super().__init__(kernels)
        self._workspace = workspace
        self._reason_width = kernels.reason_width

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(24 * GRID, _row_height(index.data(ROW_ROLE).under, self._reason_width()))

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        theme = current_theme()
        row: VariantRow = index.data(ROW_ROLE)
        whole: QRect = option.rect
        line = QRect(whole.left(), whole.top(), whole.width(), _ROW_HEIGHT)
        muted, text = QColor(theme.muted), QColor(theme.muted if row.reason else theme.text)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        # A bar and a quiet background mark the choice; the accent would drown the variant's colour.
        if row.key == self._workspace.settings.variant:
            painter.fillRect(whole, QColor(theme.raised))
            bar = QRect(whole.left(), whole.top(), _BAR_WIDTH, whole.height())
            painter.fillRect(bar, QColor(theme.accent))
        elif option.state & QStyle.StateFlag.State_MouseOver and not row.reason:
            painter.fillRect(whole, QColor(theme.window))
        painter.setPen(muted)
        painter.setFont(small_font())
        left, top = whole.left() + _SHAPE_WIDTH, line.bottom() + 1 - _REASON_LIFT
        painter.drawText(QRect(left, top, self._reason_width(), whole.height()), _WRAPPED, row.under)

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


def _row_height(under: str, width: int) -> int:
    """Return the height of a row with these words under its title, in lines of so many pixels."""
    if not under:
        return _ROW_HEIGHT
    words = QFontMetrics(small_font()).boundingRect(QRect(0, 0, width, _MANY_LINES), _WRAPPED, under)
    return _ROW_HEIGHT - _REASON_LIFT + words.height() + HALF_GRID


def _title_font(title: str, width: int) -> QFont:
    """Return the font of a title: the smaller one where that keeps it whole beside a time."""
    font = number_font()
    return font if QFontMetrics(font).horizontalAdvance(title) <= width else small_font()
