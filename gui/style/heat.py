"""Colours of heat maps: Cividis, whose steps are even for eyes with any colour vision and in grey."""

from functools import lru_cache

from PySide6.QtGui import QColor

from gui.style.cell_colours import mixed

# From the worst to the best.
HEAT = ("#00224e", "#2a3f6d", "#575d6d", "#7d7c78", "#a59c74", "#d2c060", "#fee838")


# Cells are painted again and again in the same colours.
@lru_cache(maxsize=512)
def heat(share: float) -> QColor:
    """Return the colour between the worst (0) and the best (1)."""
    position = min(max(share, 0.0), 1.0) * (len(HEAT) - 1)
    below = min(int(position), len(HEAT) - 2)
    return mixed(QColor(HEAT[below]), QColor(HEAT[below + 1]), position - below)
