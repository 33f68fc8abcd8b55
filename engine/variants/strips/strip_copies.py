"""The copies of float32 rows of a warp's strip that lies in the picture or across its left or right edge.

All vectors in the picture are copied as such, and the cells beside the picture are shared out among the
lanes. `strip_loader.py` has the case of any other rows.
"""

from typing import Any

from engine.variants.ir.picture_window import PictureWindow
from engine.variants.ir.register_tile import VECTOR, TileShape
from engine.variants.strips.strip_shape import LANES


def shares_out(shape: TileShape) -> bool:
    """Return whether the lanes share out the cells beside the picture: few cells, of one channel.

    `low-rank-2` on 4096 x 4096 float32: 15 x 15 85 -> 64 us, 31 x 31 183 -> 187, on three channels 31 x 31
    555 -> 648 (H200).
    """
    return shape.channels == 1 and shape.before <= 12


def beside(shape: TileShape) -> int:
    """Return the most cells of a row on one side of the picture that lanes copy without taking turns."""
    after = shape.tile_samples - shape.out_samples - shape.before
    return 4 if max(shape.before, after) <= 4 else 8


def edges_of(code: Any, shape: TileShape, samples: Any, left: Any) -> tuple[Any, Any]:
    """Return the first cell of a strip's row in the picture, and the one after its last vector there."""

    def within(value: Any) -> Any:
        value = code.select(value < 0, 0, value)
        return code.select(value > shape.tile_samples, shape.tile_samples, value)

    end = within(samples - left) & -VECTOR
    return within(0 - left), end


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
    """Copy the cells before the first one of `edges` and from the other one on, of all rows, to the strip.

    `own_samples` are those of the lane's cells beside the picture (`strip_columns`).
    """
    (first, end), cells, count = edges, shape.tile_samples, beside(shape)
    most = count if rows * count <= LANES else 0

    def one_each() -> None:
        row = lane // count
        is_row = code.is_below(row, rows)
        left, right = cells_beside(shape, lane, edges)
        sides = ((left >= 0, left), (right < cells, right))
        for (is_one, cell), sample in zip(sides, own_samples, strict=True):
            for _ in code.where(code.all_of(is_one, is_row)):
                copy_cell(row, cell, sample)

    def in_turns() -> None:
        share_out(code.integer(0), first)
        share_out(end, cells)

    def share_out(first: Any, end: Any) -> None:
        """Copy the cells from `first` to before `end` of each row, each lane the next one that none has.

        There are as many turns in a row as the next power of two has, so that a shift finds the row.
        """
        count = end - first
        for _ in code.where(count > 0):
            bits = code.bit_length(count - 1)
            turns, mask = rows << bits, (1 << bits) - 1
            for turn in code.loop(lane, turns, LANES):
                row, cell = turn >> bits, turn & mask
                for _ in code.where(cell < count):
                    column = window.left + (first + cell)
                    sample = window.sample_of(column, shape.channels, shape.before)
                    copy_cell(row, first + cell, sample)

    def copy_cell(row: Any, cell: Any, sample: Any) -> None:
        """Copy a cell left or right of the picture, or at its edge; its row is one of the picture's."""
        target = strip + (row * cells + cell)
        source = window.row(window.top + row) + sample

        def copied() -> None:
            code.copy_ahead(target, source, 1)

        if window.has_ghosts:
            code.when(sample >= 0, copied, lambda: target.store(ghost_value))
        else:
            copied()

    code.when(code.all_of(first <= most, cells - end <= most), one_each, in_turns)
