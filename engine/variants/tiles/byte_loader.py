"""The input tile of an 8-bit picture, kept as bytes in shared memory.

Nothing is converted on its way, so a thread waits for no load: 16 samples at a time go straight to shared
memory (`CudaCode.copy_ahead`), and they are converted when they are read (`accumulator.py`).
"""

from typing import Any

from numba import types

from engine.variants.ir.device_function import DeviceFunction, device_function
from engine.variants.ir.picture_window import PictureWindow, Rule
from engine.variants.tiles.byte_tile_shape import PIECE


def byte_tile_loader(shape: Any, rule: Rule) -> DeviceFunction:
    """Return the function that fills the input tile.

    `load(tile, image, samples, top, lane, warp, left, ghost_value)`: row j of the tile is row top + j of the
    picture, from sample `left` (a multiple of 16) on; a row of the picture has `samples` samples. Cells
    outside the picture get the value that the border's rule has for them; `ghost_value` is a whole number
    from 0 to 255. Cells that no result reads may stay what they were. In a tile that touches an edge, rows
    come from where the border's rule says, and the columns that no whole piece of the picture covers, few of
    them, are shared out cell by cell.

    Parameters
    ----------
    shape : ByteTileShape, or another one with the properties that are asked for here
    rule : callable of (int, int) -> int
        The border's index rule, -1 for a ghost cell.
    """
    pieces, cells = shape.tile_samples // PIECE, shape.tile_samples
    rows_of_round = shape.threads // pieces

    def load(code, tile, image, samples, top, lane, warp, left, ghost_value):
        window = PictureWindow(code, rule, image, samples, top, left)
        thread, tile = code.narrow(warp) * 32 + code.narrow(lane), code.shared(tile)
        # A thread copies one piece per round, always in the same columns, so it divides once.
        own_row, piece = divmod(thread, pieces)
        own_column = piece * PIECE
        has_piece = code.is_below(own_row, rows_of_round)

        def target_of(row, column):
            return tile + (row * cells + column)

        def inside():
            """All rounds but the last have all their rows; each pointer is one multiply-add of 64 bits."""
            for _ in code.where(has_piece):
                target = target_of(own_row, own_column)
                sample = window.left + own_column
                pointer = window.at(window.top + own_row, sample)
                pitch = code.unsigned(window.pitch)
                for first in range(0, shape.tile_rows, rows_of_round):
                    is_last = first + rows_of_round > shape.tile_rows
                    is_row = code.is_below(own_row, shape.tile_rows - first) if is_last else None
                    code.copy_ahead(target, pointer + pitch * first, PIECE, is_row, first * cells)

        def anywhere():
            """Loops that stay loops: few tiles touch an edge."""
            ghost, first = code.byte(ghost_value), window.left + own_column
            last = first + PIECE
            is_whole = code.all_of(first >= 0, last <= window.samples)
            for _ in code.where(code.all_of(is_aligned, is_whole, has_piece)):
                for row in code.loop(own_row, shape.tile_rows, rows_of_round):
                    fill_piece(window.row_of(row), target_of(row, own_column), first, ghost)
            fill_cells(ghost)

        def fill_piece(source_row, target, first, ghost):
            def copied():
                code.copy_ahead(target, window.at(source_row, first), PIECE)

            if window.has_ghosts:
                code.when(source_row >= 0, copied, lambda: code.store_bytes(target, ghost, PIECE))
            else:
                copied()

        def fill_cells(ghost):
            """Fill the cells that results read and no piece covers: begin .. stop - 1, end .. limit - 1."""
            begin = shape.before - shape.left
            stop = code.select(code.all_of(is_aligned, window.left < 0), shape.before, code.integer(begin))
            whole = window.samples & -PIECE
            end = code.smaller(whole - window.left, cells)
            end = code.select(is_aligned, code.larger(end, stop), begin)
            # Past it lies what no result of the picture reads.
            limit = code.larger(code.smaller(window.samples + shape.right - window.left, cells), end)
            before = stop - begin
            count = before + (limit - end)
            for number in code.loop(thread, count * shape.tile_rows, shape.threads):
                row, cell = divmod(number, count)
                column = code.select(cell < before, cell + begin, cell - before + end)
                source_row = window.row_of(row)
                sample = window.sample_of(window.left + column, shape.channels, shape.before)
                fill_cell(target_of(row, column), source_row, sample, ghost)

        def fill_cell(target, source_row, sample, ghost):
            """Fill a cell: with one way to the store the compiler has several under way.

            That pays where a thread has several (256 x 256 RGB, 7 x 7: 4.7 instead of 5.8 us with zeros, 4.8
            instead of 7.0 mirrored): ghost cells are loaded from somewhere in the picture, and replaced. Of
            one channel there are few (5 x 5: 3.7 instead of 3.3 us).
            """
            is_cell = source_row | sample >= 0

            def copied():
                target.store(window.at(source_row, sample).load())

            if shape.channels == 1:
                code.when(is_cell, copied, lambda: target.store(ghost))
            elif window.has_ghosts:
                own = window.at(code.select(is_cell, source_row, 0), code.select(is_cell, sample, 0))
                target.store(code.select(is_cell, code.load_if(is_cell, own), ghost))
            else:
                copied()

        is_aligned = window.is_aligned(PIECE)
        is_inside = window.is_inside(shape.tile_rows, cells)
        code.when(code.all_of(is_aligned, is_inside), inside, anywhere)
        code.close_group()

    return device_function(types.void, load)
