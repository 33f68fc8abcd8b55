"""The numbers of a picture and of its result at one pixel, as people read them. No widgets in here."""

from typing import Any, Protocol

import numpy as np

from engine.host.protocol import PictureHandle
from engine.host.shared import attach
from engine.host.shared_array import SharedArray


class Numbers(Protocol):
    """The numbers of a picture in shared memory, or of one that they are asked for."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    has_alpha: bool

    def texts(self, name: str, row: int, column: int) -> tuple[str, ...]:
        """Return the "original", "alpha" or "result" in a pixel, by channels; nothing where there is none."""


class PixelValues:
    """The shared arrays of a picture and of its newest result, and the texts of one pixel of them."""

    def __init__(self, picture: PictureHandle) -> None:
        self.original: np.ndarray = attach(picture.in_memory)
        self.shape, self.dtype = picture.pixels.shape, self.original.dtype
        self.has_alpha = picture.alpha is not None
        self.alpha = attach(picture.alpha) if picture.alpha is not None else None
        self.result: np.ndarray | None = None
        self._elsewhere: Numbers | None = None

    def set_result(self, values: SharedArray) -> None:
        self.result, self._elsewhere = attach(values), None

    def set_result_elsewhere(self, values: Numbers | None) -> None:
        """Read a result that is not in shared memory; None where it is not to be had any more."""
        self.result, self._elsewhere = None, values

    def texts(self, name: str, row: int, column: int) -> tuple[str, ...]:
        """Return the "original", "alpha" or "result" in a pixel, by channels; nothing where there is none."""
        if name == "result" and self._elsewhere is not None:
            return self._elsewhere.texts(name, row, column)
        values: np.ndarray | None = getattr(self, name)
        if values is None:
            return ()
        return tuple(value_text(value) for value in np.atleast_1d(values[row, column]))


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
