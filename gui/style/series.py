"""The colour and shape of each variant, the same on every page, so that a curve is known by sight.

Colours are those of Okabe and Ito, which people with any colour vision can tell apart, darker on a light
ground and lighter on a dark one where they would have less than 3 : 1 contrast, on selected rows too. A shape
goes with each, because colour alone never says anything here.
"""

import zlib
from dataclasses import dataclass

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
