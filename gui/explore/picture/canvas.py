"""The pane that paints original and result, with the handle between them; mouse and keys zoom and pan."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

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
    QPolygonF,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QSizePolicy, QWidget

from engine.results.answer import Mark
from engine.verify.verification import Region
from gui.explore.picture.layers import (
    CanvasLayer,
    DragTool,
    LayerPainter,
    Pixel,
    PixelLine,
    ViewMode,
    arranged,
    pane_width,
)
from gui.explore.picture.levels import PictureLevels
from gui.explore.picture.tiled import Numbers
from gui.explore.picture.view import Size, ViewState
from gui.style.theme import current_theme

_NOTCH = 120.0
_PAN_STEP = 64
# With less the mouse was clicked, not dragged.
_DRAG_FROM = 4
_WALKS = {Qt.Key.Key_Left: (0, -1), Qt.Key.Key_Right: (0, 1), Qt.Key.Key_Up: (-1, 0), Qt.Key.Key_Down: (1, 0)}


@dataclass(frozen=True, slots=True)
class Scene:
    """What the canvas shows."""

    mode: ViewMode = ViewMode.SPLIT
    original: PictureLevels | None = None
    original_name: str = "original"
    result: PictureLevels | None = None
    result_name: str = "result"  # one that is no longer of these settings says so
    values: Numbers | None = None
    # How both differ, in the modes for it; the words name it, or say why it is not there.
    difference: PictureLevels | None = None
    difference_words: str = ""
    channel: int | None = None  # one channel alone, in grey; None: all of them
    # What has a frame: a rectangle with a text, a region; and a line.
    mark: Mark | None = None
    mark_text: str = ""
    region: Region | None = None
    line: PixelLine | None = None


WIDTH = 17
# Not in the middle, where the point of an impulse and the eye of a zone plate are.
_GRIP_PLACE = 0.75
_GRIP_HEIGHT = 40
_STEP = 0.01
_LARGE_STEP = 0.1


class SplitHandle(QWidget):
    """A vertical line with a grip over the picture; its place is a part of its parent's width."""

    moved = Signal(float)  # the new place, 0 (left edge) to 1

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._pane = parent
        self.fraction = 0.5  # where the line is, as a part of the parent's width
        self._grabbed_at: float | None = None
        self.setCursor(Qt.CursorShape.SplitHCursor)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        # Without a button the cursor belongs to the picture below, whose pixels are read.
        self.setMouseTracking(True)
        self.setToolTip(
            "Original left, result right. Drag, or use Left and Right (Shift: further, Home, End)."
        )
        self._describe()

    def set_fraction(self, fraction: float) -> None:
        fraction = min(max(fraction, 0.0), 1.0)
        if fraction != self.fraction:
            self.fraction = fraction
            self.update_position()
            self._describe()
            self.moved.emit(fraction)

    def update_position(self) -> None:
        """Lie where the fraction says in the parent as large as it is now."""
        middle = round(self.fraction * self._pane.width())
        self.setGeometry(middle - WIDTH // 2, 0, WIDTH, self._pane.height())

    def paintEvent(self, event: QPaintEvent) -> None:
        theme = current_theme()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        middle = WIDTH // 2 + 0.5
        # A dark line with a light core can be seen on any picture.
        for pen in (QPen(QColor(0, 0, 0, 160), 3), QPen(QColor("#ffffff"), 1)):
            painter.setPen(pen)
            painter.drawLine(QPointF(middle, 0), QPointF(middle, self.height()))
        centre = self.height() * _GRIP_PLACE
        grip = QRectF(0.5, centre - _GRIP_HEIGHT / 2.0, WIDTH - 1, _GRIP_HEIGHT)
        colour, width = (theme.accent, 2) if self.hasFocus() else (theme.line, 1)
        painter.setPen(QPen(QColor(colour), width))
        painter.setBrush(QColor(theme.raised))
        painter.drawRoundedRect(grip.adjusted(1, 1, -1, -1), 5, 5)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(theme.text))
        for side in (-1.0, 1.0):
            tip, back = middle + side * 5.5, middle + side * 1.8
            corners = (tip, centre), (back, centre - 4), (back, centre + 4)
            painter.drawPolygon(QPolygonF([QPointF(*corner) for corner in corners]))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() != Qt.MouseButton.LeftButton:
            event.ignore()
            return
        self._grabbed_at = event.position().x() - WIDTH // 2

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._grabbed_at is None:
            event.ignore()
            return
        x = self.mapToParent(event.position()).x() - self._grabbed_at
        self.set_fraction(x / max(1, self._pane.width()))

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self._grabbed_at = None

    def keyPressEvent(self, event: QKeyEvent) -> None:
        step, keys = _LARGE_STEP if event.modifiers() & Qt.KeyboardModifier.ShiftModifier else _STEP, Qt.Key
        steps = {keys.Key_Left: -step, keys.Key_Right: step, keys.Key_Home: -1.0, keys.Key_End: 1.0}
        if (by := steps.get(Qt.Key(event.key()))) is None:
            super().keyPressEvent(event)
        else:
            self.set_fraction(self.fraction + by)

    def _describe(self) -> None:
        self.setAccessibleName("Split handle")
        self.setAccessibleDescription(f"Original on the left {100 * self.fraction:.0f} %, result on the rest")


class PictureCanvas(QWidget):
    """Original and result at one place and zoom."""

    pixel_hovered = Signal(object)  # (row, column) under the cursor, or None
    menu_wanted = Signal(object)  # a menu is wanted at this QPoint of the screen
    pixel_clicked = Signal(object)  # (row, column)
    walked = Signal(int, int)  # rows down and columns across, by the arrow keys while a pixel is pinned
    let_go = Signal()  # Esc while a pixel is pinned
    region_drawn = Signal(object)  # a Region; None where it was only a click
    line_drawn = Signal(object)  # a Line
    blinked = Signal()

    def __init__(self) -> None:
        super().__init__(focusPolicy=Qt.FocusPolicy.StrongFocus, mouseTracking=True, accessibleName="Picture")
        self.view = ViewState(self)
        self.handle = SplitHandle(self)
        self.scene = Scene()
        self._frames: tuple[Mark | None, Mark | None] = None, None
        self.drawing = DragTool.PAN  # what dragging does; with Shift it draws a region
        self.is_pinned = False  # whether the arrow keys walk from pixel to pixel
        self._drawn_from: tuple[DragTool, Pixel] | None = None
        self._pressed_at = QPointF()
        self._dragged_from: QPointF | None = None
        self.setMinimumSize(240, 160)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setCursor(Qt.CursorShape.CrossCursor)
        self.setObjectName("picture")
        self.view.changed.connect(self.update)
        self.handle.moved.connect(self.update)
        self._fit()

    def show_scene(self, **changed: Any) -> None:
        """Show something else: other fields of the scene. The place and the zoom stay."""
        self.scene = replace(self.scene, **changed)
        if "original" in changed and self.scene.original is not None:
            self.view.set_picture_size(self.scene.original.size)
        self._fit()
        self.update()

    @property
    def is_complete(self) -> bool:
        return all(layer.levels is None or layer.levels.is_complete for layer in self._layers())

    def set_frames(self, window: Mark | None, pixel: Mark | None) -> None:
        """Frame the cells that a result is made of, and the result; nothing for None."""
        if (window, pixel) != self._frames:
            # They follow the mouse: only what they cover is painted anew.
            for frame in (*self._frames, window, pixel):
                self._update_around(frame)
            self._frames = window, pixel

    def paintEvent(self, event: QPaintEvent) -> None:
        theme = current_theme()
        painter = QPainter(self)
        painter.fillRect(self.rect(), QColor(theme.base))
        # Everything is placed in device pixels, so that 100 % is sharp on every screen.
        ratio, at, scene = self.devicePixelRatioF(), self.view.transform, self.scene
        painter.scale(1.0 / ratio, 1.0 / ratio)
        for layer in self._layers():
            if layer.levels is not None:
                layer.levels.channel = scene.channel
            painter.save()
            on_layer = LayerPainter(painter, layer, at, self.font(), ratio)
            on_layer.paint()
            if scene.mark is not None:
                on_layer.mark(scene.mark, scene.mark_text)
            for frame in filter(None, self._frames):
                on_layer.mark(frame)
            if scene.region is not None:
                on_layer.region(scene.region)
            if scene.line is not None:
                on_layer.line(scene.line)
            painter.restore()
        if self.hasFocus() and scene.original is not None:
            painter.resetTransform()
            painter.setPen(QPen(QColor(theme.accent), 2))
            painter.drawRect(self.rect().adjusted(1, 1, -1, -1))

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._fit()

    def wheelEvent(self, event: QWheelEvent) -> None:
        turned = event.angleDelta().y() or event.angleDelta().x()
        if turned and self.scene.original is not None:
            at = self._in_pane(event.position())
            self.view.zoom_by(turned / _NOTCH, at.x(), at.y())
            self.pixel_hovered.emit(self._pixel(event.position()))
        event.accept()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._pressed_at = event.position()
        button, buttons = event.button(), Qt.MouseButton
        is_shifted = event.modifiers() & Qt.KeyboardModifier.ShiftModifier
        drawing = DragTool.REGION if is_shifted else self.drawing
        if self.scene.original is None:
            return
        if button == buttons.LeftButton and drawing is not DragTool.PAN:
            self._drawn_from = drawing, self._nearest(event.position())
        elif button in (buttons.LeftButton, buttons.MiddleButton):
            self._dragged_from = event.position()
            self.setCursor(Qt.CursorShape.ClosedHandCursor)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._dragged_from is not None:
            way = (event.position() - self._dragged_from) * self.devicePixelRatioF()
            self._dragged_from = event.position()
            self.view.pan(way.x(), way.y())
        elif self._drawn_from is not None and self._has_moved(event.position()):
            drawing, first = self._drawn_from
            # A region and a line are fields of the scene by these names.
            self.show_scene(**{drawing: drawing.shape(first, self._nearest(event.position()))})
        self.pixel_hovered.emit(self._pixel(event.position()))

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        drawn, self._drawn_from, self._dragged_from = self._drawn_from, None, None
        self.setCursor(Qt.CursorShape.CrossCursor)
        if self.scene.original is None:
            return
        if not self._has_moved(event.position()):
            if drawn is not None and drawn[0] is DragTool.REGION:
                self.region_drawn.emit(None)
            elif event.button() == Qt.MouseButton.LeftButton and (pixel := self._pixel(event.position())):
                self.pixel_clicked.emit(pixel)
        elif drawn is not None:
            drawing, first = drawn
            done = self.region_drawn if drawing is DragTool.REGION else self.line_drawn
            done.emit(drawing.shape(first, self._nearest(event.position())))

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        if self.scene.original is not None and self.view.is_fitted:
            at = self._in_pane(event.position())
            self.view.zoom_to(1.0, at.x(), at.y())
        elif self.scene.original is not None:
            self.view.fit()

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        self.menu_wanted.emit(event.globalPos())

    def leaveEvent(self, event: QEvent) -> None:
        self.pixel_hovered.emit(None)

    def enterEvent(self, event: QEnterEvent) -> None:
        self.pixel_hovered.emit(self._pixel(event.position()))

    def event(self, event: QEvent) -> bool:
        # Esc lets the pixel go, and is not the window's while there is one.
        is_override = event.type() == QEvent.Type.ShortcutOverride
        if is_override and self.is_pinned and cast("QKeyEvent", event).key() == Qt.Key.Key_Escape:
            event.accept()
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        step = _PAN_STEP * self.devicePixelRatioF()
        key, keys = Qt.Key(event.key()), Qt.Key
        if self.is_pinned and key == keys.Key_Escape:
            self.let_go.emit()
        elif key in _WALKS:
            down, across = _WALKS[key]
            if self.is_pinned:
                self.walked.emit(down, across)
            else:
                self.view.pan(-across * step, -down * step)
        elif key == keys.Key_B:
            self.blinked.emit()
        elif key in (keys.Key_Plus, keys.Key_Equal, keys.Key_Minus):
            self.view.zoom_by(-1 if key == keys.Key_Minus else 1)
        elif key in (keys.Key_Home, keys.Key_0):
            self.view.fit()
        elif key == keys.Key_1:
            self.view.show_actual()
        else:
            super().keyPressEvent(event)

    def _layers(self) -> list[CanvasLayer]:
        scene = self.scene
        if scene.original is None or scene.values is None:
            return []
        whole = QRectF(0, 0, *self._device_size())
        texts = [partial(scene.values.texts, name) for name in ("original", "result")]
        original = CanvasLayer(scene.original, _label(scene.original_name, scene.original), texts[0])
        result = CanvasLayer(scene.result, _label(scene.result_name, scene.result), texts[1], is_right=True)
        words = scene.difference_words
        difference = CanvasLayer(scene.difference, words, lambda _row, _column: (), empty=words)
        return arranged(scene.mode, whole, self.handle.fraction, original, result, difference)

    def _in_pane(self, position: QPointF) -> QPointF:
        """Return a place of the widget in device pixels of the pane that it lies in."""
        at, right = position * self.devicePixelRatioF(), self._second_pane()
        return at - QPointF(right if at.x() >= right else 0, 0)

    def _second_pane(self) -> int:
        """Return where the second of two panes side by side begins, device pixels; 0 for one pane."""
        width, _ = self._device_size()
        return width - pane_width(self.scene.mode, width)

    def _pixel(self, position: QPointF) -> Pixel | None:
        at = self._in_pane(position)
        inside = self.scene.original is not None and self.rect().contains(position.toPoint())
        return self.view.pixel_at(at.x(), at.y()) if inside else None

    def _update_around(self, mark: Mark | None) -> None:
        """Paint the surroundings of a rectangle of the picture anew, in each pane."""
        if mark is None:
            return
        place = self.view.transform.place_of(mark.row, mark.column, mark.height, mark.width)
        ratio = self.devicePixelRatioF()
        around = QRectF(place.topLeft() / ratio, place.size() / ratio).adjusted(-4, -4, 4, 4).toAlignedRect()
        for shift in {0, round(self._second_pane() / ratio)}:
            self.update(around.translated(shift, 0))

    def _nearest(self, position: QPointF) -> Pixel:
        at = self._in_pane(position)
        return self.view.nearest_pixel(at.x(), at.y())

    def _has_moved(self, position: QPointF) -> bool:
        return (position - self._pressed_at).manhattanLength() >= _DRAG_FROM

    def _fit(self) -> None:
        width, height = self._device_size()
        self.view.set_pane_size(Size(pane_width(self.scene.mode, width), height))
        self.handle.setVisible(self.scene.mode == ViewMode.SPLIT and self.scene.result is not None)
        self.handle.update_position()

    def _device_size(self) -> tuple[int, int]:
        ratio = self.devicePixelRatioF()
        return max(1, round(self.width() * ratio)), max(1, round(self.height() * ratio))


def _label(name: str, levels: PictureLevels | None) -> str:
    return f"{name}, {levels.remark}" if levels is not None and levels.remark else name
