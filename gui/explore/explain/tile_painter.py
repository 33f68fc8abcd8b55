"""How a tile looks, and its description as in the lecture: "P[8] uses N[6] to N[10]"."""

import math
from dataclasses import replace
from enum import StrEnum
from itertools import groupby, product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPoint, QRect, QSize, Qt
from PySide6.QtGui import QBrush, QColor, QImage, QPainter, QPen

from engine.explain.messages import DIRECT, NO_THREAD, TilePlan
from gui.style.theme import Theme, current_theme, mixed, series_at
from gui.widgets.labels import LegendEntry

_CHANNELS = ("red", "green", "blue")


def is_line(plan: TilePlan) -> bool:
    """Whether the mask has one row: then cells have one index, as in the lecture."""
    return plan.window_shape[0] == 1 and plan.writes == "P" and plan.reads == "N"


def cell_name(plan: TilePlan, letter: str, row: int, column: int) -> str:
    """Return the name of a cell of the picture, of the result, or of what lies between two passes."""
    pixel, channel = divmod(column, plan.apart)
    index = f"{pixel}" if is_line(plan) else f"{row}, {pixel}"
    which = f" {_CHANNELS[channel]}" if plan.apart == len(_CHANNELS) else f" channel {channel}"
    return f"{letter}[{index}]{which if plan.apart > 1 else ''}"


def source_name(plan: TilePlan, row: int, column: int) -> str:
    """Return the name of a cell of the tile, ghost cells by where they lie."""
    return cell_name(plan, plan.reads, plan.first[0] + row, plan.first[1] + column)


def thread_name(plan: TilePlan, number: int) -> str:
    """Return a thread as CUDA counts it: (x, y)."""
    return f"({number % plan.block.x}, {number // plan.block.x})"


def use_sentence(plan: TilePlan, i: int, j: int) -> str:
    """Return which cells result (i, j) uses."""
    row, column = plan.result_place(i, j)
    result = cell_name(plan, plan.writes, row, column)
    where = f", in row {row}" if is_line(plan) and plan.height > 1 else ""
    window = plan.window(i, j)
    rows, columns = (range(one.start, one.stop, one.step or 1) for one in window)
    first, last = (rows[0], columns[0]), (rows[-1], columns[-1])
    count, used = math.prod(plan.window_shape), source_name(plan, *first)
    if count > 1:
        used += f" to {source_name(plan, *last)}"
    # A column of cells one below the other needs no number, as little as a row.
    counted = f" ({count} cells)" if min(plan.window_shape) > 1 else ""
    ghosts = int(plan.ghosts[window].sum())
    cells = "is a ghost cell" if ghosts == 1 else "are ghost cells"
    outside = f"; {ghosts} of them {cells}" if ghosts else ""
    thread = thread_name(plan, int(plan.writers[i, j]))
    return f"{result} uses {used}{counted}{outside}. Thread {thread} writes it{where}."


def cell_sentence(plan: TilePlan, row: int, column: int) -> str:
    """Return what a cell of the tile is, and who loads it when."""
    name, loader = source_name(plan, row, column), int(plan.loaders[row, column])
    is_ghost = bool(plan.ghosts[row, column])
    kind = "ghost cell" if is_ghost else "own cell" if plan.own[row, column] else "halo"
    source = plan.source(row, column) if is_ghost else None
    if is_ghost:
        rule = cell_name(plan, plan.reads, *source) if source else "the border's value"
        kind += f", {rule} in its place"
    used = f"In this block {_users(plan, row, column)} it."
    if loader == NO_THREAD:
        # What stands for a ghost cell may be read or kept elsewhere.
        loaded = "" if is_ghost else " No thread loads it."
        return f"{name}: {kind}.{loaded} {used}"
    if loader == DIRECT:
        return f"{name}: {kind}. Read from global memory, through the caches, whenever it is used. {used}"
    step = int(plan.steps[row, column])
    verb = "fills" if is_ghost and source is None else "loads"
    return f"{name}: {kind}. Thread {thread_name(plan, loader)} {verb} it in step {step}. {used}"


def _uses(plan: TilePlan) -> NDArray[np.int64]:
    """Return how many results of the block use each cell."""
    has_result = plan.writers >= 0
    uses = np.zeros(plan.shape, np.int64)
    (rows, columns), (top, left) = plan.window_shape, plan.window_at
    down, across = has_result.shape
    # Every cell of a window counts alike: first along the rows, then down the columns.
    along = np.zeros((down, plan.shape[1]), np.int64)
    for column in range(left, left + columns * plan.apart, plan.apart):
        along[:, column : column + across] += has_result
    for row in range(top, top + rows):
        uses[row : row + down] += along
    return uses


def _users(plan: TilePlan, row: int, column: int) -> str:
    """Return which results of the block use a cell, with the verb: P[0] to P[4] use the lecture's N[2]."""
    i, j = np.indices(plan.writers.shape)
    (rows, columns), (top, left) = plan.window_shape, plan.window_at
    down, (across, apart) = row - top - i, np.divmod(column - left - j, plan.apart)
    is_user = (down >= 0) & (down < rows) & (across >= 0) & (across < columns) & (apart == 0)
    users = np.argwhere(is_user & (plan.writers >= 0)).tolist()
    if not users:
        return "no result uses"
    first, last = (cell_name(plan, plan.writes, *plan.result_place(*one)) for one in (users[0], users[-1]))
    return f"{first} uses" if first == last else f"{first} to {last} use"


def accesses(plan: TilePlan) -> int:
    """Return what the results would read from global memory if nothing were kept: no cell that is a value."""
    uses = _uses(plan)
    return int(uses[~plan.ghosts].sum() if plan.border.has_ghost_cells else uses.sum())


def summary(plan: TilePlan) -> str:
    """Return what the tile saves, as the lecture counts it: 40 accesses become 12 loads."""
    results, taps = int((plan.writers >= 0).sum()), math.prod(plan.window_shape)
    wanted, kept, direct = accesses(plan), plan.loads, plan.direct_reads
    uses = f"{results:,} result{'s use' if results != 1 else ' uses'} {taps} cell{'s' * (taps != 1)} each"
    if wanted != results * taps:
        outside = results * taps - wanted
        uses += f"; {outside:,} of these {results * taps:,} lie outside the picture and are not read"
    if not kept:
        return f"{uses}: {direct:,} loads from global memory, and nothing is kept in shared memory."
    loads = f"{kept:,} loads" + (f" and {direct:,} direct reads" if direct else "")
    saved = f"{uses}: {wanted:,} accesses become {loads} ({wanted / (kept + direct):.3g} times fewer)."
    return saved + (f" A thread loads {plan.at_once} samples at once." if plan.at_once > 1 else "")


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


def tint(colour: str, theme: Theme) -> QColor:
    """Return a colour mixed with the ground."""
    return mixed(QColor(theme.base), QColor(colour), _TINT)


def _at(position: int, theme: Theme) -> QColor:
    return tint(series_at(position, theme).colour, theme)


def role_masks(plan: TilePlan) -> dict[str, NDArray[np.bool_]]:
    """Return which cells have which role, by the words for it; each cell has one."""
    ghosts, direct, unused = plan.ghosts, plan.loaders == DIRECT, plan.loaders == NO_THREAD
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
        first, last = _table([_at(0, theme), _at(1, theme)]).astype(float)
        share = np.clip(plan.loaders, 0, None)[..., None] / max(1, plan.block.threads - 1)
        colours = np.rint(first + (last - first) * share).astype(np.uint8)
    return np.where(kept[..., None], colours, _table([QColor(theme.base)])[0])


def _table(colours: "tuple[QColor, ...] | list[QColor]") -> Colours:
    return np.array([[one.red(), one.green(), one.blue()] for one in colours], np.uint8)


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
        return [_entry(name, _at(at, theme), theme) for at, name in enumerate(names)] + others
    steps = int(plan.steps.max())
    numbers = range(min(steps, _MOST_IN_LEGEND))
    shown = [_entry(f"step {number + 1}", _at(number, theme), theme) for number in numbers]
    if steps > _MOST_IN_LEGEND:
        shown[-1] = replace(shown[-1], text=f"step {_MOST_IN_LEGEND}, and so on to {steps}")
    return shown + others


def _entry(text: str, colour: QColor, theme: Theme, mark: str = "") -> LegendEntry:
    return LegendEntry(text, theme.text, mark, colour.name())


_LEAST_LINED, _LEAST_PATTERNED = 8, 5
_CENTRE = int(Qt.AlignmentFlag.AlignCenter)


class TileLook(NamedTuple):
    """The colours of a tile, a pixel per cell, and its patterns, whatever the colours show."""

    by: ColourBy
    image: QImage
    patterns: list[tuple[NDArray[np.bool_], Qt.BrushStyle]]


def look_of(plan: TilePlan | None, by: ColourBy, theme: Theme) -> TileLook:
    """Return what a tile looks like; 100,000 cells take no longer to paint than 100."""
    if plan is None or 0 in plan.shape:
        return TileLook(by, QImage(), [])
    colours = np.ascontiguousarray(colours_of(plan, by, theme))
    height, width = plan.shape
    image = QImage(colours.data, width, height, 3 * width, QImage.Format.Format_RGB888)
    masks = zip(role_masks(plan).values(), _PATTERNS, strict=True)
    patterns = [one for one in masks if one[1] != Pattern.NoBrush and one[0].any()]
    # The array's memory is not kept.
    return TileLook(by, image.copy(), patterns)


def has_results_row(plan: TilePlan) -> bool:
    """Return whether results are drawn in a row of their own, as in the lecture: of a tile of one row."""
    return plan.shape[0] == 1


class TilePainter:
    """Paints a tile: its cells have `side` pixels, the first lies at `corner`, and `area` is in sight."""

    def __init__(
        self, painter: QPainter, plan: TilePlan, look: TileLook, side: int, corner: QPoint, area: QSize
    ) -> None:
        self._painter, self._plan, self._look = painter, plan, look
        self._side, self._corner, self._theme = side, corner, current_theme()
        # What is in sight, at least in part.
        first_row, first = -corner.y() // side, -corner.x() // side
        last_row, last = first_row + area.height() // side + 2, first + area.width() // side + 2
        self._rows = range(first_row, min(plan.shape[0], last_row))
        self._columns = range(first, min(plan.shape[1], last))

    def paint(self, current: tuple[int, int] | None, *, has_focus: bool) -> None:
        """Paint it, with its current cell marked."""
        painter, rows, columns = self._painter, self._rows, self._columns
        target = self._rect(0, 0).united(self._rect(self._plan.shape[0] - 1, self._plan.shape[1] - 1))
        painter.drawImage(target, self._look.image)
        if self._side >= _LEAST_PATTERNED:
            self._paint_patterns()
        if self._side >= _LEAST_LINED:
            painter.setPen(QColor(self._theme.base))
            for x in (self._rect(0, column).left() for column in (*columns, columns.stop)):
                painter.drawLine(x, target.top(), x, target.bottom())
            for y in (self._rect(row, 0).top() for row in (*rows, rows.stop)):
                painter.drawLine(target.left(), y, target.right(), y)
        self._paint_numbers()
        if has_results_row(self._plan):
            self._paint_results()
        if current is not None:
            self._paint_current(current, has_focus=has_focus)

    def _rect(self, row: int, column: int) -> QRect:
        x, y = self._corner.x() + column * self._side, self._corner.y() + row * self._side
        return QRect(x, y, self._side, self._side)

    def _paint_patterns(self) -> None:
        colour = QColor(self._theme.text)
        colour.setAlphaF(0.55)
        for mask, pattern in self._look.patterns:
            brush = QBrush(colour, pattern)
            for row in self._rows:
                at = self._columns.start
                for is_one, run in groupby(mask[row, at : self._columns.stop].tolist()):
                    count = len(list(run))
                    if is_one:
                        size = QSize(count * self._side, self._side)
                        self._painter.fillRect(QRect(self._rect(row, at).topLeft(), size), brush)
                    at += count

    def _paint_numbers(self) -> None:
        """Write the index of each cell, its step or its thread, where the longest has room."""
        plan, by = self._plan, self._look.by
        if by is ColourBy.STEP:
            numbers, most = plan.steps, int(plan.steps.max())
        elif by is ColourBy.THREAD:
            numbers, most = plan.loaders, plan.block.threads - 1
        elif is_line(plan):
            numbers, most = plan.source_columns[np.newaxis] // plan.apart, plan.width - 1
        else:
            return
        if not self._fits(str(most)) or self._painter.fontMetrics().height() > self._side + 2:
            return
        self._painter.setPen(QColor(self._theme.text))
        for at in product(self._rows, self._columns):
            if by is ColourBy.ROLE or plan.loaders[at] >= 0:
                self._painter.drawText(self._rect(*at), _CENTRE, str(int(numbers[at])))

    def _fits(self, text: str) -> bool:
        return self._painter.fontMetrics().horizontalAdvance(text) + 2 <= self._side

    def _paint_results(self) -> None:
        """Draw the results of a tile of one row below their own cells, as the lecture does."""
        plan = self._plan
        for column, thread in enumerate(plan.writers[0].tolist(), start=plan.first_result[1]):
            rect = self._rect(2, column - plan.first[1])
            self._frame(rect.adjusted(0, 0, -1, -1), self._theme.outline, 1)
            text = str(thread if self._look.by is ColourBy.THREAD else column)
            if self._fits(text):
                self._painter.setPen(QColor(self._theme.text))
                self._painter.drawText(rect, _CENTRE, text)

    def _paint_current(self, current: tuple[int, int], *, has_focus: bool) -> None:
        """Mark the current cell, what its thread loads besides, and the cells under its result's mask."""
        plan, rows, columns, theme = self._plan, self._rows, self._columns, self._theme
        if (loader := plan.loaders[current]) >= 0 and self._side >= _LEAST_LINED:
            view = plan.loaders[rows.start : rows.stop, columns.start : columns.stop]
            for row, column in np.argwhere(view == loader).tolist():
                rect = self._rect(rows.start + row, columns.start + column)
                self._frame(rect.adjusted(2, 2, -3, -3), theme.text, 1)
        if (result := plan.result_at(*current)) is not None:
            down, across = plan.window(*result)
            last = min(down.stop, plan.shape[0]) - 1
            under = range(across.start, across.stop, across.step or 1)
            # Neighbouring columns at once; where they lie apart, each by itself.
            runs = [(under[0], under[-1])] if under.step == 1 else [(at, at) for at in under]
            places = [self._rect(down.start, first).united(self._rect(last, end)) for first, end in runs]
            if has_results_row(plan):
                places.append(self._rect(2, current[1]))
            for place in places:
                self._frame(place.adjusted(1, 1, -1, -1), theme.accent, 2)
        style = Qt.PenStyle.DotLine if has_focus else Qt.PenStyle.SolidLine
        self._frame(self._rect(*current).adjusted(1, 1, -1, -1), theme.text, 2, style)

    def _frame(
        self, rect: QRect, colour: str, width: int, style: Qt.PenStyle = Qt.PenStyle.SolidLine
    ) -> None:
        self._painter.setPen(QPen(QColor(colour), width, style))
        self._painter.drawRect(rect)
