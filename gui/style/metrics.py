"""The 8-pixel grid and the font of numbers."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QFont, QFontDatabase, QFontMetrics
from PySide6.QtWidgets import QApplication

GRID = 8
HALF_GRID = GRID // 2
# QFont::SizeResolved, which has no name in Python.
_HAS_SIZE = 0x0002
_desktop_points: float | None = None


def number_font() -> QFont:
    """Return the application's font with figures of one width, so that columns of numbers line up."""
    font = QFont(QApplication.font())
    font.setFeature(QFont.Tag("tnum"), 1)
    return font


EARLIER_OPACITY = 0.4
"""Opacity of drawings of runs for an earlier problem."""


def small_font() -> QFont:
    """Return the font of notes under a control."""
    return scaled_font(0.9)


def scaled_font(scale: float, *, bold: bool = False) -> QFont:
    """Return the application's font so many times as large."""
    font = QFont(QApplication.font())
    font.setPointSizeF(font.pointSizeF() * scale)
    font.setBold(bold)
    return font


def set_letter_size(app: QApplication, percent: int) -> None:
    """Show all letters at so many per cent of the desktop's size, also those on the screen now."""
    global _desktop_points
    font = QFont(app.font())
    before = font.pointSizeF()
    if _desktop_points is None:
        _desktop_points = before
    after = _desktop_points * percent / 100.0
    if abs(after - before) < 1e-6:
        return
    # A widget whose font has a size of its own, such as a note's, does not follow the application's.
    own = [
        (widget, QFont(widget.font()))
        for widget in app.allWidgets()
        if widget.testAttribute(Qt.WidgetAttribute.WA_SetFont) and widget.font().resolveMask() & _HAS_SIZE
    ]
    font.setPointSizeF(after)
    app.setFont(font)
    for widget, its in own:
        its.setPointSizeF(its.pointSizeF() * after / before)
        widget.setFont(its)


def digits_width(count: int) -> int:
    """Return the width of so many figures in `number_font`, pixels."""
    return QFontMetrics(number_font()).horizontalAdvance("0" * count)


def code_font() -> QFont:
    """Return the font of code: one whose letters have one width."""
    font = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont)
    font.setPointSizeF(QApplication.font().pointSizeF() * 0.88)
    return font
