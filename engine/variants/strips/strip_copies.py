"""The copies of float32 rows of a warp's strip that lies in the picture or across its left or right edge.

All vectors in the picture are copied as such, and the cells beside the picture are shared out among the
lanes. `strip_loader.py` has the case of any other rows.
"""

from collections.abc import Callable
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


def copy_floats(
    code: Any, shape: TileShape, rows: int, strip: Any, window: PictureWindow, lane: Any,
    own_samples: list[Any], ghost_value: Any,
) -> None:  # fmt: skip
    """Copy rows of float32 to the strip without waiting; `own_samples` are those of `cells_beside`.

    All strips run at once, so those at an edge hold up all others: `split-float16`, 9 x 9 on 4096 x 4096,
    took 25 us more with their cells one by one (H200).
    """
    pitch = shape.tile_samples
    is_aligned = window.is_aligned(VECTOR)
    edges = edges_of(code, shape, window.samples, window.left)

    def is_in_picture(cell: Any) -> Any:
        return code.all_of(cell >= edges[0], cell < edges[1])

    def sides() -> list[tuple[Any, Any, Any]]:
        """Return of a lane's cell on the left, and on the right: whether it is one, the cell, its sample."""
        left, right = cells_beside(shape, lane, edges)
        is_right = right < needed_cells(code, shape, window.samples, window.left)
        return [(left >= 0, left, own_samples[0]), (is_right, right, own_samples[1])]

    def copy_cell(target: Any, source: Any, sample: Any) -> None:
        def copied() -> None:
            code.copy_ahead(target, source + sample, 1)

        if window.has_ghosts:
            code.when(sample >= 0, copied, lambda: target.store(ghost_value))
        else:
            copied()

    def copy_vectors(is_needed: Callable[[Any], Any] = lambda cell: None) -> None:
        """Copy each row's vectors: a warp has whole rows; what is left of them all lanes share."""
        source = start = window.row(window.top) + window.left
        jump = code.unsigned(window.pitch)
        whole, rest = divmod(pitch // VECTOR, LANES)
        for row in range(rows):
            for number in range(whole):
                cell = lane * VECTOR + LANES * VECTOR * number
                code.copy_ahead(strip + cell, source + cell, VECTOR, is_needed(cell), row * pitch)
            source += jump
        for begin in range(0, rows * rest, LANES):
            turn = lane + begin
            line, past = divmod(turn, rest)
            cell = past * VECTOR + LANES * VECTOR * whole
            target = strip + (line * pitch + cell)
            at = code.unsigned(line) * jump + code.unsigned(cell)
            is_one, is_there = code.is_below(turn, rows * rest), is_needed(cell)
            is_one = is_one if is_there is None else code.all_of(is_one, is_there)
            code.copy_ahead(target, start + at, VECTOR, is_one)

    def at_side() -> None:
        """Copy rows of the picture: the vectors in it, and the cells left or right of it, or at its edge."""
        copy_vectors(is_in_picture)
        at_once = LANES // beside(shape)
        row = lane // beside(shape)
        source, jump = window.row(window.top + row), code.unsigned(window.pitch)
        for is_one, cell, sample in sides():
            for _ in code.where(is_one):
                target, own_source = strip + (row * pitch + cell), source
                for first in range(0, rows, at_once):
                    is_row = None if first + at_once <= rows else code.is_below(row, rows - first)
                    for _ in code.where(is_row):
                        copy_cell(target + first * pitch, own_source, sample)
                    own_source += jump * at_once

    def anywhere() -> None:
        """Copy rows that may lie above or below the picture, or whose vectors are not aligned.

        It is a loop that stays one: few groups of rows need it, and all would pay with registers.
        """
        needed = needed_cells(code, shape, window.samples, window.left)
        vectors = [lane * VECTOR + first for first in range(0, pitch, LANES * VECTOR)]
        for row in code.loop(0, rows):
            source_row = by_rule(code, window.rule, window.top + row, window.height)
            target, source = strip + row * pitch, window.row(source_row)
            copied, ghosts = (
                partial(copy_row, vectors, source, target),
                partial(fill_row, vectors, needed, target),
            )
            if window.has_ghosts:
                code.when(source_row >= 0, copied, ghosts)
            else:
                copied()

    def copy_row(vectors: list[Any], source: Any, target: Any) -> None:
        def by_vectors() -> None:
            for cell in vectors:
                code.copy_ahead(target + cell, source + window.left + cell, VECTOR, is_in_picture(cell))

        def by_cells() -> None:
            for cell in vectors:
                for _ in code.where(is_in_picture(cell)):
                    for k in range(VECTOR):
                        code.copy_ahead(target + cell, source + window.left + cell, 1, None, k, k)

        code.when(is_aligned, by_vectors, by_cells)
        for is_one, cell, sample in sides():
            for _ in code.where(code.all_of(is_one, code.is_below(lane, beside(shape)))):
                copy_cell(target + cell, source, sample)

    def fill_row(vectors: list[Any], needed: Any, target: Any) -> None:
        for cell in vectors:
            for _ in code.where(cell < needed):
                (target + cell).store([ghost_value] * VECTOR)

    def outside() -> None:
        code.when(code.all_of(is_aligned, window.has_rows(rows)), at_side, anywhere)

    code.when(code.all_of(is_aligned, window.is_inside(rows, pitch)), copy_vectors, outside)
