"""The copies of float32 rows of a warp's strip that lies in the picture or across its left or right edge.

All vectors in the picture are copied as such, and the cells beside the picture are shared out among the
lanes. `strip_loader.py` has the case of any other rows.
"""

from functools import partial
from typing import Any

from engine.variants.ir.picture_window import PictureWindow, Rule
from engine.variants.ir.register_tile import VECTOR, TileShape
from engine.variants.strips.strip_shape import LANES, after_strip, beside


def by_rule(code: Any, rule: Rule, index: Any, length: Any) -> Any:
    """Return what the border's rule says of an index, 32 bits wide; asked only of one outside."""
    is_outside = index | (length - 1 - index) < 0
    return code.when(is_outside, lambda: code.by_rule(rule, index, length), index)


def edges_of(code: Any, shape: TileShape, samples: Any, left: Any) -> tuple[Any, Any]:
    """Return the first cell of a strip's row in the picture, and the one after its last vector there."""

    def within(value: Any) -> Any:
        value = code.select(value < 0, 0, value)
        return code.select(value > shape.tile_samples, shape.tile_samples, value)

    end = within(samples - left) & -VECTOR
    return within(0 - left), end


def needed_cells(code: Any, shape: TileShape, samples: Any, left: Any) -> Any:
    """Return how many cells of a strip's row its results in the picture need, in whole vectors.

    The last strip of a row needs fewer than it has. With all of them, one by one past the picture, its warp
    took twice as long, and all others waited for it: 9 x 9 on 3000 x 3000 61 us instead of 34, on 3072 x 3072
    33 (`split-float16`, H200).
    """
    cells = (samples - left + (VECTOR - 1) & -VECTOR) + after_strip(shape)
    return code.smaller(cells, shape.tile_samples)


def cells_beside(shape: TileShape, lane: Any, edges: tuple[Any, Any]) -> tuple[Any, Any]:
    """Return a lane's cell among those just before the picture, and among those after its last vector."""
    own, (first, end) = lane & (beside(shape) - 1), edges
    return first - beside(shape) + own, end + own


def copy_vectors(
    code: Any, shape: TileShape, rows: int, strip: Any, window: PictureWindow, lane: Any, edges: Any = None
) -> None:
    """Copy each row's vectors to the strip, or those from a cell on to before another (`edges_of`).

    A warp has whole rows; what is left of them all lanes share.
    """
    pitch = shape.tile_samples
    start = window.row(window.top) + window.left
    jump = code.unsigned(window.pitch)

    def is_within(cell: Any) -> Any:
        if edges is None:
            return None
        first, end = edges
        return code.all_of(cell >= first, cell < end)

    whole, rest = divmod(pitch // VECTOR, LANES)
    source = start
    for row in range(rows):
        for number in range(whole):
            cell = lane * VECTOR + LANES * VECTOR * number
            code.copy_ahead(strip + cell, source + cell, VECTOR, is_within(cell), row * pitch)
        source += jump
    for begin in range(0, rows * rest, LANES):
        turn = lane + begin
        line, past = divmod(turn, rest)
        cell = past * VECTOR + LANES * VECTOR * whole
        target = strip + (line * pitch + cell)
        at = code.unsigned(line) * jump + code.unsigned(cell)
        is_one, is_there = code.is_below(turn, rows * rest), is_within(cell)
        is_one = is_one if is_there is None else code.all_of(is_one, is_there)
        code.copy_ahead(target, start + at, VECTOR, is_one)


def copy_beside(
    code: Any, shape: TileShape, rows: int, strip: Any, window: PictureWindow, lane: Any, edges: Any,
    own_samples: list[Any], ghost_value: Any,
) -> None:  # fmt: skip
    """Copy the needed cells before the first one of `edges` and from the other one on, of all rows.

    They are left or right of the picture, or at its edge, in rows of the picture. `own_samples` are those of
    the lane's cells beside the picture (`strip_columns`).
    """
    pitch, at_once = shape.tile_samples, LANES // beside(shape)
    row = lane // beside(shape)
    source, jump = window.row(window.top + row), code.unsigned(window.pitch)
    for is_one, cell, sample in _sides(code, shape, window, lane, edges, own_samples):
        for _ in code.where(is_one):
            target, own_source = strip + (row * pitch + cell), source
            for first in range(0, rows, at_once):
                is_row = None if first + at_once <= rows else code.is_below(row, rows - first)
                for _ in code.where(is_row):
                    _copy_cell(code, window, target + first * pitch, own_source, sample, ghost_value)
                own_source += jump * at_once


def copy_rows_anywhere(
    code: Any, shape: TileShape, rows: int, strip: Any, window: PictureWindow, lane: Any, edges: Any,
    own_samples: list[Any], ghost_value: Any, *, is_aligned: Any,
) -> None:  # fmt: skip
    """Copy the needed cells of rows that may lie above or below the picture, row after row.

    `is_aligned` says whether the vectors of rows are; else each cell is copied by itself. It is a loop that
    stays one: few groups of rows need it, and all would pay with registers.
    """
    pitch = shape.tile_samples
    needed = needed_cells(code, shape, window.samples, window.left)
    vectors = [lane * VECTOR + first for first in range(0, pitch, LANES * VECTOR)]
    first, end = edges

    def by_vectors(source: Any, target: Any) -> None:
        for cell in vectors:
            is_there = code.all_of(cell >= first, cell < end)
            code.copy_ahead(target + cell, source + window.left + cell, VECTOR, is_there)

    def by_cells(source: Any, target: Any) -> None:
        for cell in vectors:
            for _ in code.where(code.all_of(cell >= first, cell < end)):
                for k in range(VECTOR):
                    code.copy_ahead(target + cell, source + window.left + cell, 1, None, k, k)

    for row in code.loop(0, rows):
        source_row, target = by_rule(code, window.rule, window.top + row, window.height), strip + row * pitch
        source = window.row(source_row)

        def copied(source: Any = source, target: Any = target) -> None:
            code.when(is_aligned, partial(by_vectors, source, target), partial(by_cells, source, target))
            for is_one, cell, sample in _sides(code, shape, window, lane, edges, own_samples):
                for _ in code.where(code.all_of(is_one, code.is_below(lane, beside(shape)))):
                    _copy_cell(code, window, target + cell, source, sample, ghost_value)

        def ghosts(target: Any = target) -> None:
            for cell in vectors:
                for _ in code.where(cell < needed):
                    (target + cell).store([ghost_value] * VECTOR)

        if window.has_ghosts:
            code.when(source_row >= 0, copied, ghosts)
        else:
            copied()


def _sides(
    code: Any, shape: TileShape, window: PictureWindow, lane: Any, edges: Any, own_samples: list[Any]
) -> list[tuple[Any, Any, Any]]:
    """Return of a lane's cell on the left, and on the right: whether it is one, the cell, its sample."""
    left, right = cells_beside(shape, lane, edges)
    is_right = right < needed_cells(code, shape, window.samples, window.left)
    return [(left >= 0, left, own_samples[0]), (is_right, right, own_samples[1])]


def _copy_cell(
    code: Any, window: PictureWindow, target: Any, source: Any, sample: Any, ghost_value: Any
) -> None:
    def copied() -> None:
        code.copy_ahead(target, source + sample, 1)

    if window.has_ghosts:
        code.when(sample >= 0, copied, lambda: target.store(ghost_value))
    else:
        copied()
