"""The pane that paints original and result, and turns mouse and keys into zooming and panning."""

from functools import partial

from PySide6.QtCore import QEvent, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QContextMenuEvent,
    QEnterEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QSizePolicy, QWidget

from engine.tasks.operation.found import Mark
from gui.explore.picture.layers import Layer, ViewMode, arranged, paint_layer, paint_mark, pane_width
from gui.explore.picture.levels import Levels
from gui.explore.picture.pixel_values import Numbers
from gui.explore.picture.split_handle import SplitHandle
from gui.explore.picture.view import Size, ViewState
from gui.style.theme import current_theme

_NOTCH = 120.0
_PAN_STEP = 64


class PictureCanvas(QWidget):
    """Original and result at one place and zoom."""

    pixel_hovered = Signal(object)  # (row, column) under the cursor, or None
    menu_asked = Signal(object)  # a menu is wanted at this QPoint of the screen

    def __init__(self) -> None:
        super().__init__()
        self.view = ViewState(self)
        self.handle = SplitHandle(self)
        self.mode = ViewMode.SPLIT
        self.result_name = "result"
        self._original: Levels | None = None
        self._result: Levels | None = None
        self._values: Numbers | None = None
        self._mark: Mark | None = None
        self._mark_text = ""
        self._dragged_from: QPointF | None = None
        self.setMinimumSize(240, 160)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        self.setCursor(Qt.CursorShape.CrossCursor)
        self.setAccessibleName("Picture")
        self.view.changed.connect(self.update)
        self.handle.moved.connect(self.update)
        self._place_handle()

    def set_mode(self, mode: ViewMode) -> None:
        """Share the pane in another way; the place and the zoom stay."""
        self.mode = mode
        self._fit_pane()
        self._place_handle()
        self.update()

    def set_picture(self, original: Levels | None, values: Numbers | None) -> None:
        """Show another picture, without a result yet."""
        self._original, self._result, self._values = original, None, values
        if original is not None:
            self.view.set_picture_size(original.size)
        self._place_handle()
        self.update()

    def set_result(self, result: Levels | None) -> None:
        """Show another result of the same picture, at the same place."""
        self._result = result
        self._place_handle()
        self.update()

    def set_mark(self, mark: Mark | None, text: str = "") -> None:
        """Draw a frame around a rectangle of the picture, with a text; none for None."""
        self._mark, self._mark_text = mark, text
        self.update()

    def name_result(self, name: str) -> None:
        """Call the result something else: one that is no longer of these settings says so."""
        self.result_name = name
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        theme = current_theme()
        painter = QPainter(self)
        painter.fillRect(self.rect(), QColor(theme.base))
        # Everything is placed in device pixels, so that 100 % is sharp on every screen.
        painter.scale(1.0 / self.devicePixelRatioF(), 1.0 / self.devicePixelRatioF())
        for layer in self._layers():
            paint_layer(painter, layer, self.view.transform, self.font(), self.devicePixelRatioF())
            if self._mark is not None:
                how = self.view.transform, self.font(), self.devicePixelRatioF()
                paint_mark(painter, layer, self._mark, self._mark_text, *how)
        if self.hasFocus() and self._original is not None:
            painter.resetTransform()
            painter.setPen(QPen(QColor(theme.accent), 2))
            painter.drawRect(self.rect().adjusted(1, 1, -1, -1))

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._fit_pane()
        self._place_handle()

    def wheelEvent(self, event: QWheelEvent) -> None:
        turned = event.angleDelta().y() or event.angleDelta().x()
        if turned and self._original is not None:
            at = self._in_pane(event.position())
            self.view.zoom_by(turned / _NOTCH, at.x(), at.y())
            self._report_hovered(event.position())
        event.accept()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        buttons = (Qt.MouseButton.LeftButton, Qt.MouseButton.MiddleButton)
        if event.button() in buttons and self._original is not None:
            self._dragged_from = event.position()
            self.setCursor(Qt.CursorShape.ClosedHandCursor)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._dragged_from is not None:
            way = (event.position() - self._dragged_from) * self.devicePixelRatioF()
            self._dragged_from = event.position()
            self.view.pan(way.x(), way.y())
        self._report_hovered(event.position())

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self._dragged_from = None
        self.setCursor(Qt.CursorShape.CrossCursor)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        if self._original is not None and self.view.is_fitted:
            at = self._in_pane(event.position())
            self.view.zoom_to(1.0, at.x(), at.y())
        elif self._original is not None:
            self.view.fit()

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        self.menu_asked.emit(event.globalPos())

    def leaveEvent(self, event: QEvent) -> None:
        self.pixel_hovered.emit(None)

    def enterEvent(self, event: QEnterEvent) -> None:
        self._report_hovered(event.position())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        step = _PAN_STEP * self.devicePixelRatioF()
        key, keys = Qt.Key(event.key()), Qt.Key
        ways = {
            keys.Key_Left: (step, 0.0),
            keys.Key_Right: (-step, 0.0),
            keys.Key_Up: (0.0, step),
            keys.Key_Down: (0.0, -step),
        }
        if key in ways:
            self.view.pan(*ways[key])
        elif key in (keys.Key_Plus, keys.Key_Equal, keys.Key_Minus):
            self.view.zoom_by(-1 if key == keys.Key_Minus else 1)
        elif key in (keys.Key_Home, keys.Key_0):
            self.view.fit()
        elif key == keys.Key_1:
            self.view.show_actual()
        else:
            super().keyPressEvent(event)

    def _layers(self) -> list[Layer]:
        if self._original is None or self._values is None:
            return []
        width, height = self._device_size()
        whole, values = QRectF(0, 0, width, height), self._values
        original = Layer(
            self._original, _label("original", self._original), partial(values.texts, "original")
        )
        result = Layer(
            self._result,
            _label(self.result_name, self._result),
            partial(values.texts, "result"),
            is_right=True,
        )
        return arranged(self.mode, whole, self.handle.fraction, original, result)

    def _in_pane(self, position: QPointF) -> QPointF:
        """Return a place of the widget in device pixels of the pane that it lies in."""
        x, y = position.x() * self.devicePixelRatioF(), position.y() * self.devicePixelRatioF()
        width, _ = self._device_size()
        right = width - pane_width(self.mode, width)
        if self.mode == ViewMode.SIDE_BY_SIDE and x >= right:
            x -= right
        return QPointF(x, y)

    def _report_hovered(self, position: QPointF) -> None:
        at = self._in_pane(position)
        inside = self._original is not None and self.rect().contains(position.toPoint())
        self.pixel_hovered.emit(self.view.pixel_at(at.x(), at.y()) if inside else None)

    def _fit_pane(self) -> None:
        width, height = self._device_size()
        self.view.set_pane_size(Size(pane_width(self.mode, width), height))

    def _place_handle(self) -> None:
        self.handle.setVisible(self.mode == ViewMode.SPLIT and self._result is not None)
        self.handle.update_position()

    def _device_size(self) -> tuple[int, int]:
        ratio = self.devicePixelRatioF()
        return max(1, round(self.width() * ratio)), max(1, round(self.height() * ratio))


def _label(name: str, levels: Levels | None) -> str:
    return f"{name}, {levels.remark}" if levels is not None and levels.remark else name
