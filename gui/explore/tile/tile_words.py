"""What the panel Tile says in words, as the lecture does: "P[8] uses N[6] to N[10]"."""

import numpy as np
from numpy.typing import NDArray

from engine.geometry.tile_plan import DIRECT, UNUSED, TilePlan

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
    index = int(plan.source_rows[row, column]), int(plan.source_columns[row, column])
    return cell_name(plan, plan.reads, *index)


def thread_name(plan: TilePlan, number: int) -> str:
    """Return a thread as CUDA counts it: (x, y)."""
    return f"({number % plan.block.x}, {number // plan.block.x})"


def use_sentence(plan: TilePlan, i: int, j: int) -> str:
    """Return which cells result (i, j) uses."""
    row, column = int(plan.result_rows[i, j]), int(plan.result_columns[i, j])
    result = cell_name(plan, plan.writes, row, column)
    where = f", in row {row}" if is_line(plan) and plan.height > 1 else ""
    rows, columns = _drawn_window(plan, i, j)
    first, last = (rows[0], columns[0]), (rows[-1], columns[-1])
    count = plan.window_shape[0] * plan.window_shape[1]
    used = source_name(plan, *first)
    if count > 1:
        used += f" to {source_name(plan, *last)}"
    # A column of cells one below the other needs no number, as little as a row.
    counted = f" ({count} cells)" if min(plan.window_shape) > 1 and plan.window_stride[0] else ""
    ghosts = int(plan.ghosts[np.ix_(rows, columns)].sum())
    cells = "ghost cell" if ghosts == 1 else "ghost cells"
    outside = f"; {ghosts} of them {'is a' if ghosts == 1 else 'are'} {cells}" if ghosts else ""
    thread = thread_name(plan, int(plan.computers[i, j]))
    return f"{result} uses {used}{counted}{outside}. Thread {thread} computes it{where}."


def _drawn_window(plan: TilePlan, i: int, j: int) -> tuple[NDArray[np.int_], NDArray[np.int_]]:
    rows, columns = plan.window(i, j)
    height, width = plan.shape
    return np.arange(height)[rows], np.arange(width)[columns]


def cell_sentence(plan: TilePlan, row: int, column: int) -> str:
    """Return what a cell of the tile is, and who loads it when."""
    name, loader = source_name(plan, row, column), int(plan.loaders[row, column])
    is_ghost = bool(plan.ghosts[row, column])
    kind = "ghost cell" if is_ghost else "own cell" if plan.own[row, column] else "halo"
    source = plan.source(row, column) if is_ghost else None
    if is_ghost:
        rule = cell_name(plan, plan.reads, *source) if source else "the border's value"
        kind += f", {rule} in its place"
    if loader == UNUSED:
        return f"{name}: {kind}. No thread loads it, because no result reads it."
    users, use = _users(plan, row, column)
    used = f"In this block {users} {use} it."
    if loader == DIRECT:
        if is_ghost and source is None:
            return f"{name}: {kind}. No thread loads it. {used}"
        return f"{name}: {kind}. Read from global memory, through the caches, whenever it is used. {used}"
    step = int(plan.steps[row, column])
    named = f", {plan.step_names[step - 1]}" if step <= len(plan.step_names) else ""
    verb = "fills" if is_ghost and source is None else "loads"
    return f"{name}: {kind}. Thread {thread_name(plan, loader)} {verb} it in step {step}{named}. {used}"


def _covers(plan: TilePlan, axis: int) -> NDArray[np.bool_]:
    """Return, along one side of the tile, which of its cells each result's window has: results x cells."""
    begins = np.arange(plan.computers.shape[axis]) * plan.window_stride[axis] + plan.window_at[axis]
    steps = np.arange(plan.window_shape[axis]) * (plan.apart if axis == 1 else 1)
    cells = np.add.outer(begins, steps)
    covers: NDArray[np.bool_] = (np.arange(plan.shape[axis]) == cells[..., np.newaxis]).any(axis=1)
    return covers


def _users(plan: TilePlan, row: int, column: int) -> tuple[str, str]:
    """Return which results of the block use a cell, and the verb: of the lecture's N[2] P[0] to P[4]."""
    down, across = (np.flatnonzero(_covers(plan, axis)[:, at]) for axis, at in ((0, row), (1, column)))
    if not down.size or not across.size:
        return "no result", "uses"
    first, last = (
        cell_name(plan, plan.writes, int(plan.result_rows[i, j]), int(plan.result_columns[i, j]))
        for i, j in ((down[0], across[0]), (down[-1], across[-1]))
    )
    return (first, "uses") if first == last else (f"{first} to {last}", "use")


def _reads(plan: TilePlan, of: NDArray[np.bool_]) -> int:
    """Return the block's uses of cells, once for each result; ghost cells of one value are never read."""
    if plan.border.has_ghost_cells:
        of = of & ~plan.ghosts
    down, across = (_covers(plan, axis).sum(axis=0) for axis in (0, 1))
    return int((np.multiply.outer(down, across) * of).sum())


def accesses(plan: TilePlan) -> int:
    """Return what the block's results would read from global memory if nothing were kept."""
    return _reads(plan, np.ones(plan.shape, bool))


def direct_reads(plan: TilePlan) -> int:
    """Return the block's reads of cells that are not in shared memory."""
    return _reads(plan, plan.loaders == DIRECT)


def loaded_cells(plan: TilePlan) -> int:
    """Return the cells that the block's threads load from global memory to keep them."""
    kept = plan.loaders >= 0
    if plan.border.has_ghost_cells:
        kept &= ~plan.ghosts
    return int(kept.sum())


def summary(plan: TilePlan) -> str:
    """Return what the tile saves, as the lecture counts it: 40 accesses become 12 loads."""
    results, taps = plan.computers.size, plan.window_shape[0] * plan.window_shape[1]
    if plan.cut_rows:
        return f"Only the first {plan.shape[0]} rows are drawn; {plan.cut_rows} more follow below."
    wanted, kept, direct = accesses(plan), loaded_cells(plan), direct_reads(plan)
    uses = f"{results:,} result{'s use' if results != 1 else ' uses'} {taps} cell{'s' * (taps != 1)} each"
    if wanted != results * taps:
        outside = results * taps - wanted
        uses += f"; {outside:,} of these {results * taps:,} lie outside the picture and are not read"
    if not kept:
        return f"{uses}: {direct:,} loads from global memory, and nothing is kept in shared memory."
    loads = f"{kept:,} loads" + (f" and {direct:,} direct reads" if direct else "")
    return f"{uses}: {wanted:,} accesses become {loads} ({wanted / (kept + direct):.3g} times fewer)."
