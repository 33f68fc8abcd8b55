"""The numbers of a picture and of its result at one pixel, as people read them. No widgets in here."""

from dataclasses import dataclass

import numpy as np

from engine.host.protocol import PictureHandle
from engine.host.shared import attach
from engine.host.shared_array import SharedArray


@dataclass(frozen=True, slots=True)
class Reading:
    """What stands in one pixel: texts of the original's channels, its alpha, and the result's channels."""

    row: int
    column: int
    original: tuple[str, ...]
    alpha: str | None
    result: tuple[str, ...] | None


class PixelValues:
    """Looks into the shared arrays of a picture and of its newest result."""

    def __init__(self, picture: PictureHandle) -> None:
        self._pixels = attach(picture.pixels)
        self._alpha = attach(picture.alpha) if picture.alpha is not None else None
        self._result: np.ndarray | None = None

    @property
    def dtype(self) -> np.dtype:
        """Type of the picture's own numbers."""
        return self._pixels.dtype

    @property
    def channels(self) -> int:
        """Colour channels, alpha not counted."""
        return int(self._pixels.shape[2])

    @property
    def rows(self) -> int:
        """Rows of the picture."""
        return int(self._pixels.shape[0])

    @property
    def columns(self) -> int:
        """Columns of the picture."""
        return int(self._pixels.shape[1])

    @property
    def has_alpha(self) -> bool:
        return self._alpha is not None

    def set_result(self, values: SharedArray | None) -> None:
        """Take the values of a result, or none."""
        self._result = attach(values) if values is not None else None

    def at(self, row: int, column: int) -> Reading:
        """Return what stands in a pixel."""
        result = None if self._result is None else self._texts(self._result, row, column)
        return Reading(
            row,
            column,
            self._texts(self._pixels, row, column),
            None if self._alpha is None else value_text(self._alpha[row, column]),
            result,
        )

    def original_texts(self, row: int, column: int) -> tuple[str, ...]:
        """Return the original's channels in a pixel."""
        return self._texts(self._pixels, row, column)

    def result_texts(self, row: int, column: int) -> tuple[str, ...]:
        """Return the result's channels in a pixel; nothing where there is no result."""
        return () if self._result is None else self._texts(self._result, row, column)

    @staticmethod
    def _texts(values: np.ndarray, row: int, column: int) -> tuple[str, ...]:
        return tuple(value_text(value) for value in np.atleast_1d(values[row, column]))


def value_text(value: np.generic) -> str:
    """Return one number of a picture: whole numbers as they are, others to four digits or more, NaN as NaN."""
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
