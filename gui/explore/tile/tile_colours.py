"""Colours and patterns of a tile's cells: by role, by step, by thread. No widgets in here.

Colour alone says nothing: ghost cells are hatched, cells that are read directly are dotted, and numbers stand
in cells that have room for them.
"""

from dataclasses import replace
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor

from engine.geometry.tile_plan import DIRECT, NOBODY, TilePlan
from gui.style.cell_colours import mixed
from gui.style.series import series_at
from gui.style.theme import Theme
from gui.widgets.legend import LegendEntry

Colours = NDArray[np.uint8]
Pattern = Qt.BrushStyle

# Fraction of a colour mixed into the background: texts on it keep a contrast of 4.5 : 1.
_TINT = 0.38
_MOST_IN_LEGEND = 8


class ColourBy(StrEnum):
    """What a cell's colour shows."""

    ROLE = "role"
    STEP = "step"
    THREAD = "thread"


def tint(colour: str, theme: Theme, share: float = _TINT) -> QColor:
    """Return a colour mixed with the ground."""
    return mixed(QColor(theme.base), QColor(colour), share)


def _at(position: int, theme: Theme) -> QColor:
    return tint(series_at(position, theme).colour, theme)


def role_masks(plan: TilePlan) -> dict[str, NDArray[np.bool_]]:
    """Return which cells have which role, by the words for it; each cell has one."""
    ghosts, direct, unused = plan.ghosts, plan.loaders == DIRECT, plan.loaders == NOBODY
    kept, own = plan.loaders >= 0, plan.own
    return {
        "own cells, loaded": kept & own & ~ghosts,
        "halo, loaded": kept & ~own & ~ghosts,
        "read from global memory": direct & ~ghosts,
        "ghost cells": ghosts,
        "not loaded": unused & ~ghosts,
    }


def _role_colours(theme: Theme) -> tuple[QColor, ...]:
    blue, orange, green, grey = (_at(position, theme) for position in (0, 1, 2, 7))
    return blue, orange, green, grey, QColor(theme.base)


_PATTERNS = (Pattern.NoBrush, Pattern.NoBrush, Pattern.Dense6Pattern, Pattern.BDiagPattern, Pattern.NoBrush)
# They stand for the patterns in the legend, and for cells that have the colour of the ground.
_DOTS, _HATCH = "∷", "╱╱"
_MARKS = ("", "", _DOTS, _HATCH, "□")


def colours_of(plan: TilePlan, by: ColourBy, theme: Theme) -> Colours:
    """Return red, green and blue of each cell."""
    if by is ColourBy.ROLE:
        numbers = np.zeros(plan.shape, np.int64)
        for number, mask in enumerate(role_masks(plan).values()):
            numbers[mask] = number
        return _table(_role_colours(theme))[numbers]
    kept = plan.loaders >= 0
    if by is ColourBy.STEP:
        table = _table([_at(position, theme) for position in range(_MOST_IN_LEGEND)])
        colours = table[(plan.steps - 1) % _MOST_IN_LEGEND]
    else:
        first, last = _table(_ends(theme)).astype(float)
        share = np.clip(plan.loaders, 0, None)[..., None] / max(1, plan.block.threads - 1)
        colours = np.rint(first + (last - first) * share).astype(np.uint8)
    return np.where(kept[..., None], colours, _table([QColor(theme.base)])[0])


def _ends(theme: Theme) -> tuple[QColor, QColor]:
    return _at(0, theme), _at(1, theme)


def _table(colours: "tuple[QColor, ...] | list[QColor]") -> Colours:
    return np.array([[one.red(), one.green(), one.blue()] for one in colours], np.uint8)


def patterns_of(plan: TilePlan) -> list[tuple[NDArray[np.bool_], Qt.BrushStyle]]:
    """Return which cells have which pattern, whatever their colours show."""
    masks = zip(role_masks(plan).values(), _PATTERNS, strict=True)
    return [(mask, pattern) for mask, pattern in masks if pattern != Pattern.NoBrush and mask.any()]


def legend_of(plan: TilePlan, by: ColourBy, theme: Theme) -> list[LegendEntry]:
    """Return what the colours and patterns of a tile mean."""
    roles = zip(role_masks(plan).items(), _role_colours(theme), _MARKS, strict=True)
    present = [_entry(text, colour, theme, mark) for (text, mask), colour, mark in roles if mask.any()]
    if by is ColourBy.ROLE:
        return present
    others = [replace(one, ground=theme.base) for one in present if one.mark in (_DOTS, _HATCH)]
    if not (plan.loaders >= 0).any():
        return others
    if by is ColourBy.THREAD:
        names = "thread 0", f"thread {plan.block.threads - 1}"
        return [_entry(*end, theme) for end in zip(names, _ends(theme), strict=True)] + others
    steps = int(plan.steps.max())
    shown = [
        _entry(f"step {number + 1}", _at(number, theme), theme)
        for number in range(min(steps, _MOST_IN_LEGEND))
    ]
    if steps > _MOST_IN_LEGEND:
        shown[-1] = replace(shown[-1], text=f"step {_MOST_IN_LEGEND}, and so on to {steps}")
    return shown + others


def _entry(text: str, colour: QColor, theme: Theme, mark: str = "") -> LegendEntry:
    return LegendEntry(text, theme.text, mark, colour.name())
