"""The copies of float32 rows of a warp's strip where it lies in the picture or across its left or right edge.

All vectors in the picture are copied as in `strip_loader.py`, which has the case of any other rows too; the cells beside the picture are
shared out among the lanes.
"""

from typing import Any

from engine.variants.ir.picture_window import PictureWindow
from engine.variants.ir.register_tile import VECTOR, TileShape
from engine.variants.strips.strip_shape import LANES


def shares_out(shape: TileShape) -> bool:
    """Return whether the lanes share out the cells of strips at an edge; with more of them, or more channels, it takes too much.

    `low-rank-2` on 4096 x 4096 float32: 15 x 15 85 -> 64 us, 31 x 31 183 -> 187, on three channels 31 x 31 555 -> 648 (H200).
    """
    return shape.channels == 1 and shape.before <= 12


def beside(shape: TileShape) -> int:
    """Return how many cells of a row on one side of the picture a lane each copies; where there are more the lanes take turns."""
    after = shape.tile_samples - shape.out_samples - shape.before
    return 4 if max(shape.before, after) <= 4 else 8


def edges_of(code: Any, shape: TileShape, samples: Any, left: Any) -> tuple[Any, Any]:
    """Return the first cell of a strip's row in the picture, and the one after its last whole vector there."""

    def within(value: Any) -> Any:
        value = code.select(value < 0, 0, value)
        return code.select(value > shape.tile_samples, shape.tile_samples, value)

    end = within(samples - left) & -VECTOR
    return within(0 - left), end


def cells_beside(shape: TileShape, lane: Any, edges: tuple[Any, Any]) -> tuple[Any, Any]:
    """Return a lane's cell among the last ones before the first cell in the picture, and among the first after the last vector."""
    own, (first, end) = lane & (beside(shape) - 1), edges
    return first - beside(shape) + own, end + own


class StripCopies:
    """Copies rows that are the picture's and aligned.

    Parameters
    ----------
    code : CudaCode or PlainCode
    shape : TileShape
    rows : int
    window : PictureWindow
    strip : pointer
        To the first cell that is filled.
    lane : int
    samples : list of int
        The samples of the lane's cells beside the picture (`cells_beside`).
    ghost_value : float32
    """

    def __init__(
        self,
        code: Any,
        shape: TileShape,
        rows: int,
        window: PictureWindow,
        strip: Any,
        lane: Any,
        samples: list[Any],
        ghost_value: Any,
    ) -> None:
        self._code, self._shape, self._rows, self._window = code, shape, rows, window
        self._strip, self._lane, self._samples, self._ghost_value = strip, lane, samples, ghost_value

    def beside(self, first: Any, end: Any) -> None:
        """Copy the cells before cell `first` and from cell `end` on, of all rows."""
        code, cells = self._code, self._shape.tile_samples
        count = beside(self._shape)
        most = count if self._rows * count <= LANES else 0

        def one_each() -> None:
            row = self._lane // count
            is_row = code.is_below(row, self._rows)
            left, right = cells_beside(self._shape, self._lane, (first, end))
            sides = ((left >= 0, left), (right < cells, right))
            for (is_one, cell), sample in zip(sides, self._samples, strict=True):
                for _ in code.where(code.all_of(is_one, is_row)):
                    self._copy_beside(row, cell, sample)

        def in_turns() -> None:
            self._shared_out(code.integer(0), first)
            self._shared_out(end, cells)

        code.when(code.all_of(first <= most, cells - end <= most), one_each, in_turns)

    def vectors(self, within: tuple[Any, Any] | None = None) -> None:
        """Copy each row's vectors, or those from a cell on to before another; what rows have past a warp's vectors together."""
        code, pitch = self._code, self._shape.tile_samples
        start = self._window.row(self._window.top) + self._window.left
        jump = code.unsigned(self._window.pitch)

        def is_within(cell: Any) -> Any:
            if within is None:
                return None
            first, end = within
            return code.all_of(cell >= first, cell < end)

        own = self._lane * VECTOR
        whole, rest = divmod(pitch // VECTOR, LANES)
        source = start
        for row in range(self._rows):
            for number in range(whole):
                cell = own + LANES * VECTOR * number
                target = self._strip + cell
                code.copy_ahead(target, source + cell, VECTOR, is_within(cell), row * pitch)
            source += jump
        for begin in range(0, self._rows * rest, LANES):
            turn = self._lane + begin
            line, past = divmod(turn, rest)
            cell = past * VECTOR + LANES * VECTOR * whole
            target = self._strip + (line * pitch + cell)
            at = code.unsigned(line) * jump + code.unsigned(cell)
            is_one, is_there = code.is_below(turn, self._rows * rest), is_within(cell)
            is_one = is_one if is_there is None else code.all_of(is_one, is_there)
            code.copy_ahead(target, start + at, VECTOR, is_one)

    def _shared_out(self, first: Any, end: Any) -> None:
        """Copy the cells from `first` to before `end` of each row, one by one: each lane the next one that none has.

        There are as many turns in a row as the next power of two has, so that a shift finds the row.
        """
        code, count = self._code, end - first
        for _ in code.where(count > 0):
            bits = code.bit_length(count - 1)
            turns, mask = self._rows << bits, (1 << bits) - 1
            for turn in code.loop(self._lane, turns, LANES):
                row, cell = turn >> bits, turn & mask
                for _ in code.where(cell < count):
                    self._cell_beside(row, first + cell)

    def _cell_beside(self, row: Any, cell: Any) -> None:
        """Copy a cell that lies left or right of the picture, or at its edge; its row is one of the picture's."""
        sample = self._window.sample_of(self._window.left + cell, self._shape.channels, self._shape.before)
        self._copy_beside(row, cell, sample)

    def _copy_beside(self, row: Any, cell: Any, sample: Any) -> None:
        code, window = self._code, self._window
        target = self._strip + (row * self._shape.tile_samples + cell)
        source = window.row(window.top + row) + sample

        def copied() -> None:
            code.copy_ahead(target, source, 1)

        if window.has_ghosts:
            code.when(sample >= 0, copied, lambda: target.store(self._ghost_value))
        else:
            copied()
