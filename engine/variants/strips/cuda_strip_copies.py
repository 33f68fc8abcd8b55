"""The copies of float32 rows of a warp's strip where it lies in the picture or across its left or right edge; emitted as LLVM IR.

All vectors in the picture are copied as in `cuda_strip_loader.py`, which has the case of any other rows too; the cells beside the picture are
shared out among the lanes.
"""

from llvmlite import ir

from engine.variants.ir.cuda_async_copy import copy_ahead
from engine.variants.ir.cuda_ir import I64, constant, loop, moved
from engine.variants.ir.cuda_picture_window import PictureWindow
from engine.variants.ir.register_tile import VECTOR, TileShape
from engine.variants.strips.march_shape import LANES


def shares_out(shape: TileShape) -> bool:
    """Return whether the lanes share out the cells of strips at an edge; with more of them, or more channels, it takes too much.

    `low-rank-2` on 4096 x 4096 float32: 15 x 15 85 -> 64 us, 31 x 31 183 -> 187, on three channels 31 x 31 555 -> 648 (H200).
    """
    return shape.channels == 1 and shape.before <= 12


def beside(shape: TileShape) -> int:
    """Return how many cells of a row on one side of the picture a lane each copies; where there are more the lanes take turns."""
    after = shape.tile_samples - shape.out_samples - shape.before
    return 4 if max(shape.before, after) <= 4 else 8


def edges_of(
    shape: TileShape, builder: ir.IRBuilder, samples: ir.Value, left: ir.Value
) -> tuple[ir.Value, ir.Value]:
    """Return the first cell of a strip's row in the picture, and the one after its last whole vector there."""

    def within(value: ir.Value) -> ir.Value:
        for sign, limit in (("<", constant(0)), (">", constant(shape.tile_samples))):
            value = builder.select(builder.icmp_signed(sign, value, limit), limit, value)
        return value

    end = builder.and_(within(builder.sub(samples, left)), constant(-VECTOR))
    return within(builder.sub(constant(0), left)), end


def cells_beside(
    shape: TileShape, builder: ir.IRBuilder, lane: ir.Value, edges: tuple[ir.Value, ir.Value]
) -> tuple[ir.Value, ir.Value]:
    """Return a lane's cell among the last ones before the first cell in the picture, and among the first after the last vector."""
    own = builder.and_(lane, constant(beside(shape) - 1))
    first, end = edges
    return builder.add(builder.sub(first, constant(beside(shape))), own), builder.add(end, own)


class StripCopies:
    """Emits them, for rows that are the picture's and aligned.

    Parameters
    ----------
    shape : TileShape
    rows : int
    builder : IRBuilder
    window : PictureWindow
    strip : pointer
        To the first cell that is filled.
    lane : int32 value
    samples : list of int32 values
        The samples of the lane's cells beside the picture (`cells_beside`).
    ghost_value : float32 value
    """

    def __init__(
        self,
        shape: TileShape,
        rows: int,
        builder: ir.IRBuilder,
        window: PictureWindow,
        strip: ir.Value,
        lane: ir.Value,
        samples: list[ir.Value],
        ghost_value: ir.Value,
    ) -> None:
        self._shape, self._rows, self._builder, self._window = shape, rows, builder, window
        self._strip, self._lane, self._samples, self._ghost_value = strip, lane, samples, ghost_value

    def beside(self, first: ir.Value, end: ir.Value) -> None:
        """Copy the cells before cell `first` and from cell `end` on, of all rows."""
        builder, cells = self._builder, constant(self._shape.tile_samples)
        count = beside(self._shape)
        most = constant(count if self._rows * count <= LANES else 0)
        are_few = builder.and_(
            builder.icmp_signed("<=", first, most),
            builder.icmp_signed("<=", builder.sub(cells, end), most),
        )
        with builder.if_else(are_few) as (then, otherwise):
            with then:
                row = builder.udiv(self._lane, constant(count))
                is_row = builder.icmp_unsigned("<", row, constant(self._rows))
                left, right = cells_beside(self._shape, builder, self._lane, (first, end))
                is_left = builder.icmp_signed(">=", left, constant(0))
                is_right = builder.icmp_signed("<", right, cells)
                for is_one, cell, sample in zip(
                    (is_left, is_right), (left, right), self._samples, strict=True
                ):
                    with builder.if_then(builder.and_(is_one, is_row)):
                        self._copy_beside(row, cell, sample)
            with otherwise:
                self._shared_out(constant(0), first)
                self._shared_out(end, cells)

    def vectors(self, within: tuple[ir.Value, ir.Value] | None = None) -> None:
        """Copy each row's vectors, or those from a cell on to before another; what rows have past a warp's vectors together."""
        builder, pitch = self._builder, self._shape.tile_samples
        start = moved(builder, self._window.row(self._window.top), self._window.left)
        jump = builder.zext(self._window.pitch, I64)

        def is_within(cell: ir.Value) -> ir.Value | None:
            if within is None:
                return None
            first, end = within
            return builder.and_(builder.icmp_signed(">=", cell, first), builder.icmp_signed("<", cell, end))

        own = builder.mul(self._lane, constant(VECTOR))
        whole, rest = divmod(pitch // VECTOR, LANES)
        source = start
        for row in range(self._rows):
            for number in range(whole):
                cell = builder.add(own, constant(LANES * VECTOR * number))
                target = moved(builder, self._strip, cell)
                copy_ahead(
                    builder, target, moved(builder, source, cell), VECTOR, is_within(cell), row * pitch
                )
            source = moved(builder, source, jump)
        for begin in range(0, self._rows * rest, LANES):
            turn = builder.add(self._lane, constant(begin))
            line = builder.udiv(turn, constant(rest))
            past = builder.sub(turn, builder.mul(line, constant(rest)))
            cell = builder.add(builder.mul(past, constant(VECTOR)), constant(LANES * VECTOR * whole))
            target = moved(builder, self._strip, builder.add(builder.mul(line, constant(pitch)), cell))
            at = builder.add(builder.mul(builder.zext(line, I64), jump), builder.zext(cell, I64))
            is_one = builder.icmp_unsigned("<", turn, constant(self._rows * rest))
            is_there = is_within(cell)
            is_one = is_one if is_there is None else builder.and_(is_one, is_there)
            copy_ahead(builder, target, moved(builder, start, at), VECTOR, is_one)

    def _shared_out(self, first: ir.Value, end: ir.Value) -> None:
        """Copy the cells from `first` to before `end` of each row, one by one: each lane the next one that none has.

        There are as many turns in a row as the next power of two has, so that a shift finds the row.
        """
        builder = self._builder
        count = builder.sub(end, first)
        with builder.if_then(builder.icmp_signed(">", count, constant(0))):
            zeros = builder.ctlz(builder.sub(count, constant(1)), ir.Constant(ir.IntType(1), 0))
            bits = builder.sub(constant(32), zeros)
            turns = builder.shl(constant(self._rows), bits)
            mask = builder.sub(builder.shl(constant(1), bits), constant(1))
            with loop(builder, self._lane, turns, LANES) as turn:
                row, cell = builder.lshr(turn, bits), builder.and_(turn, mask)
                with builder.if_then(builder.icmp_signed("<", cell, count)):
                    self._cell_beside(row, builder.add(first, cell))

    def _cell_beside(self, row: ir.Value, cell: ir.Value) -> None:
        """Copy a cell that lies left or right of the picture, or at its edge; its row is one of the picture's."""
        at = self._builder.add(self._window.left, cell)
        sample = self._window.sample_of(at, self._shape.channels, self._shape.before)
        self._copy_beside(row, cell, sample)

    def _copy_beside(self, row: ir.Value, cell: ir.Value, sample: ir.Value) -> None:
        builder = self._builder
        at = builder.add(builder.mul(row, constant(self._shape.tile_samples)), cell)
        target = moved(builder, self._strip, at)
        source = moved(builder, self._window.row(builder.add(self._window.top, row)), sample)
        if not self._window.has_ghosts:
            copy_ahead(builder, target, source, 1)
            return
        with builder.if_else(builder.icmp_signed(">=", sample, constant(0))) as (is_cell, is_ghost):
            with is_cell:
                copy_ahead(builder, target, source, 1)
            with is_ghost:
                builder.store(self._ghost_value, target)
