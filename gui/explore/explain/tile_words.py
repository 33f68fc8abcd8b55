"""What the panel Tile says in words, as the lecture does: "P[8] uses N[6] to N[10]"."""

import numpy as np
from numpy.typing import NDArray

from engine.geometry.tile_plan import DIRECT, NOBODY, TilePlan

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
