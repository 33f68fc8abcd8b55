"""The 8-pixel grid and the font of numbers."""

from PySide6.QtGui import QFont, QFontDatabase, QFontMetrics
from PySide6.QtWidgets import QApplication

GRID = 8
HALF_GRID = GRID // 2


def number_font() -> QFont:
    """Return the application's font with figures of one width, so that columns of numbers line up."""
    font = QFont(QApplication.font())
    font.setFeature(QFont.Tag("tnum"), 1)
    return font


EARLIER_OPACITY = 0.65
"""Opacity of drawings of runs for an earlier problem: their numbers keep a contrast of 4.5 : 1."""


def small_font() -> QFont:
    """Return the font of notes under a control."""
    return scaled_font(0.9)


def scaled_font(scale: float, *, bold: bool = False) -> QFont:
    """Return the application's font so many times as large."""
    font = QFont(QApplication.font())
    font.setPointSizeF(font.pointSizeF() * scale)
    font.setBold(bold)
    return font


def digits_width(count: int) -> int:
    """Return the width of so many figures in `number_font`, pixels."""
    return QFontMetrics(number_font()).horizontalAdvance("0" * count)


def code_font() -> QFont:
    """Return the font of code: one whose letters have one width."""
    font = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont)
    font.setPointSizeF(QApplication.font().pointSizeF() * 0.88)
    return font
