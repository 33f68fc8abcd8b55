"""The numbers of a picture and of its result at one pixel, as people read them. No widgets in here."""

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from engine.errors import EngineError
from engine.host.protocol import PictureHandle
from engine.host.shared import attach
from engine.host.shared_array import SharedArray
from engine.work.filtering.one_pixel import Samples


class NotYet(Exception):
    """Values that are read are not here yet; they have been asked for."""


class Numbers(Protocol):
    """The numbers of a picture in shared memory, or of one that they are asked for."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    has_alpha: bool

    @property
    def original(self) -> Samples:
        """The picture; reading it, or the result, raises `NotYet`, or an `EngineError` where it is lost."""

    @property
    def result(self) -> Samples | None:
        """Its newest result."""

    def texts(self, name: str, row: int, column: int) -> tuple[str, ...]:
        """Return the "original", "alpha" or "result" in a pixel, by channels; nothing where there is none."""


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
