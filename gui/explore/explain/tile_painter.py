"""How a tile looks, and what is said of it as the lecture does: "P[8] uses N[6] to N[10]"."""

from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import groupby

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPoint, QRect, QSize, Qt
from PySide6.QtGui import QBrush, QColor, QImage, QPainter, QPen

from engine.explain.messages import DIRECT, NOBODY, TilePlan
from gui.style.theme import Theme, mixed, series_at
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
    count = plan.window_shape[0] * plan.window_shape[1]
    used = source_name(plan, *first)
    if count > 1:
        used += f" to {source_name(plan, *last)}"
    # A column of cells one below the other needs no number, as little as a row.
    counted = f" ({count} cells)" if min(plan.window_shape) > 1 else ""
    ghosts = int(plan.ghosts[window].sum())
    cells = "ghost cell" if ghosts == 1 else "ghost cells"
    outside = f"; {ghosts} of them {'is a' if ghosts == 1 else 'are'} {cells}" if ghosts else ""
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
    users, use = _users(plan, row, column)
    used = f"In this block {users} {use} it."
    if loader == NOBODY:
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
    found = np.zeros(plan.shape, np.int64)
    (rows, columns), (top, left) = plan.window_shape, plan.window_at
    down, across = has_result.shape
    # Every cell of a window counts alike: first along the rows, then down the columns.
    along = np.zeros((down, plan.shape[1]), np.int64)
    for column in range(left, left + columns * plan.apart, plan.apart):
        along[:, column : column + across] += has_result
    for row in range(top, top + rows):
        found[row : row + down] += along
    return found


def _users(plan: TilePlan, row: int, column: int) -> tuple[str, str]:
    """Return which results of the block use a cell, and the verb: of the lecture's N[2] P[0] to P[4]."""
    i, j = np.indices(plan.writers.shape)
    (rows, columns), (top, left) = plan.window_shape, plan.window_at
    down, (across, apart) = row - top - i, np.divmod(column - left - j, plan.apart)
    is_user = (down >= 0) & (down < rows) & (across >= 0) & (across < columns) & (apart == 0)
    users = np.argwhere(is_user & (plan.writers >= 0)).tolist()
    if not users:
        return "no result", "uses"
    first, last = (cell_name(plan, plan.writes, *plan.result_place(*one)) for one in (users[0], users[-1]))
    return (first, "uses") if first == last else (f"{first} to {last}", "use")


def accesses(plan: TilePlan) -> int:
    """Return what the results would read from global memory if nothing were kept: no cell that is a value."""
    uses = _uses(plan)
    return int(uses[~plan.ghosts].sum() if plan.border.has_ghost_cells else uses.sum())


def summary(plan: TilePlan) -> str:
    """Return what the tile saves, as the lecture counts it: 40 accesses become 12 loads."""
    results, taps = int((plan.writers >= 0).sum()), plan.window_shape[0] * plan.window_shape[1]
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


@dataclass(frozen=True, slots=True)
class TileFrame:
    """Where things lie: pixels of a cell, the corner of the first one, and what is in sight."""

    plan: TilePlan
    cell: int
    corner: QPoint
    room: QSize

    def rect(self, row: int, column: int) -> QRect:
        """Return where a cell lies."""
        x, y = self.corner.x() + column * self.cell, self.corner.y() + row * self.cell
        return QRect(x, y, self.cell, self.cell)

    def visible(self) -> tuple[range, range]:
        """Return the rows and columns that are in sight, at least in part."""
        first_row, first = -self.corner.y() // self.cell, -self.corner.x() // self.cell
        rows, columns = self.plan.shape
        last_row = min(rows, first_row + self.room.height() // self.cell + 2)
        last = min(columns, first + self.room.width() // self.cell + 2)
        return range(first_row, last_row), range(first, last)


@dataclass(frozen=True, slots=True)
class TileLook:
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


def paint_tile(
    painter: QPainter,
    frame: TileFrame,
    look: TileLook,
    current: tuple[int, int] | None,
    has_focus: bool,
    theme: Theme,
) -> None:
    """Paint a tile."""
    plan, (rows, columns) = frame.plan, frame.visible()
    target = frame.rect(0, 0).united(frame.rect(plan.shape[0] - 1, plan.shape[1] - 1))
    painter.drawImage(target, look.image)
    if frame.cell >= _LEAST_PATTERNED:
        _paint_patterns(painter, frame, look, theme)
    if frame.cell >= _LEAST_LINED:
        painter.setPen(QColor(theme.base))
        for column in (*columns, columns.stop):
            x = frame.rect(0, column).left()
            painter.drawLine(x, target.top(), x, target.bottom())
        for row in (*rows, rows.stop):
            y = frame.rect(row, 0).top()
            painter.drawLine(target.left(), y, target.right(), y)
    _paint_numbers(painter, frame, look.by, theme)
    if has_results_row(plan):
        _paint_results(painter, frame, look.by, theme)
    if current is not None:
        _paint_current(painter, frame, current, has_focus, theme)
    if has_focus:
        painter.setPen(QPen(QColor(theme.accent), 2))
        painter.drawRect(QRect(QPoint(0, 0), frame.room).adjusted(1, 1, -1, -1))


def _paint_patterns(painter: QPainter, frame: TileFrame, look: TileLook, theme: Theme) -> None:
    rows, columns = frame.visible()
    colour = QColor(theme.text)
    colour.setAlphaF(0.55)
    for mask, pattern in look.patterns:
        brush = QBrush(colour, pattern)
        for row in rows:
            at = columns.start
            for is_one, run in groupby(mask[row, columns.start : columns.stop].tolist()):
                count = len(list(run))
                if is_one:
                    corner = frame.rect(row, at).topLeft()
                    painter.fillRect(QRect(corner, QSize(count * frame.cell, frame.cell)), brush)
                at += count


def _paint_numbers(painter: QPainter, frame: TileFrame, by: ColourBy, theme: Theme) -> None:
    """Write the index of each cell, its step or its thread, where the longest has room."""
    plan, (rows, columns) = frame.plan, frame.visible()
    if by is ColourBy.STEP:
        numbers, most = plan.steps, int(plan.steps.max())
    elif by is ColourBy.THREAD:
        numbers, most = plan.loaders, plan.block.threads - 1
    elif is_line(plan):
        numbers, most = plan.source_columns[np.newaxis] // plan.apart, plan.width - 1
    else:
        return
    metrics = painter.fontMetrics()
    if metrics.horizontalAdvance(str(most)) + 2 > frame.cell or metrics.height() > frame.cell + 2:
        return
    painter.setPen(QColor(theme.text))
    for row in rows:
        for column in columns:
            if by is ColourBy.ROLE or plan.loaders[row, column] >= 0:
                painter.drawText(frame.rect(row, column), _CENTRE, str(int(numbers[row, column])))


def _paint_results(painter: QPainter, frame: TileFrame, by: ColourBy, theme: Theme) -> None:
    """Draw the results of a tile of one row below their own cells, as the lecture does."""
    plan, metrics = frame.plan, painter.fontMetrics()
    for j, thread in enumerate(plan.writers[0].tolist()):
        column = plan.first_result[1] + j
        rect = frame.rect(2, column - plan.first[1])
        painter.setPen(QColor(theme.outline))
        painter.drawRect(rect.adjusted(0, 0, -1, -1))
        text = str(thread if by is ColourBy.THREAD else column)
        if metrics.horizontalAdvance(text) + 2 <= frame.cell:
            painter.setPen(QColor(theme.text))
            painter.drawText(rect, _CENTRE, text)


def _paint_current(
    painter: QPainter, frame: TileFrame, current: tuple[int, int], has_focus: bool, theme: Theme
) -> None:
    """Mark the current cell, what its thread loads besides, and the cells under its result's mask."""
    plan, (rows, columns) = frame.plan, frame.visible()
    loader = plan.loaders[current]
    if loader >= 0 and frame.cell >= _LEAST_LINED:
        painter.setPen(QPen(QColor(theme.text), 1))
        view = plan.loaders[rows.start : rows.stop, columns.start : columns.stop]
        for row, column in np.argwhere(view == loader).tolist():
            rect = frame.rect(rows.start + row, columns.start + column)
            painter.drawRect(rect.adjusted(2, 2, -3, -3))
    if (result := plan.result_at(*current)) is not None:
        painter.setPen(QPen(QColor(theme.accent), 2))
        down, across = plan.window(*result)
        last, columns = min(down.stop, plan.shape[0]) - 1, range(across.start, across.stop, across.step or 1)
        # Neighbouring columns at once; where they lie apart, each by itself.
        runs = [(columns[0], columns[-1])] if columns.step == 1 else [(at, at) for at in columns]
        for first, end in runs:
            rect = frame.rect(down.start, first).united(frame.rect(last, end))
            painter.drawRect(rect.adjusted(1, 1, -1, -1))
        if has_results_row(plan):
            painter.drawRect(frame.rect(2, current[1]).adjusted(1, 1, -1, -1))
    pen = QPen(QColor(theme.text), 2)
    if has_focus:
        pen.setStyle(Qt.PenStyle.DotLine)
    painter.setPen(pen)
    painter.drawRect(frame.rect(*current).adjusted(1, 1, -1, -1))
