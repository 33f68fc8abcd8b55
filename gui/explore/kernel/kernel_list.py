"""The kernels as a list in groups that open and close; one that cannot run is a line with what helps."""

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QSignalBlocker, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFontMetrics, QKeyEvent, QMouseEvent, QPainter, QPen, QResizeEvent
from PySide6.QtWidgets import QListView, QStyle, QStyledItemDelegate, QStyleOptionViewItem, QToolButton

from engine.device_info import AUTO
from gui.explore.explain.selection import Selection
from gui.explore.kernel.variants_model import ROW_ROLE, GroupRow, VariantRow, VariantsModel
from gui.style.metrics import GRID, HALF_GRID, follow, follow_letters, number_font, scaled_font, small_font
from gui.style.theme import VariantStyle, current_theme, series_for
from gui.widgets.number_table import paint_text
from gui.widgets.panel_parts import boxed, row

Index = QModelIndex | QPersistentModelIndex

_LEAST_LINE = 3 * GRID
# Left and right of a reason.
_BESIDE_REASON = 4 * GRID + HALF_GRID
_SHAPE_WIDTH = 3 * GRID + HALF_GRID
_BAR_WIDTH = 3
_AUTO_SHAPE = "✦"
_RIGHT = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
_CENTRE = int(Qt.AlignmentFlag.AlignCenter)
_WRAPPED = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop) | int(Qt.TextFlag.TextWordWrap)
# A reason belongs to the title above it: nearer to that than to the next one.
_REASON_LIFT = HALF_GRID
_MANY_LINES = 1000
_ROWS_SHOWN, _FEWEST_ROWS_SHOWN = 12, 3
_OPEN, _CLOSED = "▾", "▸"


def line_height() -> int:
    """Return the height of a head, and of a kernel without its reason; its letters may be large."""
    return max(_LEAST_LINE, QFontMetrics(number_font()).height() + HALF_GRID)


class KernelList(QListView):
    """Selects a kernel; one that can run here is the variant of the workspace from then on."""

    cure_wanted = Signal()  # the person wants what lets a group run

    def __init__(self, model: VariantsModel, selection: Selection) -> None:
        super().__init__()
        self._variants, self._selection, self._choice = model, selection, ("", "")
        self.setModel(model)
        self.setItemDelegate(_Rows(self, selection))
        self.setMouseTracking(True)
        # A row is as high as its reason needs, and that changes with the width.
        self.setResizeMode(QListView.ResizeMode.Adjust)
        self.setVerticalScrollMode(QListView.ScrollMode.ScrollPerPixel)
        self.setAccessibleName("Kernel")
        self.setAccessibleDescription("How it is computed; arrow keys select.")
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.selectionModel().currentChanged.connect(self._choose)
        selection.changed.connect(self._show_choice)
        model.dataChanged.connect(self._lay_out_if_words_changed)
        follow(self._lay_out, model.modelReset)
        follow(self._show_choice, model.modelReset)
        follow_letters(self, self.scheduleDelayedItemsLayout)

    def sizeHint(self) -> QSize:
        return QSize(34 * GRID, _ROWS_SHOWN * line_height() + 2 * self.frameWidth())

    def minimumSizeHint(self) -> QSize:
        return QSize(24 * GRID, _FEWEST_ROWS_SHOWN * line_height() + 2 * self.frameWidth())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            # A reason may fit beside its title now, though the list as a whole is as high as before.
            self.scheduleDelayedItemsLayout()
        self.scrollTo(self._selected())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        item = self.currentIndex().data(ROW_ROLE)
        if not isinstance(item, GroupRow) or not self._act_on(item, Qt.Key(event.key())):
            super().keyPressEvent(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        item = self.indexAt(event.position().toPoint()).data(ROW_ROLE)
        if isinstance(item, GroupRow) and event.button() == Qt.MouseButton.LeftButton:
            self._variants.open_group(item.title, not item.is_open)
        else:
            super().mousePressEvent(event)

    def _words_in_rows(self) -> list[str]:
        """Return what a row's height, or the button in a head, depends on."""
        return [item.cure if isinstance(item, GroupRow) else item.under for item in self._variants.items()]

    def _lay_out_if_words_changed(self) -> None:
        # Each edit of a mask changes a number in a reason's tooltip: the rows stay as they are.
        if self._words_in_rows() != self._words:
            self._lay_out()

    def _lay_out(self) -> None:
        """Give each row its height, and put the buttons of what helps into the heads of groups."""
        self._words = self._words_in_rows()
        self.scheduleDelayedItemsLayout()
        for at, item in enumerate(self._variants.items()):
            if isinstance(item, GroupRow):
                button = QToolButton()
                button.setText(item.cure)
                button.setFont(small_font())
                button.setFocusPolicy(Qt.FocusPolicy.NoFocus)
                button.clicked.connect(self.cure_wanted)
                place = boxed(row(1, button, margins=(0, 0, HALF_GRID, 0)))
                button.setVisible(bool(item.cure))
                self.setIndexWidget(self._variants.index(at), place)

    def _act_on(self, group: GroupRow, key: Qt.Key) -> bool:
        """Do what a key does on the head of a group; False for another key."""
        turns = key in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space)
        if turns and group.cure:
            self.cure_wanted.emit()
        elif turns or key in (Qt.Key.Key_Left, Qt.Key.Key_Right):
            self._variants.open_group(group.title, not group.is_open if turns else key == Qt.Key.Key_Right)
        else:
            return False
        # The list was made anew, and the focus stays on the head.
        with QSignalBlocker(self.selectionModel()):
            self.setCurrentIndex(self._variants.index(self._variants.position(group.title)))
        return True

    def _choose(self, current: Index, _previous: Index) -> None:
        item = current.data(ROW_ROLE)
        if isinstance(item, VariantRow):
            if item.can_run:
                self._selection.workspace.change(variant=item.key)
            self._selection.select(item.key)

    def reason_width(self) -> int:
        """Return how wide a reason may be, so that its lines stay when a scroll bar appears."""
        bar = self.verticalScrollBar().sizeHint().width()
        return max(GRID, self.width() - 2 * self.frameWidth() - bar - _BESIDE_REASON)

    def _selected(self) -> QModelIndex:
        return self._variants.index(self._variants.position(self._selection.kernel))

    def _show_choice(self) -> None:
        index = self._selected()
        # A head that has the focus keeps it.
        current = self.currentIndex()
        is_on_head = isinstance(current.data(ROW_ROLE), GroupRow) and self.hasFocus()
        if index != current and not is_on_head:
            # The state leads here; the person's own choice comes through `_choose`.
            with QSignalBlocker(self.selectionModel()):
                self.setCurrentIndex(index)
            self.scrollTo(index)
        # Each edit of a mask comes here too, and painting all rows takes a millisecond.
        choice = self._selection.kernel, self._selection.workspace.settings.variant
        if choice != self._choice:
            self._choice = choice
            self.viewport().update()


class _Rows(QStyledItemDelegate):
    """Paints one variant, or the head of a group."""

    def __init__(self, kernels: KernelList, selection: Selection) -> None:
        super().__init__(kernels)
        self._kernels, self._selection = kernels, selection

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        item, width, height = index.data(ROW_ROLE), self._kernels.reason_width(), line_height()
        # One line where its reason fits beside the title.
        if isinstance(item, VariantRow) and item.under and not _fits_beside(item, width):
            area = QRect(0, 0, width, _MANY_LINES)
            words = QFontMetrics(small_font()).boundingRect(area, _WRAPPED, item.under)
            height += words.height() + HALF_GRID - _REASON_LIFT
        return QSize(24 * GRID, height)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        item: VariantRow | GroupRow = index.data(ROW_ROLE)
        if isinstance(item, GroupRow):
            self._paint_head(painter, option, index, item)
        else:
            self._paint_kernel(painter, option, item)

    def _paint_head(
        self, painter: QPainter, option: QStyleOptionViewItem, index: Index, group: GroupRow
    ) -> None:
        theme, rect = current_theme(), option.rect
        painter.save()
        painter.fillRect(rect, QColor(theme.window))
        painter.setPen(QColor(theme.line))
        painter.drawLine(rect.left(), rect.top(), rect.right(), rect.top())
        painter.setFont(scaled_font(0.9, bold=True))
        painter.setPen(QColor(theme.muted))
        arrow = QRect(rect.left(), rect.top(), _SHAPE_WIDTH, rect.height())
        painter.drawText(arrow, _CENTRE, _OPEN if group.is_open else _CLOSED)
        inner = rect.adjusted(_SHAPE_WIDTH, 0, -HALF_GRID, 0)
        if (button := self._kernels.indexWidget(index)) is not None:
            inner.setRight(inner.right() - button.sizeHint().width())
        if QFontMetrics(painter.font()).horizontalAdvance(group.words) > inner.width():
            painter.setFont(small_font())
        paint_text(painter, inner, group.words, QColor(theme.muted))
        if option.state & QStyle.StateFlag.State_HasFocus:
            painter.setPen(QPen(QColor(theme.muted), 1, Qt.PenStyle.DotLine))
            painter.drawRect(rect.adjusted(1, 1, -2, -2))
        painter.restore()

    def _paint_kernel(self, painter: QPainter, option: QStyleOptionViewItem, row: VariantRow) -> None:
        theme = current_theme()
        whole: QRect = option.rect
        line = QRect(whole.left(), whole.top(), whole.width(), line_height())
        muted, text = QColor(theme.muted), QColor(theme.muted if row.reason else theme.text)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        # A quiet background marks what is selected, a bar what runs; the accent would drown the colours.
        if row.key == self._selection.kernel:
            painter.fillRect(whole, QColor(theme.raised))
        elif option.state & QStyle.StateFlag.State_MouseOver:
            painter.fillRect(whole, QColor(theme.window))
        if row.key == self._selection.workspace.settings.variant:
            bar = QRect(whole.left(), whole.top(), _BAR_WIDTH, whole.height())
            painter.fillRect(bar, QColor(theme.accent))
        painter.setPen(muted)
        painter.setFont(small_font())
        width = self._kernels.reason_width()
        is_beside = bool(row.under) and _fits_beside(row, width)
        if is_beside:
            painter.drawText(line.adjusted(0, 0, -GRID, 0), _RIGHT, row.under)
        else:
            left, top = whole.left() + _SHAPE_WIDTH, line.bottom() + 1 - _REASON_LIFT
            painter.drawText(QRect(left, top, width, whole.height()), _WRAPPED, row.under)

        painter.setFont(number_font())
        series = VariantStyle(theme.accent, "", _AUTO_SHAPE) if row.key == AUTO else series_for(row.key)
        painter.setPen(muted if row.reason else QColor(series.colour))
        painter.setOpacity(0.5 if row.reason else 1.0)
        painter.drawText(QRect(line.left(), line.top(), _SHAPE_WIDTH, line.height()), _CENTRE, series.glyph)
        painter.setOpacity(1.0)

        # Numbers stand out, words in their place do not.
        font = number_font() if row.is_timed else small_font()
        # The run that is described.
        font.setBold(row.is_described)
        painter.setFont(font)
        inner = line.adjusted(_SHAPE_WIDTH, 0, -GRID, 0)
        # A greyed kernel keeps its time.
        painter.setPen(QColor(theme.text))
        painter.drawText(inner, _RIGHT, row.time)
        inner.setRight(inner.right() - painter.fontMetrics().horizontalAdvance(row.time) - GRID)

        is_whole = QFontMetrics(number_font()).horizontalAdvance(row.title) <= inner.width()
        painter.setFont(number_font() if is_whole else small_font())
        inner.setLeft(inner.left() + paint_text(painter, inner, row.title, text) + GRID)
        painter.setFont(small_font())
        # Half a key says nothing; it is in the runs and in the baselines too.
        if not is_beside and painter.fontMetrics().horizontalAdvance(row.subtitle) <= inner.width():
            paint_text(painter, inner, row.subtitle, muted)
        if option.state & QStyle.StateFlag.State_HasFocus:
            painter.setPen(QPen(muted, 1, Qt.PenStyle.DotLine))
            painter.drawRect(whole.adjusted(1, 1, -2, -2))
        painter.restore()


def _fits_beside(row: VariantRow, width: int) -> bool:
    title = QFontMetrics(number_font()).horizontalAdvance(row.title)
    reason = QFontMetrics(small_font()).horizontalAdvance(row.under)
    return title + GRID + reason <= width
