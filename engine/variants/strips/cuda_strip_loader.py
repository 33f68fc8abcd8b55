"""Rows of a warp's strip, loaded by vectors; emitted as LLVM IR.

As `cuda_tile_loader.py`, for one warp that comes back for more rows of the same columns again and again: which samples the
cells outside the picture stand for is found out once.
"""

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from llvmlite import ir
from numba import types

from engine.device.numba_cuda import intrinsic
from engine.variants.ir.cuda_async_copy import close_group, copy_ahead
from engine.variants.ir.cuda_ir import (
    F32,
    I32,
    I64,
    SHARED,
    constant,
    data_of,
    load_vector,
    load_vector_or_cells,
    loop,
    moved,
    narrow,
    store_vector,
    wide,
    with_twin,
)
from engine.variants.ir.cuda_picture_window import PictureWindow, Rule, has_ghosts
from engine.variants.ir.register_tile import VECTOR, TileShape
from engine.variants.strips.cuda_strip_copies import StripCopies, beside, cells_beside, edges_of, shares_out
from engine.variants.strips.march_shape import LANES

Values = list[ir.Value]


def vectors_of(shape: TileShape) -> int:
    """Return the vectors of a row that a lane copies at most: lane, lane + 32 ..."""
    return -(-shape.tile_samples // (VECTOR * LANES))


def by_rule(context: Any, builder: ir.IRBuilder, rule: Rule, index: ir.Value, length: ir.Value) -> ir.Value:
    """Return what the border's rule says of an index, 32 bits wide; asked only of one outside."""
    before = builder.block
    signs = builder.or_(index, builder.sub(builder.sub(length, constant(1)), index))
    with builder.if_then(builder.icmp_signed("<", signs, constant(0))):
        kind = types.int64(types.int64, types.int64)
        numbers = [wide(builder, index), wide(builder, length)]
        outside = narrow(builder, context.compile_internal(builder, rule, kind, numbers))
        behind = builder.block
    found = builder.phi(I32)
    found.add_incoming(index, before)
    found.add_incoming(outside, behind)
    return found


def strip_columns(shape: TileShape, rule: Rule) -> Any:
    """Return the function `columns(samples, lane, left)` -> for each cell of a lane's vectors the sample of the row.

    `left` is the strip's first cell, before or in the picture, `samples` those of a row of the picture; -1 is a ghost cell. The compiled
    function returns those of the lane's cells beside the picture (`cells_beside`) after them, where these are shared out.

    Parameters
    ----------
    shape : TileShape
    rule : callable of (int, int) -> int
        The border's index rule.
    """
    count, extra = VECTOR * vectors_of(shape), 2 * shares_out(shape)

    @intrinsic
    def columns(typingctx, samples, lane, left):
        signature = types.UniTuple(types.int32, count + extra)(samples, lane, left)

        def codegen(context, builder, signature, arguments):
            samples, lane, left = (narrow(builder, value) for value in arguments)
            channels = constant(shape.channels)
            width = builder.udiv(samples, channels)
            own = builder.mul(lane, constant(VECTOR))
            cells = [
                builder.add(own, constant(place // VECTOR * LANES * VECTOR + place % VECTOR))
                for place in range(count)
            ]
            if extra:
                cells += cells_beside(shape, builder, lane, edges_of(shape, builder, samples, left))
            # So many pixels further on, what is divided is not negative; of what lies before the strip nothing is used.
            further = constant((shape.before + beside(shape)) * shape.channels)
            found = []
            for place in cells:
                cell = builder.add(builder.add(left, place), further)
                pixel = builder.udiv(cell, channels)
                channel = builder.sub(cell, builder.mul(pixel, channels))
                pixel = builder.sub(pixel, constant(shape.before + beside(shape)))
                column = by_rule(context, builder, rule, pixel, width)
                is_ghost = builder.icmp_signed("<", column, constant(0))
                sample = builder.add(builder.mul(column, channels), channel)
                found.append(builder.select(is_ghost, constant(-1), sample))
            return context.make_tuple(builder, signature.return_type, found)

        return signature, codegen

    def twin(samples: int, lane: int, left: int) -> tuple[int, ...]:
        found = []
        for place in range(count):
            column, channel = divmod(
                left + (lane + place // VECTOR * LANES) * VECTOR + place % VECTOR, shape.channels
            )
            column = rule(column, samples // shape.channels)
            found.append(-1 if column < 0 else column * shape.channels + channel)
        return tuple(found)

    return with_twin(columns, twin)


class StripFill:
    """Emits the copies that fill rows of a strip.

    Rows that lie in the picture, with all their cells, are copied by vectors, all under way at once. Of float32 so are the vectors in the
    picture of rows that lie across its left or right edge; the warp shares out their other cells. Of all others each
    vector that lies in the picture is copied as one; the cells of the others go one by one.

    Parameters
    ----------
    shape : TileShape
    rows : int
    itemsize : int
    rule : callable of (int, int) -> int
    context, builder : Numba's
    kinds, arguments : of `load` below
    """

    def __init__(
        self,
        shape: TileShape,
        rows: int,
        itemsize: int,
        rule: Rule,
        context: Any,
        builder: ir.IRBuilder,
        kinds: Any,
        arguments: Any,
    ) -> None:
        self._shape, self._rows, self._itemsize, self._rule = shape, rows, itemsize, rule
        self._context, self._builder = context, builder
        tile = data_of(context, builder, kinds[0], arguments[0], space=SHARED)
        self._window = PictureWindow(
            context, builder, rule, kinds[2], *(arguments[place] for place in (2, 3, 4, 6))
        )
        self._lane = narrow(builder, arguments[5])
        self._columns = [
            builder.extract_value(arguments[7], place)
            for place in range(VECTOR * vectors_of(shape) + 2 * shares_out(shape))
        ]
        self._ghost_value = arguments[8]
        self._has_ghosts = has_ghosts(rule)
        self._own = builder.mul(self._lane, constant(VECTOR))
        self._strip = moved(builder, tile, arguments[1])
        self._target = moved(builder, self._strip, self._own)

    def emit(self) -> None:
        """Emit all of it."""
        builder = self._builder
        is_aligned = self._window.is_aligned(VECTOR)
        if self._itemsize == 4 and shares_out(self._shape):
            self._copies(is_aligned)
            close_group(builder)
            return
        is_inside = self._window.is_inside(self._rows, self._shape.tile_samples)
        with builder.if_else(builder.and_(is_aligned, is_inside)) as (then, otherwise):
            with then:
                self._inside()
            # A loop that stays one: few strips touch an edge, and all would pay with registers.
            with otherwise:
                self._rows_anywhere(is_aligned)
        if self._itemsize == 4:
            close_group(builder)

    def _rows_anywhere(self, is_aligned: ir.Value) -> None:
        with loop(self._builder, constant(0), constant(self._rows), 1) as row:
            self._row_anywhere(row, is_aligned)

    def _copies(self, is_aligned: ir.Value) -> None:
        """Emit the copies of float32 that nobody waits for.

        All strips run at once, so those at an edge hold up all others: `split-float16`, 9 x 9 on 4096 x 4096, took 25 us more with their
        cells one by one (H200).
        """
        builder, window = self._builder, self._window
        cells = self._shape.tile_samples
        first, end = edges_of(self._shape, builder, window.samples, window.left)
        copies = StripCopies(
            self._shape,
            self._rows,
            builder,
            window,
            self._strip,
            self._lane,
            self._columns[-2:],
            self._ghost_value,
        )
        is_any = builder.icmp_signed("<", first, end)
        is_inside = builder.and_(is_aligned, window.is_inside(self._rows, cells))
        with builder.if_else(is_inside) as (inside, outside):
            with inside:
                copies.vectors()
            with outside:
                across = builder.and_(builder.and_(is_aligned, window.has_rows(self._rows)), is_any)
                with builder.if_else(across) as (at_side, elsewhere):
                    with at_side:
                        copies.vectors((first, end))
                        copies.beside(first, end)
                    with elsewhere:
                        self._rows_anywhere(is_aligned)

    def _is_own(self, number: int) -> ir.Value | None:
        """Return whether the lane has such a vector in a row; None: all lanes do."""
        vectors = self._shape.tile_samples // VECTOR - LANES * number
        return None if vectors >= LANES else self._builder.icmp_unsigned("<", self._lane, constant(vectors))

    def _inside(self) -> None:
        builder, pitch = self._builder, self._shape.tile_samples
        pointer = moved(
            builder, self._window.row(self._window.top), builder.add(self._window.left, self._own)
        )
        jump = builder.zext(self._window.pitch, I64)
        pieces = []
        for row in range(self._rows):
            pieces += [
                (
                    pointer,
                    LANES * VECTOR * number,
                    row * pitch + LANES * VECTOR * number,
                    self._is_own(number),
                )
                for number in range(vectors_of(self._shape))
            ]
            pointer = moved(builder, pointer, jump)
        if self._itemsize == 4:
            for source, source_at, target_at, only_if in pieces:
                copy_ahead(builder, self._target, source, VECTOR, only_if, target_at, source_at)
            return
        under_way = []
        for source, source_at, _, only_if in pieces:
            vector = moved(builder, source, source_at)
            # A lane that has no such vector reads another one, so that nobody branches while the loads set out.
            vector = vector if only_if is None else builder.select(only_if, vector, source)
            under_way.append(load_vector(builder, vector, self._itemsize))
        for (_, _, target_at, only_if), values in zip(pieces, under_way, strict=True):
            with self._when(only_if):
                self._store(target_at, values, self._target)

    def _when(self, only_if: ir.Value | None) -> AbstractContextManager[Any]:
        return nullcontext() if only_if is None else self._builder.if_then(only_if)

    def _store(self, at: int, values: Values, target: ir.Value) -> None:
        builder = self._builder
        converted = [builder.uitofp(value, F32) for value in values]
        store_vector(builder, moved(builder, target, at), converted)

    def _row_anywhere(self, row: ir.Value, is_aligned: ir.Value) -> None:
        builder = self._builder
        number = builder.add(self._window.top, row)
        source_row = by_rule(self._context, builder, self._rule, number, self._window.height)
        target = moved(builder, self._target, builder.mul(row, constant(self._shape.tile_samples)))
        for vector in range(vectors_of(self._shape)):
            with self._when(self._is_own(vector)):
                self._vector_anywhere(vector, source_row, target, is_aligned)

    def _vector_anywhere(
        self, vector: int, source_row: ir.Value, target: ir.Value, is_aligned: ir.Value
    ) -> None:
        """Copy a lane's vector; of cells at an edge one after the other, which takes fewer registers than all at once."""
        builder, at = self._builder, LANES * VECTOR * vector
        target = moved(builder, target, at)
        first = builder.add(builder.add(self._window.left, self._own), constant(at))
        last = builder.add(first, constant(VECTOR))
        samples = self._columns[VECTOR * vector : VECTOR * (vector + 1)]
        signs = builder.or_(first, builder.sub(self._window.samples, last))
        if self._has_ghosts:
            signs = builder.or_(signs, source_row)
        is_whole = builder.and_(is_aligned, builder.icmp_signed(">=", signs, constant(0)))
        source = self._window.row(source_row)
        if self._itemsize < 4 and not self._has_ghosts:
            self._integers_anywhere(target, source, first, is_whole, samples)
            return
        with builder.if_else(is_whole) as (then, otherwise):
            with then:
                whole = moved(builder, source, first)
                if self._itemsize == 4:
                    copy_ahead(builder, target, whole, VECTOR)
                else:
                    self._store(0, load_vector(builder, whole, self._itemsize), target)
            with otherwise:
                if self._has_ghosts:
                    self._cells_or_ghosts(target, source_row, source, samples)
                else:
                    for k, sample in enumerate(samples):
                        copy_ahead(builder, moved(builder, target, k), moved(builder, source, sample), 1)

    def _cells_or_ghosts(
        self, target: ir.Value, source_row: ir.Value, source: ir.Value, samples: list[ir.Value]
    ) -> None:
        builder = self._builder
        is_row = builder.icmp_signed(">=", source_row, constant(0))
        for k, sample in enumerate(samples):
            is_cell = builder.and_(is_row, builder.icmp_signed(">=", sample, constant(0)))
            with builder.if_else(is_cell) as (copied, ghost):
                with copied:
                    cell, place = moved(builder, source, sample), moved(builder, target, k)
                    if self._itemsize == 4:
                        copy_ahead(builder, place, cell, 1)
                    else:
                        builder.store(builder.uitofp(builder.load(cell), F32), place)
                with ghost:
                    builder.store(self._ghost_value, moved(builder, target, k))

    def _integers_anywhere(
        self,
        target: ir.Value,
        source: ir.Value,
        first: ir.Value,
        is_whole: ir.Value,
        samples: list[ir.Value],
    ) -> None:
        """Load a vector, or its cells, and store it: with one way to the store the compiler has several rows under way.

        Where there are ghost cells this took longer (9 x 9 on 8-bit RGB 244 instead of 227 us), without 216 instead of 275.
        """
        builder = self._builder
        values = load_vector_or_cells(
            builder,
            is_whole,
            lambda: moved(builder, source, first),
            lambda: (moved(builder, source, sample) for sample in samples),
            self._itemsize,
        )
        self._store(0, values, target)


def strip_loader(shape: TileShape, rows: int, itemsize: int, rule: Rule) -> Any:
    """Return the function that fills rows of a strip.

    `load(tile, at, image, samples, top, lane, left, columns, ghost_value)`: row j of them, at element `at` of the tile, is
    row top + j of the picture, from sample `left` (a multiple of 4) on; a row of the picture has `samples` samples, and
    `columns` is what `strip_columns` found for `left`. Cells outside the picture get the value that the border's rule has for
    them. float32 is copied without waiting (`cuda_async_copy.py`), as one group; integers are converted on their way.

    Parameters
    ----------
    shape : TileShape
    rows : int
        Rows that are filled.
    itemsize : int
        Bytes of a sample of the picture.
    rule : callable of (int, int) -> int
        The border's index rule, -1 for a ghost cell.
    """

    @intrinsic
    def load(typingctx, tile, at, image, samples, top, lane, left, columns, ghost_value):
        signature = types.void(tile, at, image, samples, top, lane, left, columns, ghost_value)

        def codegen(context, builder, signature, arguments):
            StripFill(shape, rows, itemsize, rule, context, builder, signature.args, arguments).emit()
            return context.get_dummy_value()

        return signature, codegen

    def twin(
        tile: Any,
        at: int,
        image: Any,
        samples: int,
        top: int,
        lane: int,
        left: int,
        columns: tuple[int, ...],
        ghost_value: Any,
    ) -> None:
        for row in range(rows):
            source_row = rule(top + row, image.shape[0])
            for place, sample in enumerate(columns):
                cell = (lane + place // VECTOR * LANES) * VECTOR + place % VECTOR
                if cell < shape.tile_samples:
                    value = ghost_value
                    if source_row >= 0 and sample >= 0:
                        pixel, channel = divmod(sample, shape.channels)
                        value = types.float32(image[source_row, pixel, channel])
                    tile[at + row * shape.tile_samples + cell] = value

    return with_twin(load, twin)
