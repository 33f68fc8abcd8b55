"""Colours of cells with numbers: by sign and size of a weight, by how good a time is. No widgets in here."""

import math
from functools import lru_cache

from PySide6.QtGui import QColor

from gui.style.theme import Theme

# A full mix would hide the difference between a cell and the selection frame around it.
_STRONGEST = 0.85
# Cells far below the largest weight must still differ from zeros.
_WEAKEST = 0.10
_LOWEST_CONTRAST = 4.5
# Of heat maps, from the worst to the best: Cividis, whose steps are even for eyes with any colour vision and
# in grey.
HEAT = ("#00224e", "#2a3f6d", "#575d6d", "#7d7c78", "#a59c74", "#d2c060", "#fee838")


def cell_background(weight: float, largest: float, theme: Theme) -> QColor:
    """Return the colour of a cell: from the base colour for 0 to that of its sign for the largest."""
    share = abs(weight) / largest if largest else 0.0
    # NaN is shown as 0 is, in pictures too.
    if not share > 0.0:
        return QColor(theme.base)
    tint = theme.positive if weight > 0.0 else theme.negative
    # The square root keeps the tails of a Gaussian visible.
    part = _WEAKEST + (_STRONGEST - _WEAKEST) * math.sqrt(min(share, 1.0))
    return _between(_parts_of(theme.base), _parts_of(tint), part)


def mixed(low: QColor, high: QColor, part: float) -> QColor:
    """Return the colour between two: `low` for 0, `high` for 1."""
    return _between(_rgb(low), _rgb(high), part)


def _between(low: tuple[float, ...], high: tuple[float, ...], part: float) -> QColor:
    red, green, blue = (one + (other - one) * part for one, other in zip(low, high, strict=True))
    return QColor.fromRgbF(red, green, blue)


# A theme has some forty colours.
@lru_cache(maxsize=128)
def _parts_of(name: str) -> tuple[float, float, float]:
    return _rgb(QColor(name))


# Cells are painted again and again in the same colours.
@lru_cache(maxsize=512)
def heat(share: float) -> QColor:
    """Return the colour between the worst (0) and the best (1)."""
    position = min(max(share, 0.0), 1.0) * (len(HEAT) - 1)
    below = min(int(position), len(HEAT) - 2)
    return mixed(QColor(HEAT[below]), QColor(HEAT[below + 1]), position - below)


def readable_text(background: QColor, theme: Theme) -> QColor:
    """Return the theme's text colour where its contrast is 4.5 or more, else black or white."""
    return QColor(_readable_on(background.rgb(), theme))


# Cells that follow the mouse are painted again and again.
@lru_cache(maxsize=1024)
def _readable_on(background: int, theme: Theme) -> str:
    ground = QColor.fromRgb(background)
    if contrast(QColor(theme.text), ground) >= _LOWEST_CONTRAST:
        return theme.text
    return max("#000000", "#ffffff", key=lambda name: contrast(QColor(name), ground))


def contrast(first: QColor, second: QColor) -> float:
    """Return the contrast of two colours as WCAG 2 defines it, 1 to 21."""
    darker, lighter = sorted((_luminance(first), _luminance(second)))
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: QColor) -> float:
    red, green, blue = map(_linear, _rgb(colour))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear(part: float) -> float:
    return part / 12.92 if part <= 0.04045 else float(((part + 0.055) / 1.055) ** 2.4)


def _rgb(colour: QColor) -> tuple[float, float, float]:
    return colour.redF(), colour.greenF(), colour.blueF()
