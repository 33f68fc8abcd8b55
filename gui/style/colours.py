"""The colour and shape of each variant, the same on every page, so that a curve is known by sight.

Colours are those of Okabe and Ito, which people with any colour vision can tell apart, darker on a light
ground and lighter on a dark one where they would have less than 3 : 1 contrast, on selected rows too. A shape
goes with each, because colour alone never says anything here. Cells with numbers are coloured by sign and
size of a weight, or by how good a time is. No widgets in here.
"""

import math
import zlib
from dataclasses import dataclass
from functools import lru_cache

from PySide6.QtGui import QColor

from gui.style.theme import Theme, current_theme


@dataclass(frozen=True, slots=True)
class Series:
    """How a variant is drawn: colour ("#rrggbb"), and shape as pyqtgraph's marker and as a character."""

    colour: str
    symbol: str
    glyph: str


# (light theme, dark theme) of each hue.
_ORANGE = ("#b07700", "#e69f00")
_SKY = ("#278ac2", "#56b4e9")
_GREEN = ("#008a64", "#1fbf92")
_YELLOW = ("#908600", "#f0e442")
_BLUE = ("#0072b2", "#4a9fe0")
_VERMILION = ("#d55e00", "#f2783c")
_PURPLE = ("#b85c92", "#cc79a7")
_GREY = ("#4d5560", "#b4bcc8")
_HUES = (_BLUE, _ORANGE, _GREEN, _VERMILION, _PURPLE, _SKY, _YELLOW, _GREY)

_CIRCLE, _SQUARE, _UP, _DIAMOND = ("o", "●"), ("s", "■"), ("t1", "▲"), ("d", "◆")
_STAR, _DOWN, _RIGHT, _LEFT = ("star", "★"), ("t", "▼"), ("t2", "▶"), ("t3", "◀")
_CROSS, _PLUS = ("x", "✖"), ("+", "✚")
_SHAPES = (_CIRCLE, _SQUARE, _UP, _DIAMOND, _STAR, _DOWN, _RIGHT, _LEFT, _CROSS, _PLUS)

_TABLE: dict[str, tuple[tuple[str, str], tuple[str, str]]] = {
    "cpu-serial": (_GREY, _CIRCLE), "cpu-parallel": (_SKY, _SQUARE), "naive": (_ORANGE, _UP),
    "constant": (_YELLOW, _DOWN), "tiled-input": (_SKY, _DIAMOND), "tiled": (_GREEN, _DIAMOND),
    "cached": (_VERMILION, _STAR), "separable-l0": (_BLUE, _RIGHT), "separable-l1": (_PURPLE, _LEFT),
    "separable-l2": (_GREEN, _PLUS), "implicit-gemm": (_PURPLE, _CROSS), "register-blocked": (_BLUE, _STAR),
    "digit-sums": (_BLUE, _SQUARE), "separable-fused": (_VERMILION, _SQUARE),
    "low-rank-2": (_ORANGE, _STAR), "low-rank-3": (_PURPLE, _STAR),
    "box": (_YELLOW, _SQUARE), "fft": (_GREY, _DIAMOND),
    "cpu-box": (_YELLOW, _UP), "cpu-fft": (_GREY, _UP), "row-naive": (_ORANGE, _CIRCLE),
    "row-tiled": (_GREEN, _SQUARE), "row-cached": (_VERMILION, _UP), "matmul-naive": (_ORANGE, _DIAMOND),
    "row-constant": (_YELLOW, _CIRCLE), "naive-uncoalesced": (_ORANGE, _DOWN),
    "row-tiled-constant": (_GREEN, _LEFT), "row-cached-constant": (_VERMILION, _RIGHT),
    "cached-constant": (_VERMILION, _DOWN), "cpu-separable-serial": (_GREY, _STAR),
    "matmul-tiled": (_GREEN, _UP), "numpy": (_GREY, _SQUARE),
    "network-serial": (_GREY, _CIRCLE), "network-cpu": (_SKY, _SQUARE), "network-convolution": (_ORANGE, _UP),
    "network-pool": (_YELLOW, _DOWN), "network-connected": (_GREEN, _DIAMOND),
    "network-linearised": (_YELLOW, _LEFT), "network-uncoalesced": (_ORANGE, _PLUS),
    "network-fused": (_VERMILION, _SQUARE), "network-implicit-gemm": (_PURPLE, _CROSS),
    "network-unrolled": (_PURPLE, _LEFT), "network-constant": (_YELLOW, _SQUARE),
    "network-streams": (_BLUE, _RIGHT), "network-fast": (_BLUE, _STAR),
    # Operations: the colour means how (all cores, global memory, shared memory), the shape which one.
    "cpu-negative": (_SKY, _CIRCLE), "cuda-negative": (_ORANGE, _CIRCLE),
    "cpu-desaturate": (_SKY, _SQUARE), "cuda-desaturate": (_ORANGE, _SQUARE),
    "cpu-hue-shift": (_SKY, _UP), "cuda-hue-shift": (_ORANGE, _UP),
    "cpu-histogram": (_SKY, _DIAMOND), "histogram-global": (_ORANGE, _DIAMOND),
    "histogram-shared": (_GREEN, _DIAMOND),
    "cpu-equalise": (_SKY, _PLUS), "cuda-equalise": (_GREEN, _PLUS), "cpu-median": (_SKY, _STAR),
    "median-naive": (_ORANGE, _STAR), "median-local": (_VERMILION, _STAR),
    "median-tiled": (_GREEN, _STAR), "cpu-match": (_SKY, _DOWN), "match-naive": (_ORANGE, _DOWN),
    "match-tiled": (_GREEN, _DOWN), "cpu-dct": (_SKY, _RIGHT), "dct-direct": (_ORANGE, _RIGHT),
    "dct-tiled": (_GREEN, _RIGHT),
    "cpu-minimum": (_SKY, _DOWN), "cuda-minimum": (_ORANGE, _DOWN), "cpu-maximum": (_SKY, _UP),
    "cuda-maximum": (_ORANGE, _UP), "cpu-threshold": (_SKY, _SQUARE), "cuda-threshold": (_ORANGE, _SQUARE),
    "cpu-gradient": (_SKY, _RIGHT), "cuda-gradient": (_ORANGE, _RIGHT), "cpu-bilateral": (_SKY, _STAR),
    "cuda-bilateral": (_ORANGE, _STAR), "cpu-morphology": (_SKY, _CROSS),
    "cuda-morphology": (_ORANGE, _CROSS), "cpu-chain": (_SKY, _LEFT), "cuda-chain": (_ORANGE, _LEFT),
}  # fmt: skip


def series_at(position: int, theme: Theme | None = None) -> Series:
    """Return colour and shape of a curve that stands for no variant, by its position among the others."""
    return _series(_HUES[position % len(_HUES)], _SHAPES[position % len(_SHAPES)], theme)


def series_for(variant_key: str, theme: Theme | None = None) -> Series:
    """Return colour and shape of a variant by its key; an unknown key gets one by its letters."""
    # crc32, because hash() of a text differs from process to process.
    rest, hue = divmod(zlib.crc32(variant_key.encode()), len(_HUES))
    return _series(*_TABLE.get(variant_key, (_HUES[hue], _SHAPES[rest % len(_SHAPES)])), theme)


def _series(hue: tuple[str, str], shape: tuple[str, str], theme: Theme | None) -> Series:
    return Series(hue[(theme or current_theme()).name != "light"], *shape)


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
