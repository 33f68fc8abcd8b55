"""A picture as Qt images: the level that suits the zoom, and the part that is visible.

Of what lies in shared memory nothing is copied: the images look into it, so the arrays are kept as long as
they are.
"""

import math
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
from PySide6.QtCore import QObject, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QBrush, QColor, QImage, QPainter, QPixmap, qGray

from engine.host.protocol import WHOLE, DisplayScale, Place, ScreenLevels, TiledScreen
from engine.host.request import SharedArray
from engine.host.shared import attach
from engine.image.convert import pixels_of
from gui.explore.picture.view import Size, ViewTransform
from gui.style.theme import current_theme, mixed


def image_of(pixels: np.ndarray, *, opaque: bool) -> QImage:
    """Return an image that looks into an array of pixels, which has to be kept."""
    kind = QImage.Format.Format_RGB32 if opaque else QImage.Format.Format_ARGB32_Premultiplied
    rows, columns = pixels.shape[:2]
    # Without the length of a row Qt would expect rows padded to whole words and shear the picture.
    return QImage(pixels.data.cast("B"), columns, rows, pixels.strides[0], kind)


def one_channel(image: QImage, source: QRectF, channel: int) -> tuple[QImage, QRectF]:
    """Return a part of an image with one of its channels in grey, and where that part lies in it."""
    whole = source.toAlignedRect().intersected(image.rect())
    part = image.copy(whole)
    # From the lowest byte blue, green, red, alpha.
    rows = np.frombuffer(part.constBits(), np.uint8).reshape(part.height(), part.bytesPerLine())
    grey = np.ascontiguousarray(rows[:, 2 - channel : 4 * part.width() : 4])
    made = QImage(grey.data, part.width(), part.height(), grey.strides[0], QImage.Format.Format_Grayscale8)
    # The array's memory is not kept.
    return made.copy(), source.translated(-QPointF(whole.topLeft()))


def pixels_in(samples: SharedArray, shown: DisplayScale) -> Callable[[slice, slice], np.ndarray]:
    """Return a function that makes pixels of the screen (blue, green, red, alpha) of some samples."""
    values, alpha = attach(samples), None if shown.alpha is None else attach(shown.alpha)

    def pixels(rows: slice, columns: slice) -> np.ndarray:
        opacity = None if alpha is None else alpha[rows, columns]
        how = shown.scale, shown.shift, shown.is_absolute
        return pixels_of(values[rows, columns], *how, opacity, shown.white)

    return pixels


CACHE_BYTES = 16 << 20
"""Tiles that are kept, bytes; visible ones stay in any case."""
_MOST_S = 0.012  # a painting makes tiles for so long, s; the next one makes more
# A damaged tile says so where it has room for the word, device pixels.
_WORD_SPACE = 80
_CHECKER_SIDE = 8

Key = tuple[int, Place]
"""The level of a tile, and its place there."""
Area = tuple[int, int, int, int]
"""Pixels of a level: first row and column, past the last ones."""


class TileImage(NamedTuple):
    """The image of a tile, None where the file is damaged there, and its detail."""

    image: QImage | None
    detail: int = WHOLE

    @property
    def is_final(self) -> bool:
        """Whether it is no sample."""
        return self.detail >= WHOLE

    @property
    def bytes(self) -> int:
        return 0 if self.image is None else self.image.sizeInBytes()


class _Whole(NamedTuple):
    """The image of a level, the array that it looks into, and its pixels per pixel of the picture."""

    image: QImage
    pixels: np.ndarray
    columns_per_pixel: float
    rows_per_pixel: float


class PictureLevels(QObject):
    """A picture ready to be painted at any zoom.

    The levels that are here as a whole are painted as they are, the finer ones in tiles. These are made as
    they become visible; until then a coarser tile is shown, or the finest level that is whole.
    """

    updated = Signal()  # more of it can be painted

    def __init__(self, screen: ScreenLevels | TiledScreen) -> None:
        super().__init__()
        self._pixels: Callable[[slice, slice], np.ndarray] | None = None
        if isinstance(screen, TiledScreen):
            whole = screen.coarse
        else:
            whole, sides = screen.levels, tuple((one.shape[0], one.shape[1]) for one in screen.levels)
            if screen.shown is not None:
                self._pixels, whole = pixels_in(whole[0], screen.shown), whole[1:]
            screen = TiledScreen("", sides, opaque=screen.opaque)
        self._screen = screen
        rows, columns = screen.levels[0]
        self.size = Size(columns, rows)
        self.channel: int | None = None
        self._first = len(screen.levels) - len(whole)  # the finest of the levels that are here as a whole
        self._wholes = [
            _whole(attach(array), at, self.size, screen.opaque) for at, array in enumerate(whole, self._first)
        ]
        self._before: PictureLevels | None = None  # what is shown until all of this is there
        self._kept: OrderedDict[Key, TileImage] = OrderedDict()
        self._kept_bytes = 0
        self._level = 0
        # The visible tiles, the middle one first; not known before it was painted.
        self._seen: tuple[Place, ...] = ()
        self._was_painted = False

    @property
    def remark(self) -> str:
        """What the person should know of what is shown, in a few words; empty for pixels of full size."""
        return ""

    @property
    def has_all_tiles(self) -> bool:
        """Whether all visible tiles are there."""
        kept = [self._kept.get((self._level, place)) for place in self._seen]
        return bool(kept) and all(tile is not None and tile.is_final for tile in kept)

    @property
    def is_complete(self) -> bool:
        """Whether all that is visible is there, or will not get better."""
        return not self._first or (self._was_painted and (not self._seen or self.has_all_tiles))

    def level_for(self, zoom: float) -> int:
        """Return the index of the smallest level that is not smaller than the picture on the screen."""
        return finest_for(zoom, len(self._screen.levels))

    def brightness(self, row: int, column: int) -> int:
        """Return how bright a pixel is on the screen, 0 to 255; black where that is not known yet."""
        if not self._first:
            return qGray(self._wholes[0].image.pixel(column, row))
        side = self._screen.tile
        kept = self._kept.get((0, (row // side, column // side)))
        is_known = kept is not None and kept.image is not None
        return qGray(kept.image.pixel(column % side, row % side)) if is_known else 0  # type: ignore[union-attr]

    def paint(self, painter: QPainter, transform: ViewTransform, seen: QRectF) -> None:
        """Paint the part of the picture that lies in `seen` (device pixels of the pane)."""
        target = transform.place_of(0, 0, self.size.height, self.size.width).intersected(seen)
        self._level, self._seen, self._was_painted = self.level_for(transform.zoom), (), True
        if target.isEmpty():
            return
        if not self._screen.opaque:
            painter.fillRect(target, checkerboard())
        if self._level >= self._first:
            self._before = None
            self._paint_whole(painter, transform, target, self._level)
            return
        self._seen = self._places_in(transform, target)
        self._have_tiles()
        if self.has_all_tiles:
            self._before = None
        for place in self._seen:
            if self._best_for(self._level, place) is None:
                (_, at), theme = self._area_of(transform, target, self._level, place), current_theme()
                if self._wholes:
                    self._paint_whole(painter, transform, at, self._first)
                else:
                    # Between the colour of the pane and that of the labels on it.
                    painter.fillRect(at, mixed(QColor(theme.base), QColor(theme.raised), 0.5))
        for levels in filter(None, (self._before, self)):
            levels._paint_tiles(painter, transform, target, self._level, self._seen)

    def _places_in(self, transform: ViewTransform, target: QRectF) -> tuple[Place, ...]:
        """Return the visible tiles, the middle one first."""
        down, across = self._screen.places(self._level)
        side = self._screen.tile * 2**self._level
        left, top, right, bottom = transform.seen_in(target)
        rows = range(max(0, int(top // side)), min(down, math.ceil(bottom / side)))
        columns = range(max(0, int(left // side)), min(across, math.ceil(right / side)))
        middle = (top + bottom) / (2 * side) - 0.5, (left + right) / (2 * side) - 0.5
        places = [(row, column) for row in rows for column in columns]
        return tuple(sorted(places, key=lambda place: math.dist(place, middle)))

    def _have_tiles(self) -> None:
        """Make visible tiles, for a while."""
        assert self._pixels is not None
        ends_at = time.perf_counter() + _MOST_S
        for place in self._seen:
            if (0, place) not in self._kept and time.perf_counter() < ends_at:
                # The array's memory is not kept.
                made = self._pixels(*self._screen.extent(0, place))
                self._keep((0, place), TileImage(image_of(made, opaque=self._screen.opaque).copy()))
        self._drop_oldest()
        if not self.has_all_tiles:
            self.updated.emit()

    def _keep(self, key: Key, kept: TileImage) -> None:
        old = self._kept.pop(key, None)
        self._kept[key] = kept
        self._kept_bytes += kept.bytes - (old.bytes if old else 0)

    def _drop_oldest(self) -> None:
        seen = {(self._level, place) for place in self._seen}
        seen.add((len(self._screen.levels) - 1, (0, 0)))
        for key in list(self._kept):
            if self._kept_bytes <= CACHE_BYTES:
                return
            if key not in seen:
                self._kept_bytes -= self._kept.pop(key).bytes

    def _best_for(self, level: int, place: Place) -> Key | None:
        """Return the key of what shows a tile in most detail: it, its sample, or a coarser tile."""
        best, most = None, 0.0
        for coarser in range(level, len(self._screen.levels)):
            steps = coarser - level
            key = coarser, (place[0] >> steps, place[1] >> steps)
            kept = self._kept.get(key)
            if kept is None or kept.image is None:
                if kept is not None and not steps:
                    return key
                continue
            columns = self._screen.extent(*key)[1]
            detail = kept.image.width() / (columns.stop - columns.start) / 2**steps
            if detail > most:
                best, most = key, detail
            if kept.is_final:
                break
        if best is not None:
            self._kept.move_to_end(best)
        return best

    def _area_of(
        self, transform: ViewTransform, target: QRectF, level: int, place: Place
    ) -> tuple[Area, QRectF]:
        """Return the visible pixels of a tile, and where: whole ones of both, so without a seam."""
        rows, columns = self._screen.extent(level, place)
        scale = 2.0**level
        left, top, right, bottom = transform.seen_in(target)
        begin = max(rows.start, math.floor(top / scale) - 1), max(columns.start, math.floor(left / scale) - 1)
        last = min(rows.stop, math.ceil(bottom / scale) + 1), min(columns.stop, math.ceil(right / scale) + 1)
        area = *begin, *last
        x, y = map(round, transform.to_pane(area[1] * scale, area[0] * scale))
        # The last pixel of an odd side is half a one of the next level.
        ends = min(area[3] * scale, self.size.width), min(area[2] * scale, self.size.height)
        to_x, to_y = map(round, transform.to_pane(*ends))
        return area, QRectF(x, y, to_x - x, to_y - y)

    def _paint_tiles(
        self, painter: QPainter, transform: ViewTransform, target: QRectF, level: int, places: Iterable[Place]
    ) -> None:
        for place in places:
            best = self._best_for(level, place)
            if best is None or (self._before is not None and best != (level, place)):
                continue
            (top, left, bottom, right), at = self._area_of(transform, target, level, place)
            kept = self._kept[best]
            if (image := kept.image) is None:
                _paint_damage(painter, at)
                continue
            steps = 2 ** (best[0] - level)
            rows, columns = self._screen.extent(*best)
            across = image.width() / (columns.stop - columns.start)
            down = image.height() / (rows.stop - rows.start)
            x, y = (left / steps - columns.start) * across, (top / steps - rows.start) * down
            source = QRectF(x, y, (right - left) / steps * across, (bottom - top) / steps * down)
            is_sharp = transform.zoom >= 1.0 and steps == 1 and kept.is_final
            self._draw(painter, at, image, source, is_sharp=is_sharp)

    def _paint_whole(self, painter: QPainter, transform: ViewTransform, target: QRectF, level: int) -> None:
        image, _, across, down = self._wholes[level - self._first]
        # Whole pixels of the level that cover what is visible, and where they lie in the pane.
        left, top, right, bottom = transform.seen_in(target)
        first_row, first = max(0, math.floor(top * down) - 1), max(0, math.floor(left * across) - 1)
        rows = min(image.height(), math.ceil(bottom * down) + 1) - first_row
        columns = min(image.width(), math.ceil(right * across) + 1) - first
        at = transform.place_of(first_row / down, first / across, rows / down, columns / across)
        # Above 100 % a pixel is a square; below, the nearest larger level is averaged down by less than two.
        source = QRectF(first, first_row, columns, rows)
        self._draw(painter, at, image, source, is_sharp=transform.zoom >= 1.0)

    def _draw(self, painter: QPainter, at: QRectF, image: QImage, source: QRectF, *, is_sharp: bool) -> None:
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, not is_sharp)
        if self.channel is not None:
            image, source = one_channel(image, source, self.channel)
        painter.drawImage(at, image, source)


def finest_for(zoom: float, count: int) -> int:
    """Return which of so many levels, each half the one before, is the smallest that is not too small."""
    return 0 if zoom >= 1.0 else min(math.floor(-math.log2(zoom) + 1e-9), count - 1)


def _whole(pixels: np.ndarray, index: int, full: Size, opaque: bool) -> _Whole:
    rows, columns = pixels.shape[:2]
    halvings = float(2**index)
    # The last column of an odd width is half a pixel of the next level, where that level has it.
    across, down = min(1.0 / halvings, columns / full.width), min(1.0 / halvings, rows / full.height)
    return _Whole(image_of(pixels, opaque=opaque), pixels, across, down)


def checkerboard() -> QBrush:
    """Return what lies under a transparent picture."""
    theme = current_theme()
    side, tile = _CHECKER_SIDE, QPixmap(2 * _CHECKER_SIDE, 2 * _CHECKER_SIDE)
    tile.fill(QColor(theme.checker_light))
    painter = QPainter(tile)
    for corner in (0, side):
        painter.fillRect(corner, corner, side, side, QColor(theme.checker_dark))
    painter.end()
    return QBrush(tile)


def _paint_damage(painter: QPainter, at: QRectF) -> None:
    theme = current_theme()
    painter.fillRect(at, QColor(theme.raised))
    painter.fillRect(at, QBrush(QColor(theme.error), Qt.BrushStyle.BDiagPattern))
    if min(at.width(), at.height()) >= _WORD_SPACE:
        box = painter.fontMetrics().boundingRect("damaged").adjusted(-8, -4, 8, 4)
        box.moveCenter(at.center().toPoint())
        painter.fillRect(box, QColor(theme.raised))
        painter.setPen(QColor(theme.error))
        painter.drawText(box, Qt.AlignmentFlag.AlignCenter, "damaged")
