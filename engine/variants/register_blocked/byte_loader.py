"""The input tile of an 8-bit picture, kept as bytes in shared memory.

Nothing is converted on its way, so a thread waits for no load: 16 samples at a time go straight to shared
memory (`CudaCode.copy_ahead`), and they are converted when they are read (`accumulator.py`).
"""

from dataclasses import dataclass
from typing import Any

from numba import types

from engine.variants.ir.device_function import device_function
from engine.variants.ir.picture_window import PictureWindow, Rule
from engine.variants.register_blocked.byte_tile_shape import PIECE


@dataclass
class ByteTileFill:
    """Fills a tile; the fields are those of `byte_tile_loader`.

    A thread copies one piece of 16 samples per round, always in the same columns, so it divides once. In a
    tile that touches an edge, rows come from where the border's rule says, and the columns that no whole
    piece of the picture covers, few of them, are shared out cell by cell.
    """

    code: Any
    shape: Any
    tile: Any
    window: PictureWindow
    thread: Any
    ghost_value: Any

    def __post_init__(self) -> None:
        pieces = self.shape.tile_samples // PIECE
        self.rows_of_round = self.shape.threads // pieces
        self.row, piece = divmod(self.thread, pieces)
        self.column = piece * PIECE
        self.has_piece = self.code.is_below(self.row, self.rows_of_round)

    def fill(self) -> None:
        """Do all of it."""
        code, shape = self.code, self.shape
        is_aligned = self.window.is_aligned(PIECE)
        is_inside = self.window.is_inside(shape.tile_rows, shape.tile_samples)

        def inside() -> None:
            for _ in code.where(self.has_piece):
                self._inside()

        code.when(code.all_of(is_aligned, is_inside), inside, lambda: self._anywhere(is_aligned))
        code.close_group()

    def _target(self, row: Any, column: Any) -> Any:
        return self.tile + (row * self.shape.tile_samples + column)

    def _inside(self) -> None:
        """All rounds but the last have all their rows; each pointer is one multiply-add of 64 bits."""
        code, shape, at_once = self.code, self.shape, self.rows_of_round
        target = self._target(self.row, self.column)
        sample = self.window.left + self.column
        pointer = self.window.at(self.window.top + self.row, sample)
        pitch = code.unsigned(self.window.pitch)
        for first in range(0, shape.tile_rows, at_once):
            is_last = first + at_once > shape.tile_rows
            is_row = code.is_below(self.row, shape.tile_rows - first) if is_last else None
            code.copy_ahead(target, pointer + pitch * first, PIECE, is_row, first * shape.tile_samples)

    def _anywhere(self, is_aligned: Any) -> None:
        """Loops that stay loops: few tiles touch an edge."""
        code, window = self.code, self.window
        ghost, first = code.byte(self.ghost_value), window.left + self.column
        last = first + PIECE
        is_whole = code.all_of(first >= 0, last <= window.samples)
        for _ in code.where(code.all_of(is_aligned, is_whole, self.has_piece)):
            for row in code.loop(self.row, self.shape.tile_rows, self.rows_of_round):
                self._piece_anywhere(window.row_of(row), self._target(row, self.column), first, ghost)
        self._cells(is_aligned, ghost)

    def _piece_anywhere(self, source_row: Any, target: Any, first: Any, ghost: Any) -> None:
        code = self.code

        def copied() -> None:
            code.copy_ahead(target, self.window.at(source_row, first), PIECE)

        if self.window.has_ghosts:
            code.when(source_row >= 0, copied, lambda: code.store_bytes(target, ghost, PIECE))
        else:
            copied()

    def _cells(self, is_aligned: Any, ghost: Any) -> None:
        """Fill the cells that results read and no piece covers: begin .. stop - 1 and end .. limit - 1."""
        code, shape, window = self.code, self.shape, self.window
        begin, cells = shape.before - shape.left, shape.tile_samples
        stop = code.select(code.all_of(is_aligned, window.left < 0), shape.before, code.integer(begin))
        whole = window.samples & -PIECE
        end = code.smaller(whole - window.left, cells)
        end = code.select(is_aligned, code.larger(end, stop), begin)
        # Past it lies what no result of the picture reads.
        limit = code.larger(code.smaller(window.samples + shape.right - window.left, cells), end)
        before = stop - begin
        count = before + (limit - end)
        for number in code.loop(self.thread, count * shape.tile_rows, shape.threads):
            row, cell = divmod(number, count)
            column = code.select(cell < before, cell + begin, cell - before + end)
            source_row = window.row_of(row)
            sample = window.sample_of(window.left + column, shape.channels, shape.before)
            self._cell(self._target(row, column), source_row, sample, ghost)

    def _cell(self, target: Any, source_row: Any, sample: Any, ghost: Any) -> None:
        """Fill a cell: with one way to the store the compiler has several under way.

        That pays where a thread has several (256 x 256 RGB, 7 x 7: 4.7 instead of 5.8 us with zeros, 4.8
        instead of 7.0 mirrored): ghost cells are loaded from somewhere in the picture, and replaced. Of one
        channel there are few (5 x 5: 3.7 instead of 3.3 us).
        """
        code, window = self.code, self.window
        is_cell = source_row | sample >= 0
        if self.shape.channels == 1:
            code.when(
                is_cell,
                lambda: target.store(window.at(source_row, sample).load()),
                lambda: target.store(ghost),
            )
        elif window.has_ghosts:
            own = window.at(code.select(is_cell, source_row, 0), code.select(is_cell, sample, 0))
            target.store(code.select(is_cell, code.load_if(is_cell, own), ghost))
        else:
            target.store(window.at(source_row, sample).load())


def byte_tile_loader(shape: Any, rule: Rule) -> Any:
    """Return the function that fills the input tile.

    `load(tile, image, samples, top, lane, warp, left, ghost_value)`: row j of the tile is row top + j of the
    picture, from sample `left` (a multiple of 16) on; a row of the picture has `samples` samples. Cells
    outside the picture get the value that the border's rule has for them; `ghost_value` is a whole number
    from 0 to 255. Cells that no result reads may stay what they were.

    Parameters
    ----------
    shape : ByteTileShape, or another shape with the properties that are asked for here
    rule : callable of (int, int) -> int
        The border's index rule, -1 for a ghost cell.
    """

    def load(code, tile, image, samples, top, lane, warp, left, ghost_value):
        window = PictureWindow(code, rule, image, samples, top, left)
        thread = code.narrow(warp) * 32 + code.narrow(lane)
        ByteTileFill(code, shape, code.shared(tile), window, thread, ghost_value).fill()

    return device_function(types.void, load)
