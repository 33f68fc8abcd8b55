"""The numbers of a picture and of its result: in shared memory, or asked for where they are read."""

from collections import OrderedDict
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QObject, Signal

from engine.errors import EngineError
from engine.host.protocol import PictureHandle, TiledScreen, Values, WantedValues
from engine.host.request import SharedArray, segments_of
from engine.host.shared import attach
from engine.work.filtering.sum_order import Samples
from engine.work.messages import PictureJob
from gui.engine_link.engine_link import Ask, EngineLink


class NotYet(Exception):
    """Values that are read are not here yet; they have been asked for."""


class PixelValues:
    """The shared array of a picture, its newest result, and the texts of one pixel of them."""

    def __init__(self, picture: PictureHandle) -> None:
        self.original: NDArray[Any] = attach(picture.in_memory)
        self.shape, self.dtype = picture.pixels.shape, self.original.dtype
        self.has_alpha = picture.alpha is not None
        self.alpha = attach(picture.alpha) if picture.alpha is not None else None
        self.result: Samples | None = None

    def set_result(self, values: SharedArray | Samples | None) -> None:
        """Read a result in shared memory, or one that is asked for; None where it is not to be had."""
        self.result = attach(values) if isinstance(values, SharedArray) else values

    def texts(self, name: str, row: int, column: int) -> tuple[str, ...]:
        """Return the "original", "alpha" or "result" in a pixel, by channels; nothing where there is none."""
        return texts_of(getattr(self, name), row, column)


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
_MOST_ASKED = 16

Key = tuple[str, int, int]


class AskedValues:
    """The original, or the result, of a `TiledValues`, read as an array is."""

    def __init__(self, values: "TiledValues", name: str) -> None:
        self._values, self._name = values, name

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows, columns and channels."""
        return self._values.shape

    def __getitem__(self, place: tuple[Any, Any]) -> NDArray[Any]:
        """Return the values of rows and columns, as an array does of two arrays of places.

        Raises
        ------
        NotYet
            Some of them are on their way.
        EngineError
            Some of them cannot be had.
        """
        rows, columns = np.broadcast_arrays(*place)
        return self._values.read(self._name, rows, columns)


class TiledValues(QObject):
    """Values of full size: of the picture, and of the newest result."""

    updated = Signal()

    def __init__(self, picture: PictureHandle, screen: TiledScreen, link: EngineLink) -> None:
        super().__init__()
        self.shape, self.dtype = picture.pixels.shape, np.dtype(picture.dtype)
        self.has_alpha = False
        self._screen, self._link = screen, link
        self._result: tuple[Any, TiledScreen] | None = None
        self._kept: OrderedDict[Key, NDArray[Any] | EngineError] = OrderedDict()
        self._asked: dict[Key, Ask] = {}
        self.original = AskedValues(self, "original")

    @property
    def result(self) -> AskedValues | None:
        """The newest result."""
        return None if self._result is None else AskedValues(self, "result")

    def set_result(self, job: PictureJob | None, screen: TiledScreen) -> None:
        """Read the result of this job from now on; without one, a result that is on another machine."""
        self._result = job, screen
        for key in [key for key in self._kept if key[0] == "result"]:
            del self._kept[key]
        self._asked = {key: ask for key, ask in self._asked.items() if key[0] != "result"}

    def texts(self, name: str, row: int, column: int) -> tuple[str, ...]:
        """Return the "original" or "result" in a pixel, by channels; dots while it is being read."""
        return () if name == "alpha" else texts_of(getattr(self, name), row, column)

    def read(self, name: str, rows: NDArray[Any], columns: NDArray[Any]) -> NDArray[Any]:
        """Return the values in some pixels: their places' shape, and channels. Raises as `AskedValues`.

        Where too many are on their way, those that are missing are asked for when they are read again.
        """
        down, across = rows // _SIDE, columns // _SIDE
        keys = [(name, *place) for place in sorted({*zip(down.flat, across.flat, strict=True)})]
        for key in keys:
            if key not in self._kept and key not in self._asked and len(self._asked) < _MOST_ASKED:
                self._send(key)
        squares = [self._kept.get(key) for key in keys]
        found: NDArray[Any] | None = None
        for key, square in zip(keys, squares, strict=True):
            if square is None:
                raise NotYet
            if isinstance(square, EngineError):
                raise square
            self._kept.move_to_end(key)
            if found is None:
                found = np.empty((*rows.shape, self.shape[2]), square.dtype)
            there = (down == key[1]) & (across == key[2])
            found[there] = square[rows[there] % _SIDE, columns[there] % _SIDE]
        assert found is not None
        return found

    def _send(self, key: Key) -> None:
        name, down, across = key[0], int(key[1]), int(key[2])
        rows = down * _SIDE, min((down + 1) * _SIDE, self.shape[0])
        columns = across * _SIDE, min((across + 1) * _SIDE, self.shape[1])
        request = WantedValues(self._screen, rows, columns)
        if name == "result" and self._result is not None:
            job, screen = self._result
            request = WantedValues(screen, rows, columns, job)

        def replied(reply: Values) -> None:
            values = attach(reply.values).copy()
            self._link.keeper.discard(segments_of(reply))
            arrived(values)

        def arrived(values: NDArray[Any] | EngineError) -> None:
            if self._asked.get(key) is not ask:
                return
            del self._asked[key]
            self._kept[key] = values
            while len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)
            self.updated.emit()

        ask = Ask(request, replied, arrived)
        self._asked[key] = ask
        self._link.ask(ask)


Numbers = PixelValues | TiledValues
"""Of a picture in shared memory, or of one that they are asked for."""
