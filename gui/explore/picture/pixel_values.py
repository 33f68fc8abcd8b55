"""The numbers of a picture and of its result: in shared memory, or asked for where they are read."""

from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QObject, Signal

from engine.errors import EngineError
from engine.host.protocol import PictureHandle, TiledScreen, Values, WantedValues
from engine.host.request import segments_of
from engine.host.shared import attach
from engine.work.filtering.sum_order import Samples
from engine.work.messages import PictureJob
from gui.engine_link.engine_link import Ask, EngineLink


class NotYet(Exception):
    """Values that are read are not here yet; they have been asked for."""


@dataclass(slots=True)
class Numbers:
    """The values of a picture and of its newest result, each an array or read where it is asked for."""

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
_MOST_ASKED = 16

Place = tuple[int, int]


class AskedValues(QObject):
    """The values of full size of a picture, or with `job` of a result, read as those of an array are.

    `screen` alone is a picture in parts, or a result on another machine.
    """

    updated = Signal()

    def __init__(
        self, screen: TiledScreen, shape: tuple[int, ...], link: EngineLink, job: PictureJob | None = None
    ) -> None:
        super().__init__()
        self.shape = shape
        self._screen, self._link, self._job = screen, link, job
        self._kept: OrderedDict[Place, NDArray[Any] | EngineError] = OrderedDict()
        self._asked: set[Place] = set()

    def __getitem__(self, place: tuple[Any, Any]) -> NDArray[Any]:
        """Return the values of rows and columns, as an array does of two arrays of places.

        Where too many are on their way, those that are missing are asked for when they are read again.

        Raises
        ------
        NotYet
            Some of them are on their way.
        EngineError
            Some of them cannot be had.
        """
        rows, columns = np.broadcast_arrays(*place)
        down, across = rows // _SIDE, columns // _SIDE
        places = sorted({*zip(down.ravel().tolist(), across.ravel().tolist(), strict=True)})
        for at in places:
            if at not in self._kept and at not in self._asked and len(self._asked) < _MOST_ASKED:
                self._send(at)
        found: NDArray[Any] | None = None
        for at in places:
            square = self._kept.get(at)
            if square is None:
                raise NotYet
            if isinstance(square, EngineError):
                raise square
            self._kept.move_to_end(at)
            if found is None:
                found = np.empty((*rows.shape, self.shape[2]), square.dtype)
            there = (down == at[0]) & (across == at[1])
            found[there] = square[rows[there] % _SIDE, columns[there] % _SIDE]
        assert found is not None
        return found

    def _send(self, at: Place) -> None:
        rows, columns = (
            (first * _SIDE, min((first + 1) * _SIDE, side))
            for first, side in zip(at, self.shape, strict=False)
        )

        def replied(reply: Values) -> None:
            values = attach(reply.values).copy()
            self._link.keeper.discard(segments_of(reply))
            arrived(values)

        def arrived(values: NDArray[Any] | EngineError) -> None:
            self._asked.discard(at)
            self._kept[at] = values
            while len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)
            self.updated.emit()

        self._asked.add(at)
        self._link.ask(Ask(WantedValues(self._screen, rows, columns, self._job), replied, arrived))
