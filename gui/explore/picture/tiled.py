"""What is requested where it is visible: tiles of pictures and results, and the numbers of their pixels.

A coarser tile is shown until a finer one comes. Numbers of pictures in shared memory are read there.
"""

from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QObject, QTimer, Signal

from engine.errors import Cancelled, EngineError, ResultGone
from engine.host.protocol import (
    WHOLE,
    PictureHandle,
    Place,
    TiledScreen,
    Tiles,
    Values,
    WantedTiles,
    WantedValues,
)
from engine.host.request import segments_of
from engine.host.shared import attach
from engine.work.filtering.sum_order import Samples
from engine.work.messages import PictureJob
from gui.engine_link.engine_link import Ask, EngineLink, needs_no_message
from gui.explore.picture.levels import PictureLevels, TileImage, image_of

_MOST_WANTED = 8  # of a view that moved on, no more than these are still made


class TiledLevels(PictureLevels):
    """A tiled picture, or with `job` its result.

    With `tiles` it is a result that is on another machine, of which those have come.

    Painting never waits: what is not there yet is requested afterwards, the middle first, a few at a time, so
    that the newest view is served. Meanwhile `before`, the result of the job before, is shown. Where all but
    the full size is in shared memory, that is painted, and tiles of full size alone are requested.
    """

    faulted = Signal(object)  # an EngineError: a part of the file cannot be read, or the tiles cannot be made
    gone = Signal()  # a result on another machine is not kept there any more
    noted = Signal(str)  # a sentence on what is special about the file

    def __init__(
        self,
        screen: TiledScreen,
        link: EngineLink,
        job: PictureJob | None = None,
        before: "TiledLevels | None" = None,
        tiles: tuple[Tiles, ...] = (),
    ) -> None:
        super().__init__(screen)
        self._link = link
        self._job: Any = job
        self._before = None if before is None else before.last_shown()
        self._ask: Ask | None = None
        self._is_stopped = self._is_lost = False
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
        if self._level >= self._screen.sampled_from and not self.has_all_tiles:
            return "sample" if self._job is None else "reading the file"
        if self.is_elsewhere and self._is_lost and self._seen and not self.has_all_tiles:
            return "coarse"
        is_reduced = self._job is not None and self._level and not self._screen.coarse
        return f"preview at 1/{2**self._level}" if is_reduced else ""

    @property
    def is_complete(self) -> bool:
        return self._is_stopped or super().is_complete

    def last_shown(self) -> PictureLevels | None:
        """Request no more, and return what to show until the next result is there."""
        self.stop()
        # Their memory is freed.
        self._wholes = []
        if self.has_all_tiles or self._before is None:
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

    def _have_tiles(self) -> None:
        # Once it is painted.
        self._timer.start()

    def _wanted(self) -> tuple[int, tuple[Place, ...], int] | None:
        """Return what to ask for next: the level, its tiles, and their detail."""
        last, level, first = len(self._screen.levels) - 1, self._level, self._screen.sampled_from
        # Results are not made of samples.
        lowest = 0 if self._job is None and not self.is_elsewhere else WHOLE
        # One tile of the whole picture replaces all at first.
        levels = range(last + 1)[0 if self.is_elsewhere else -1 :]
        is_kept = ((n, (0, 0)) in self._kept and self._screen.places(n) == (1, 1) for n in levels)
        if not (self._wholes or any(is_kept)) and (not lowest or last < first):
            return last, ((0, 0),), lowest
        kept = {place: self._kept.get((level, place)) for place in self._seen}
        details = {place: -1 if tile is None else tile.detail for place, tile in kept.items()}
        least = min(details.values())
        if least >= WHOLE:
            return None
        wanted = [place for place, detail in details.items() if detail == least]
        # Of the first two sampled levels all is read almost as quickly as a finer sample.
        if lowest or level < first or least + 1 >= WHOLE or (least >= 0 and level < first + 2):
            return level, tuple(wanted[:_MOST_WANTED]), WHOLE
        # Samples are quick, and quicker in the order of the file.
        return level, tuple(sorted(wanted)), least + 1

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
            pixels = None if tile.pixels is None else attach(tile.pixels)
            image = None if pixels is None else image_of(pixels, opaque=self._screen.opaque).copy()
            self._keep((sent.level, tile.place), TileImage(image, tile.detail))


class NotYet(Exception):
    """Values that are read are not here yet; they have been requested."""


@dataclass(slots=True)
class Numbers:
    """The values of a picture and of its newest result, each an array or read on request."""

    original: Samples
    dtype: np.dtype[Any]
    alpha: Samples | None = None
    result: Samples | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows, columns and channels."""
        return self.original.shape

    @property
    def are_here(self) -> bool:
        """Whether those of the picture are in memory."""
        return isinstance(self.original, np.ndarray)

    def texts(self, name: str, row: int, column: int) -> tuple[str, ...]:
        """Return the "original", "alpha" or "result" in a pixel, by channels; nothing where there is none."""
        return texts_of(getattr(self, name), row, column)


def numbers_of(picture: PictureHandle) -> Numbers:
    """Return the values of a picture in shared memory."""
    original = attach(picture.in_memory)
    return Numbers(original, original.dtype, None if picture.alpha is None else attach(picture.alpha))


def texts_of(values: Samples | None, row: int, column: int) -> tuple[str, ...]:
    """Return the values in a pixel, by channels, as people read them; dots while they are being read."""
    try:
        return () if values is None else tuple(map(value_text, np.atleast_1d(values[row, column])))
    except NotYet:
        return ("…",) * (values.shape[2] if values is not None else 0)
    except EngineError:
        # The tile there says why.
        return ()


def value_text(value: np.generic) -> str:
    """Return a number of a picture: whole numbers as they are, others to four digits or more."""
    if isinstance(value, np.integer):
        return str(int(value))
    number = float(value)
    if np.isnan(number):
        return "NaN"
    if np.isinf(number):
        return "∞" if number > 0 else "−∞"
    # 65535.0 of a 16-bit picture keeps a decimal; zeros at the end stay, so that the point does not wander.
    text = f"{number:.1f}" if number == 0.0 or 1000.0 <= abs(number) < 1e6 else f"{number:#.4g}"
    return text.replace("-", "−")


# Values come in squares of this side.
_SIDE = 32
MOST_KEPT = 1024
"""Squares that are kept: 12 MB of RGB in float32. A line over 12,000 x 12,000 pixels crosses 750."""

# Squares that are on their way at a time: those that a moving mouse has left behind delay what it is over
# no more than these. A mask of 63 x 63 reads 9.
_MOST_SQUARES = 16


class AskedValues(QObject):
    """Values of full size of a picture in parts, or a result (`job`'s, or elsewhere), read as an array's."""

    updated = Signal()

    def __init__(
        self, screen: TiledScreen, shape: tuple[int, ...], link: EngineLink, job: PictureJob | None = None
    ) -> None:
        super().__init__()
        self.shape = shape
        self._screen, self._link, self._job = screen, link, job
        self._kept: OrderedDict[Place, NDArray[Any] | EngineError] = OrderedDict()
        self._pending: set[Place] = set()

    def __getitem__(self, place: tuple[Any, Any]) -> NDArray[Any]:
        """Return the values of rows and columns, as an array does of two arrays of places.

        Where too many are on their way, those that are missing are requested when they are read again. Raises
        NotYet where some are on their way, and EngineError where they cannot be had.
        """
        rows, columns = np.broadcast_arrays(*place)
        down, across = rows // _SIDE, columns // _SIDE
        places = sorted({*zip(down.ravel().tolist(), across.ravel().tolist(), strict=True)})
        for at in places:
            if at not in self._kept and at not in self._pending and len(self._pending) < _MOST_SQUARES:
                self._send(at)
        values: NDArray[Any] | None = None
        for at in places:
            square = self._kept.get(at, NotYet())
            if isinstance(square, Exception):
                raise square
            self._kept.move_to_end(at)
            if values is None:
                values = np.empty((*rows.shape, self.shape[2]), square.dtype)
            there = (down == at[0]) & (across == at[1])
            values[there] = square[rows[there] % _SIDE, columns[there] % _SIDE]
        assert values is not None
        return values

    def _send(self, at: Place) -> None:
        ends = zip(at, self.shape, strict=False)
        rows, columns = ((first * _SIDE, min((first + 1) * _SIDE, side)) for first, side in ends)

        def replied(reply: Values) -> None:
            values = attach(reply.values).copy()
            self._link.keeper.discard(segments_of(reply))
            arrived(values)

        def arrived(values: NDArray[Any] | EngineError) -> None:
            self._pending.discard(at)
            self._kept[at] = values
            while len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)
            self.updated.emit()

        self._pending.add(at)
        self._link.ask(Ask(WantedValues(self._screen, rows, columns, self._job), replied, arrived))
