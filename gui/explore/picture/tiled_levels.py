"""A picture whose tiles are asked for as they are seen; a coarser tile stands in until a finer one comes."""

import math
from collections import OrderedDict
from typing import Any, NamedTuple

from PySide6.QtCore import QObject, QRectF, Qt, QTimer, Signal
from PySide6.QtGui import QBrush, QColor, QImage, QPainter, qGray

from engine.errors import Cancelled, EngineError, ResultGone
from engine.host.protocol import WHOLE, Place, Tile, TiledScreen, Tiles, WantedTiles
from engine.host.request import segments_of
from engine.host.shared import attach
from engine.work.messages import PictureJob
from gui.engine_link.engine_link import Ask, EngineLink, needs_no_message
from gui.explore.picture.levels import PictureLevels, checkerboard, finest_for, image_of, one_channel
from gui.explore.picture.view import Size, ViewTransform
from gui.style.theme import current_theme, mixed

CACHE_BYTES = 16 << 20
"""Tiles that are kept, bytes; those that are seen stay in any case."""
# Of a view that moved on, no more than these are still made.
_MOST_ASKED = 8
# A damaged tile says so where it has room for the word, device pixels.
_ROOM_FOR_WORD = 80

Key = tuple[int, Place]


class _Kept(NamedTuple):
    """The image of a tile, None where the file is damaged there, and its detail."""

    image: QImage | None
    detail: int

    @property
    def is_final(self) -> bool:
        """Whether it is no sample."""
        return self.detail >= WHOLE


class TiledLevels(QObject):
    """A tiled picture, or with `job` its result, ready to be painted at any zoom.

    With `tiles` it is a result that is on another machine, of which those have come.

    Painting never waits: what is not there yet is asked for afterwards, the middle first, a few at a time, so
    that the newest view is served. Meanwhile `before`, the result of the job before, is seen. Where all but
    the full size is in shared memory, that is painted, and tiles of full size alone are asked for.
    """

    updated = Signal()
    # An EngineError: a part of the file cannot be read, or the tiles cannot be made.
    faulted = Signal(object)
    # A result on another machine is not kept there any more.
    gone = Signal()
    # A sentence on what was found special about the file.
    noted = Signal(str)

    def __init__(
        self,
        screen: TiledScreen,
        link: EngineLink,
        job: PictureJob | None = None,
        before: "TiledLevels | None" = None,
        tiles: tuple[Tiles, ...] = (),
    ) -> None:
        super().__init__()
        rows, columns = screen.levels[0]
        self.size = Size(columns, rows)
        self.channel: int | None = None
        self._screen, self._link = screen, link
        self._job: Any = job
        self._coarse = PictureLevels(screen) if screen.coarse else None
        self._before = None if before is None else before.if_complete()
        self._kept: OrderedDict[Key, _Kept] = OrderedDict()
        self._kept_bytes = 0
        self._level = 0
        self._seen: tuple[Place, ...] = ()
        # What is seen of it is not known before it was painted.
        self._was_painted = False
        self._ask: Ask | None = None
        self._is_stopped = False
        self._is_lost = False
        self.is_elsewhere = bool(tiles)
        for sent in tiles:
            self._keep_all(sent)
        self._timer = QTimer(self, singleShot=True, interval=0)
        self._timer.timeout.connect(self._ask_next)

    @property
    def note(self) -> str:
        """A sentence on how the pixels come about; empty for nothing."""
        return self._screen.note

    def reduced_by(self, zoom: float) -> int:
        """Return how many times smaller the picture is that a result is made of at a zoom."""
        return 1 if self._job is None or self._screen.coarse else 2 ** self.level_for(zoom)

    @property
    def remark(self) -> str:
        """What the person should know of what is seen, in a few words; empty for pixels of full size."""
        if self._level >= self._screen.sampled_from and not self.is_complete:
            return "sample" if self._job is None else "reading the file"
        if self.is_elsewhere and self._is_lost and self._seen and not self.is_complete:
            return "coarse"
        is_reduced = self._job is not None and self._level and not self._screen.coarse
        return f"preview at 1/{2**self._level}" if is_reduced else ""

    @property
    def is_complete(self) -> bool:
        """Whether all that is seen is there."""
        kept = [self._kept.get((self._level, place)) for place in self._seen]
        return bool(kept) and all(tile is not None and tile.is_final for tile in kept)

    @property
    def is_settled(self) -> bool:
        """Whether nothing more will come of what is seen."""
        return self._is_stopped or (self._was_painted and (not self._seen or self.is_complete))

    def if_complete(self) -> "TiledLevels | None":
        """Return what to show before another result is there, and ask for no more of it."""
        self.stop()
        # Its memory is given back.
        self._coarse = None
        if self.is_complete or self._before is None:
            self._before = None
            return self
        return self._before

    def stop(self) -> None:
        """Ask for no more tiles; those that would come over a line leave it free."""
        self._is_stopped = True
        if self.is_elsewhere and self._ask is not None:
            self._link.cancel(self._ask)

    def again(self) -> None:
        """Ask for what is missing: the engine is up again."""
        self._is_stopped = False
        self._timer.start()

    def level_for(self, zoom: float) -> int:
        """Return the index of the smallest level that is not smaller than the picture on the screen."""
        return finest_for(zoom, len(self._screen.levels))

    def brightness(self, row: int, column: int) -> int:
        """Return how bright a pixel is on the screen, 0 to 255; black where that is not known yet."""
        side = self._screen.tile
        kept = self._kept.get((0, (row // side, column // side)))
        is_known = kept is not None and kept.image is not None
        return qGray(kept.image.pixel(column % side, row % side)) if is_known else 0  # type: ignore[union-attr]

    def paint(self, painter: QPainter, transform: ViewTransform, seen: QRectF) -> None:
        """Paint the part of the picture that lies in `seen` (device pixels of the pane)."""
        target = QRectF(
            transform.left, transform.top, self.size.width * transform.zoom, self.size.height * transform.zoom
        ).intersected(seen)
        self._level = self.level_for(transform.zoom)
        self._was_painted = True
        if target.isEmpty():
            self._seen = ()
            return
        if self._coarse is not None and self._level:
            self._seen, self._before = (), None
            self._paint_coarse(painter, transform, seen)
            return
        if not self._screen.opaque:
            painter.fillRect(target, checkerboard())
        places = self._look_at(transform, target)
        if self._coarse is not None and not self.is_complete:
            self._paint_coarse(painter, transform, seen)
        if self._before is not None:
            if self.is_complete:
                self._before = None
            else:
                self._before._paint_tiles(painter, transform, target, places, self._level)
        self._paint_tiles(painter, transform, target, places, self._level)
        self._timer.start()

    def _paint_coarse(self, painter: QPainter, transform: ViewTransform, seen: QRectF) -> None:
        assert self._coarse is not None
        self._coarse.channel = self.channel
        self._coarse.paint(painter, transform, seen)

    def _look_at(self, transform: ViewTransform, target: QRectF) -> tuple[Place, ...]:
        """Note and return the tiles that are seen, the middle one first."""
        down, across = self._screen.places(self._level)
        side = self._screen.tile * 2**self._level
        left, top = transform.to_picture(target.left(), target.top())
        right, bottom = transform.to_picture(target.right(), target.bottom())
        rows = range(max(0, int(top // side)), min(down, math.ceil(bottom / side)))
        columns = range(max(0, int(left // side)), min(across, math.ceil(right / side)))
        middle = (top + bottom) / (2 * side) - 0.5, (left + right) / (2 * side) - 0.5
        places = [(row, column) for row in rows for column in columns]
        places.sort(key=lambda place: math.dist(place, middle))
        self._seen = tuple(places)
        return self._seen

    def _paint_tiles(
        self,
        painter: QPainter,
        transform: ViewTransform,
        target: QRectF,
        places: tuple[Place, ...],
        level: int,
    ) -> None:
        for place in places:
            found = self._best_for(level, place)
            if self._before is not None and found != (level, place):
                continue
            area = self._seen_pixels(transform, target, level, place)
            at = self._on_pane(transform, level, area)
            if found is not None:
                self._paint_tile(painter, transform, at, area, level, found)
            elif not self._screen.coarse:
                # Between the colour of the pane and that of the labels on it.
                theme = current_theme()
                painter.fillRect(at, mixed(QColor(theme.base), QColor(theme.raised), 0.5))

    def _best_for(self, level: int, place: Place) -> Key | None:
        """Return the key of what shows a tile in most detail: it, its sample, or a coarser tile."""
        best, most = None, 0.0
        for coarser in range(level, len(self._screen.levels)):
            steps = coarser - level
            key = coarser, (place[0] >> steps, place[1] >> steps)
            kept = self._kept.get(key)
            if kept is None:
                continue
            if kept.image is None:
                if not steps:
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

    def _seen_pixels(
        self, transform: ViewTransform, target: QRectF, level: int, place: Place
    ) -> tuple[int, int, int, int]:
        """Return the whole pixels of a tile that are seen: first row and column, past the last ones."""
        rows, columns = self._screen.extent(level, place)
        scale = 2.0**level
        left, top = transform.to_picture(target.left(), target.top())
        right, bottom = transform.to_picture(target.right(), target.bottom())
        return (
            max(rows.start, math.floor(top / scale) - 1),
            max(columns.start, math.floor(left / scale) - 1),
            min(rows.stop, math.ceil(bottom / scale) + 1),
            min(columns.stop, math.ceil(right / scale) + 1),
        )

    def _on_pane(self, transform: ViewTransform, level: int, area: tuple[int, int, int, int]) -> QRectF:
        """Return where pixels of a level lie: whole device pixels, so that no seam is seen between tiles."""
        top, left, bottom, right = (edge * 2.0**level for edge in area)
        x, y = transform.to_pane(left, top)
        # The last pixel of an odd side is half a one of the next level.
        to_x, to_y = transform.to_pane(min(right, self.size.width), min(bottom, self.size.height))
        return QRectF(round(x), round(y), round(to_x) - round(x), round(to_y) - round(y))

    def _paint_tile(
        self,
        painter: QPainter,
        transform: ViewTransform,
        at: QRectF,
        area: tuple[int, int, int, int],
        level: int,
        key: Key,
    ) -> None:
        kept = self._kept[key]
        image = kept.image
        if image is None:
            _paint_damage(painter, at)
            return
        steps = 2 ** (key[0] - level)
        rows, columns = self._screen.extent(*key)
        across = image.width() / (columns.stop - columns.start)
        down = image.height() / (rows.stop - rows.start)
        top, left, bottom, right = area
        source = QRectF(
            (left / steps - columns.start) * across,
            (top / steps - rows.start) * down,
            (right - left) / steps * across,
            (bottom - top) / steps * down,
        )
        is_sharp = transform.zoom >= 1.0 and steps == 1 and kept.is_final
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, not is_sharp)
        if self.channel is not None:
            image, source = one_channel(image, source, self.channel)
        painter.drawImage(at, image, source)

    def _wanted(self) -> tuple[int, tuple[Place, ...], int] | None:
        """Return what to ask for next: the level, its tiles, and their detail."""
        last, level, first = len(self._screen.levels) - 1, self._level, self._screen.sampled_from
        # Results are not made of samples.
        lowest = 0 if self._job is None and not self.is_elsewhere else WHOLE
        # One tile of the whole picture stands in for all.
        if not self._has_stand_in() and (not lowest or last < first):
            return last, ((0, 0),), lowest
        details = {place: self._detail(level, place) for place in self._seen}
        least = min(details.values())
        if least >= WHOLE:
            return None
        wanted = [place for place, detail in details.items() if detail == least]
        # Of the first two sampled levels all is read almost as quickly as a finer sample.
        if lowest or level < first or least + 1 >= WHOLE or (least >= 0 and level < first + 2):
            return level, tuple(wanted[:_MOST_ASKED]), WHOLE
        # Samples are quick, and quicker in the order of the file.
        return level, tuple(sorted(wanted)), least + 1

    def _has_stand_in(self) -> bool:
        if self._coarse is not None:
            return True
        numbers = range(len(self._screen.levels))
        if not self.is_elsewhere:
            numbers = numbers[-1:]
        return any((n, (0, 0)) in self._kept and self._screen.places(n) == (1, 1) for n in numbers)

    def _detail(self, level: int, place: Place) -> int:
        kept = self._kept.get((level, place))
        return -1 if kept is None else kept.detail

    def _ask_next(self) -> None:
        wanted = self._wanted() if self._ask is None and not self._is_stopped and self._seen else None
        if wanted is None:
            return
        request = WantedTiles(self._screen, *wanted, job=self._job)
        self._ask = self._link.ask(Ask(request, self._replied, self._failed))

    def _replied(self, reply: Tiles) -> None:
        self._ask = None
        self._keep_all(reply)
        self._link.keeper.discard(segments_of(reply))
        self._drop_oldest()
        if reply.fault is not None:
            self.faulted.emit(reply.fault)
        if reply.note:
            self.noted.emit(reply.note)
        if reply.tiles:
            self.updated.emit()
        self._timer.start()

    def _failed(self, error: EngineError) -> None:
        self._ask = None
        self._is_stopped, self._is_lost = True, not isinstance(error, Cancelled)
        if isinstance(error, ResultGone):
            self.gone.emit()
        elif not needs_no_message(error):
            self.faulted.emit(error)

    def _keep_all(self, sent: Tiles) -> None:
        for tile in sent.tiles:
            self._keep((sent.level, tile.place), _image_of(tile, opaque=self._screen.opaque))

    def _keep(self, key: Key, kept: _Kept) -> None:
        old = self._kept.pop(key, None)
        self._kept[key] = kept
        self._kept_bytes += _bytes_of(kept) - (_bytes_of(old) if old else 0)

    def _drop_oldest(self) -> None:
        seen = {(self._level, place) for place in self._seen}
        seen.add((len(self._screen.levels) - 1, (0, 0)))
        for key in list(self._kept):
            if self._kept_bytes <= CACHE_BYTES:
                return
            if key not in seen:
                self._kept_bytes -= _bytes_of(self._kept.pop(key))


def _image_of(tile: Tile, *, opaque: bool) -> _Kept:
    if tile.pixels is None:
        return _Kept(None, tile.detail)
    return _Kept(image_of(attach(tile.pixels), opaque=opaque).copy(), tile.detail)


def _bytes_of(kept: _Kept) -> int:
    return 0 if kept.image is None else kept.image.sizeInBytes()


def _paint_damage(painter: QPainter, at: QRectF) -> None:
    """Paint a tile whose part of the file cannot be read."""
    theme = current_theme()
    painter.fillRect(at, QColor(theme.raised))
    painter.fillRect(at, QBrush(QColor(theme.error), Qt.BrushStyle.BDiagPattern))
    if min(at.width(), at.height()) >= _ROOM_FOR_WORD:
        box = painter.fontMetrics().boundingRect("damaged").adjusted(-8, -4, 8, 4)
        box.moveCenter(at.center().toPoint())
        painter.fillRect(box, QColor(theme.raised))
        painter.setPen(QColor(theme.error))
        painter.drawText(box, Qt.AlignmentFlag.AlignCenter, "damaged")


Levels = PictureLevels | TiledLevels
"""What the canvas paints: a picture in shared memory, or one whose tiles are asked for."""
