"""The full size of a large picture: pixels are made from the samples where they are seen, and kept a while.

The samples lie in shared memory; nothing is computed but the pixels of the screen.
"""

import itertools
import math
import time
from collections import OrderedDict
from collections.abc import Callable

import numpy as np
from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QImage, QPainter

from engine.host.display_range import pixels_of
from engine.host.protocol import Shown
from engine.host.shared import attach
from engine.host.shared_array import SharedArray
from gui.explore.picture.view import ViewTransform


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
                    across.start % SIDE,
                    down.start % SIDE,
                    across.stop - across.start,
                    down.stop - down.start,
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
