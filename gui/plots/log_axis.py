"""An axis with ticks in words: 20 µs, 5 ms, 100×."""

import math
from collections.abc import Callable, Sequence

from PySide6.QtCore import QRectF

from gui.plots.library import pg
from gui.style.metrics import GRID

_MANTISSAS = ((1.0, 1.5, 2.0, 3.0, 5.0, 7.0), (1.0, 2.0, 5.0), (1.0,))
_MOST_TICKS = 7
# Half of the longest word of a tick, which may be written to the left of where the axis begins.
_WORD_ROOM = 3 * GRID


class LogAxis(pg.AxisItem):
    """An axis whose coordinates are log10 of a value, with ticks at round values and a word for each.

    While `is_log` is False, the coordinates are the values themselves.
    """

    def __init__(self, text: Callable[[float], str], side: str = "bottom", *, is_log: bool = True) -> None:
        super().__init__(side)
        self.is_log = is_log
        self._text = text

    def tickValues(self, minVal: float, maxVal: float, size: float) -> list[tuple[float, list[float]]]:  # noqa: N803
        if not self.is_log:
            plain: list[tuple[float, list[float]]] = super().tickValues(minVal, maxVal, size)
            return plain[:1]
        return [(1.0, log_ticks(minVal, maxVal, min(_MOST_TICKS, max(2, int(size / (7 * GRID))))))]

    def tickStrings(self, values: Sequence[float], scale: float, spacing: float) -> list[str]:
        return [self._text(10**value if self.is_log else value) for value in values]

    def boundingRect(self) -> QRectF:
        # Otherwise the first tick has no word where half of it would lie outside; with a grid, pyqtgraph's
        # own style `hideOverlappingLabels` changes nothing.
        rect: QRectF = super().boundingRect()
        return rect.adjusted(-_WORD_ROOM, 0, 0, 0) if self.orientation == "bottom" else rect


def log_ticks(low: float, high: float, most: int) -> list[float]:
    """Return log10 of round values between 10**low and 10**high, at most `most` of them."""
    decades = range(math.floor(low), math.ceil(high) + 1)
    denser: list[float] = []
    for mantissas in _MANTISSAS:
        ticks = [decade + math.log10(mantissa) for decade in decades for mantissa in mantissas]
        inside = [tick for tick in ticks if low <= tick <= high]
        # One tick alone is no scale.
        if len(inside) <= min(1, most - 1) and denser:
            return denser[:: math.ceil(len(denser) / most)]
        if len(inside) <= most:
            return inside
        denser = inside
    return inside[:: math.ceil(len(inside) / most)]
