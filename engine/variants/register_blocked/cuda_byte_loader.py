"""The input tile of an 8-bit picture, kept as bytes in shared memory; emitted as LLVM IR.

Nothing is converted on its way, so a thread waits for no load: 16 samples at a time go straight to shared memory
(`cuda_async_copy.py`), and whoever reads them converts them (`cuda_byte_walk.py`).
"""

from typing import Any

from llvmlite import ir
from numba import types

from engine.device.numba_cuda import intrinsic
from engine.variants.ir.cuda_async_copy import close_group, copy_ahead
from engine.variants.ir.cuda_ir import (
    F32,
    I8,
    I32,
    I64,
    SHARED,
    constant,
    data_of,
    loop,
    moved,
    narrow,
    with_twin,
)
from engine.variants.ir.cuda_picture_window import PictureWindow, Rule, has_ghosts
from engine.variants.register_blocked.byte_tile_shape import PIECE, WORD, ByteTile


class ByteTileFill:
    """Emits the copies that fill a tile.

    A thread copies one piece of 16 samples a round, always in the same columns, so it divides once. In a tile that touches
    an edge, rows come from where the border's rule says, and the columns that no whole piece of the picture covers, few
    of them, are shared out cell by cell.

    Parameters
    ----------
    shape : ByteTile
    rule : callable of (int, int) -> int
    context, builder : Numba's
    kinds, arguments : of `load` below
    """

    def __init__(
        self,
        shape: ByteTile,
        rule: Rule,
        context: Any,
        builder: ir.IRBuilder,
        kinds: Any,
        arguments: Any,
    ) -> None:
        self._shape = shape
        self._builder = builder
        self._tile = data_of(context, builder, kinds[0], arguments[0], space=SHARED)
        self._window = PictureWindow(
            context, builder, rule, kinds[1], *(arguments[place] for place in (1, 2, 3, 6))
        )
        lane, warp = (narrow(builder, arguments[place]) for place in (4, 5))
        self._ghost_value = arguments[7]
        self._has_ghosts = has_ghosts(rule)
        self._thread = builder.add(builder.mul(warp, constant(32)), lane)
        pieces = shape.tile_samples // PIECE
        self._rows_of_round = shape.threads // pieces
        self._row = builder.udiv(self._thread, constant(pieces))
        piece = builder.sub(self._thread, builder.mul(self._row, constant(pieces)))
        self._column = builder.mul(piece, constant(PIECE))
        self._has_piece = builder.icmp_unsigned("<", self._row, constant(self._rows_of_round))

    def emit(self) -> None:
        """Emit all of it."""
        builder, shape = self._builder, self._shape
        is_aligned = self._window.is_aligned(PIECE)
        is_inside = self._window.is_inside(shape.tile_rows, shape.tile_samples)
        with builder.if_else(builder.and_(is_aligned, is_inside)) as (then, otherwise):
            with then, builder.if_then(self._has_piece):
                self._inside()
            with otherwise:
                self._anywhere(is_aligned)
        close_group(builder)

    def _target(self, row: ir.Value, column: ir.Value) -> ir.Value:
        above = self._builder.mul(row, constant(self._shape.tile_samples))
        return moved(self._builder, self._tile, self._builder.add(above, column))

    def _copy_piece(
        self, target: ir.Value, source: ir.Value, only_if: ir.Value | None = None, target_at: int = 0
    ) -> None:
        """Copy a piece; 4 samples are as many bytes as a float32."""
        builder = self._builder
        target, source = (
            builder.bitcast(pointer, F32.as_pointer(pointer.type.addrspace)) for pointer in (target, source)
        )
        copy_ahead(builder, target, source, PIECE // WORD, only_if, target_at // WORD)

    def _inside(self) -> None:
        """All rounds but the last have all their rows; a place in the picture is one multiply-add of 64 bits."""
        builder, shape, at_once = self._builder, self._shape, self._rows_of_round
        target = self._target(self._row, self._column)
        sample = builder.add(self._window.left, self._column)
        pointer = self._window.at(builder.add(self._window.top, self._row), sample)
        pitch = builder.zext(self._window.pitch, I64)
        for first in range(0, shape.tile_rows, at_once):
            is_row = None
            if first + at_once > shape.tile_rows:
                is_row = builder.icmp_unsigned("<", self._row, constant(shape.tile_rows - first))
            source = moved(builder, pointer, builder.mul(pitch, constant(first, I64)))
            self._copy_piece(target, source, is_row, first * shape.tile_samples)

    def _anywhere(self, is_aligned: ir.Value) -> None:
        """Loops that stay loops: few tiles touch an edge."""
        builder = self._builder
        ghost = builder.fptoui(self._ghost_value, I8)
        first = builder.add(self._window.left, self._column)
        last = builder.add(first, constant(PIECE))
        is_whole = builder.and_(
            builder.icmp_signed(">=", first, constant(0)),
            builder.icmp_signed("<=", last, self._window.samples),
        )
        is_copied = builder.and_(builder.and_(is_aligned, is_whole), self._has_piece)
        with (
            builder.if_then(is_copied),
            loop(builder, self._row, constant(self._shape.tile_rows), self._rows_of_round) as row,
        ):
            source_row, target = self._window.row_of(row), self._target(row, self._column)
            if self._has_ghosts:
                is_row = builder.icmp_signed(">=", source_row, constant(0))
                with builder.if_else(is_row) as (copied, ghosts):
                    with copied:
                        self._copy_piece(target, self._window.at(source_row, first))
                    with ghosts:
                        self._store_ghosts(target, ghost)
            else:
                self._copy_piece(target, self._window.at(source_row, first))
        self._cells(is_aligned, ghost)

    def _store_ghosts(self, target: ir.Value, ghost: ir.Value) -> None:
        builder, words = self._builder, ir.VectorType(I32, PIECE // WORD)
        word = builder.mul(builder.zext(ghost, I32), constant(0x01010101))
        vector = ir.Constant(words, ir.Undefined)
        for place in range(PIECE // WORD):
            vector = builder.insert_element(vector, word, constant(place))
        builder.store(vector, builder.bitcast(target, words.as_pointer(SHARED)), align=PIECE)

    def _cells(self, is_aligned: ir.Value, ghost: ir.Value) -> None:
        """Fill the cells that are read and that no piece covers: columns begin .. stop - 1 and end .. limit - 1.

        With one way to the store the compiler has several cells under way, which pays where a thread has several: ghost cells
        are loaded from somewhere in the picture, and replaced (256 x 256 RGB, 7 x 7: 4.7 instead of 5.8 us with zeros, 4.8
        instead of 7.0 mirrored). Of one channel there are few (5 x 5: 3.7 instead of 3.3 us).
        """
        builder, shape = self._builder, self._shape
        begin = constant(shape.before - shape.left)
        starts_before = builder.and_(is_aligned, builder.icmp_signed("<", self._window.left, constant(0)))
        stop = builder.select(starts_before, constant(shape.before), begin)
        whole = builder.and_(self._window.samples, constant(-PIECE))
        end = self._at_most(builder.sub(whole, self._window.left), constant(shape.tile_samples))
        end = builder.select(is_aligned, self._at_least(end, stop), begin)
        # Past it lies what no result of the picture reads.
        read = builder.sub(builder.add(self._window.samples, constant(shape.right)), self._window.left)
        limit = self._at_least(self._at_most(read, constant(shape.tile_samples)), end)
        before = builder.sub(stop, begin)
        cells = builder.add(before, builder.sub(limit, end))
        with loop(
            builder, self._thread, builder.mul(cells, constant(shape.tile_rows)), shape.threads
        ) as number:
            row = builder.udiv(number, cells)
            cell = builder.sub(number, builder.mul(row, cells))
            past = builder.add(builder.sub(cell, before), end)
            is_before = builder.icmp_signed("<", cell, before)
            column = builder.select(is_before, builder.add(begin, cell), past)
            source_row = self._window.row_of(row)
            sample = self._window.sample_of(
                builder.add(self._window.left, column), shape.channels, shape.before
            )
            target = self._target(row, column)
            place = source_row, sample
            if shape.channels == 1:
                self._cell_or_ghost(target, *place, ghost)
            elif self._has_ghosts:
                is_cell = builder.icmp_signed(">=", builder.or_(*place), constant(0))
                own = [builder.select(is_cell, number, constant(0)) for number in place]
                value = builder.load(self._window.at(*own))
                builder.store(builder.select(is_cell, value, ghost), target)
            else:
                builder.store(builder.load(self._window.at(*place)), target)

    def _cell_or_ghost(
        self, target: ir.Value, source_row: ir.Value, sample: ir.Value, ghost: ir.Value
    ) -> None:
        builder = self._builder
        is_cell = builder.icmp_signed(">=", builder.or_(source_row, sample), constant(0))
        with builder.if_else(is_cell) as (copied, ghosts):
            with copied:
                builder.store(builder.load(self._window.at(source_row, sample)), target)
            with ghosts:
                builder.store(ghost, target)

    def _at_most(self, value: ir.Value, most: ir.Value) -> ir.Value:
        return self._builder.select(self._builder.icmp_signed("<", value, most), value, most)

    def _at_least(self, value: ir.Value, least: ir.Value) -> ir.Value:
        return self._builder.select(self._builder.icmp_signed(">", value, least), value, least)


def byte_tile_loader(shape: ByteTile, rule: Rule) -> Any:
    """Return the function that fills the input tile.

    `load(tile, image, samples, top, lane, warp, left, ghost_value)`: row j of the tile is row top + j of the picture, from
    sample `left` (a multiple of 16) on; a row of the picture has `samples` samples. Cells outside the picture get the value that
    the border's rule has for them; `ghost_value` is a whole number from 0 to 255. Cells that no result reads may stay what they were.

    Parameters
    ----------
    shape : ByteTile
    rule : callable of (int, int) -> int
        The border's index rule, -1 for a ghost cell.
    """
    pieces = shape.tile_samples // PIECE
    rows_of_round = shape.threads // pieces

    @intrinsic
    def load(typingctx, tile, image, samples, top, lane, warp, left, ghost_value):
        signature = types.void(tile, image, samples, top, lane, warp, left, ghost_value)

        def codegen(context, builder, signature, arguments):
            ByteTileFill(shape, rule, context, builder, signature.args, arguments).emit()
            return context.get_dummy_value()

        return signature, codegen

    def twin(
        tile: Any,
        image: Any,
        samples: int,
        top: int,
        lane: int,
        warp: int,
        left: int,
        ghost_value: Any,
    ) -> None:
        height, width = image.shape[0], samples // shape.channels
        row_of_round, piece = divmod(warp * 32 + lane, pieces)
        if row_of_round >= rows_of_round:
            return
        for row in range(row_of_round, shape.tile_rows, rows_of_round):
            source_row = rule(top + row, height)
            for cell in range(piece * PIECE, (piece + 1) * PIECE):
                column, channel = divmod(left + cell, shape.channels)
                source_column = rule(column, width)
                value = ghost_value
                if source_row >= 0 and source_column >= 0:
                    value = image[source_row, source_column, channel]
                tile[row * shape.tile_samples + cell] = value

    return with_twin(load, twin)
