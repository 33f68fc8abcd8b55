"""A picture in shared memory as Qt images: the level that suits the zoom, and the part that is seen.

Nothing is copied: the images look into the shared memory, so the arrays are kept as long as the images.
"""

import itertools
import math
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QBrush, QColor, QImage, QPainter, QPixmap, qGray

from engine.host.display_range import pixels_of
from engine.host.protocol import ScreenLevels, Shown, TiledScreen
from engine.host.request import SharedArray
from engine.host.shared import attach
from gui.explore.picture.view import Size, ViewTransform
from gui.style.theme import current_theme


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


SIDE = 256
CACHE_BYTES = 16 << 20
"""Tiles that are kept, bytes; those that are seen stay in any case."""
# A painting makes tiles for so long, s; the next one makes more.
_MOST_S = 0.012

Place = tuple[int, int]
Paint = Callable[[QPainter, ViewTransform, QRectF], None]


class FullSize:
    """Paints level 0 of a picture."""

    def __init__(self, samples: SharedArray, shown: Shown) -> None:
        self._samples = attach(samples)
        self._alpha = None if shown.alpha is None else attach(shown.alpha)
        self._how = shown.scale, shown.shift, shown.is_absolute
        self._white, self._has_alpha = shown.white, shown.alpha is not None
        self._tiles: OrderedDict[Place, QImage] = OrderedDict()
        self.channel: int | None = None

    def pixels(self, rows: slice, columns: slice) -> np.ndarray:
        """Return pixels of the screen: blue, green, red, alpha."""
        alpha = None if self._alpha is None else self._alpha[rows, columns]
        return pixels_of(self._samples[rows, columns], *self._how, alpha, self._white)

    def paint(self, painter: QPainter, transform: ViewTransform, target: QRectF, stand_in: Paint) -> bool:
        """Paint what is seen; return whether all of it was made in time. `stand_in` paints what was not."""
        height, width = self._samples.shape[:2]
        left, top = transform.to_picture(target.left(), target.top())
        right, bottom = transform.to_picture(target.right(), target.bottom())
        # Only what is seen: of a picture zoomed in far a tile is larger than any screen.
        rows = _cut(max(0, math.floor(top) - 1), min(height, math.ceil(bottom) + 1))
        columns = _cut(max(0, math.floor(left) - 1), min(width, math.ceil(right) + 1))
        ends_at, is_complete = time.perf_counter() + _MOST_S, True
        for down in rows:
            for across in columns:
                # Whole device pixels, so that no seam is seen between tiles.
                x, y = map(round, transform.to_pane(across.start, down.start))
                to_x, to_y = map(round, transform.to_pane(across.stop, down.stop))
                at = QRectF(x, y, to_x - x, to_y - y)
                place = down.start // SIDE, across.start // SIDE
                image = self._tile(place, may_make=time.perf_counter() < ends_at)
                if image is None:
                    is_complete = False
                    stand_in(painter, transform, at)
                    continue
                source = QRectF(
                    across.start % SIDE, down.start % SIDE, across.stop - across.start, down.stop - down.start
                )
                if self.channel is not None:
                    image, source = one_channel(image, source, self.channel)
                painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, transform.zoom < 1.0)
                painter.drawImage(at, image, source)
        self._drop_oldest(len(rows) * len(columns))
        return is_complete

    def _tile(self, place: Place, *, may_make: bool) -> QImage | None:
        image = self._tiles.get(place)
        if image is not None:
            self._tiles.move_to_end(place)
        elif may_make:
            rows, columns = (slice(first * SIDE, (first + 1) * SIDE) for first in place)
            # The array's memory is not kept.
            image = image_of(self.pixels(rows, columns), opaque=not self._has_alpha).copy()
            self._tiles[place] = image
        return image

    def _drop_oldest(self, seen: int) -> None:
        while len(self._tiles) > max(seen, CACHE_BYTES // (4 * SIDE * SIDE)):
            self._tiles.popitem(last=False)


def _cut(first: int, last: int) -> list[slice]:
    """Cut rows or columns where tiles end."""
    edges = [first, *range((first // SIDE + 1) * SIDE, last, SIDE), last]
    return [slice(*ends) for ends in itertools.pairwise(edges)]


_CHECKER_SIDE = 8


class _Level(NamedTuple):
    """The image of a level, the array that it looks into, and its pixels per pixel of the picture."""

    image: QImage
    pixels: np.ndarray
    columns_per_pixel: float
    rows_per_pixel: float


class PictureLevels:
    """A picture ready to be painted at any zoom."""

    def __init__(
        self, screen: ScreenLevels | TiledScreen, paint_again: Callable[[], None] = lambda: None
    ) -> None:
        here: tuple[SharedArray, ...]
        self._full_size: FullSize | None = None
        if isinstance(screen, TiledScreen):
            # The full size is somebody else's.
            (rows, columns), here = screen.levels[0], screen.coarse
            self._first = 1
        else:
            rows, columns = screen.levels[0].shape[:2]
            if screen.shown is not None:
                self._full_size = FullSize(screen.levels[0], screen.shown)
            self._first = int(self._full_size is not None)
            here = screen.levels[self._first :]
        self.size = Size(columns, rows)
        self._opaque = screen.opaque
        self.channel: int | None = None
        self._paint_again = paint_again
        # What is made as it is painted is not there before the first time.
        self._is_settled = self._full_size is None
        self._levels = [
            _level(attach(array), index, self.size, screen.opaque)
            for index, array in enumerate(here, self._first)
        ]

    remark = ""

    @property
    def is_settled(self) -> bool:
        """Whether nothing more will come of what is seen."""
        return self._is_settled

    def brightness(self, row: int, column: int) -> int:
        """Return how bright a pixel is on the screen, 0 to 255."""
        if self._full_size is not None:
            blue, green, red, _ = self._full_size.pixels(slice(row, row + 1), slice(column, column + 1))[0, 0]
            return qGray(int(red), int(green), int(blue))
        return qGray(self._levels[0].image.pixel(column, row))

    def paint(self, painter: QPainter, transform: ViewTransform, seen: QRectF) -> None:
        """Paint the part of the picture that lies in `seen` (device pixels of the pane)."""
        target = QRectF(
            transform.left, transform.top, self.size.width * transform.zoom, self.size.height * transform.zoom
        ).intersected(seen)
        if target.isEmpty():
            self._is_settled = True
            return
        if not self._opaque:
            painter.fillRect(target, checkerboard())
        wanted = self.level_for(transform.zoom)
        if self._full_size is not None and not wanted:
            self._full_size.channel = self.channel
            self._is_settled = self._full_size.paint(painter, transform, target, self._paint_coarse)
            if not self._is_settled:
                self._paint_again()
            return
        self._is_settled = True
        self._paint_level(self._levels[max(0, wanted - self._first)], painter, transform, target)

    def _paint_coarse(self, painter: QPainter, transform: ViewTransform, target: QRectF) -> None:
        self._paint_level(self._levels[0], painter, transform, target)

    def _paint_level(
        self, level: _Level, painter: QPainter, transform: ViewTransform, target: QRectF
    ) -> None:
        source, target = _whole_pixels(level, transform, target)
        # Above 100 % a pixel is a square; below, the nearest larger level is averaged down by less than two.
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, transform.zoom < 1.0)
        image = level.image
        if self.channel is not None:
            image, source = one_channel(image, source, self.channel)
        painter.drawImage(target, image, source)

    def level_for(self, zoom: float) -> int:
        """Return the index of the smallest level that is not smaller than the picture on the screen."""
        return finest_for(zoom, len(self._levels) + self._first)


def finest_for(zoom: float, count: int) -> int:
    """Return which of so many levels, each half the one before, is the smallest that is not too small."""
    return 0 if zoom >= 1.0 else min(math.floor(-math.log2(zoom) + 1e-9), count - 1)


def _level(pixels: np.ndarray, index: int, full: Size, opaque: bool) -> _Level:
    rows, columns = pixels.shape[:2]
    halvings = float(2**index)
    # The last column of an odd width is half a pixel of the next level, where that level has it.
    across, down = min(1.0 / halvings, columns / full.width), min(1.0 / halvings, rows / full.height)
    return _Level(image_of(pixels, opaque=opaque), pixels, across, down)


def _whole_pixels(level: _Level, transform: ViewTransform, seen: QRectF) -> tuple[QRectF, QRectF]:
    """Return the whole pixels of a level that cover what is seen, and where they lie in the pane."""
    left, top = transform.to_picture(seen.left(), seen.top())
    right, bottom = transform.to_picture(seen.right(), seen.bottom())
    first_column = max(0, math.floor(left * level.columns_per_pixel) - 1)
    first_row = max(0, math.floor(top * level.rows_per_pixel) - 1)
    last_column = min(level.image.width(), math.ceil(right * level.columns_per_pixel) + 1)
    last_row = min(level.image.height(), math.ceil(bottom * level.rows_per_pixel) + 1)
    source = QRectF(first_column, first_row, last_column - first_column, last_row - first_row)
    x, y = transform.to_pane(first_column / level.columns_per_pixel, first_row / level.rows_per_pixel)
    width = source.width() * transform.zoom / level.columns_per_pixel
    height = source.height() * transform.zoom / level.rows_per_pixel
    return source, QRectF(x, y, width, height)


def checkerboard() -> QBrush:
    """Return what lies under a transparent picture."""
    theme = current_theme()
    tile = QPixmap(2 * _CHECKER_SIDE, 2 * _CHECKER_SIDE)
    tile.fill(QColor(theme.checker_light))
    painter = QPainter(tile)
    painter.fillRect(0, 0, _CHECKER_SIDE, _CHECKER_SIDE, QColor(theme.checker_dark))
    painter.fillRect(_CHECKER_SIDE, _CHECKER_SIDE, _CHECKER_SIDE, _CHECKER_SIDE, QColor(theme.checker_dark))
    painter.end()
    return QBrush(tile)
