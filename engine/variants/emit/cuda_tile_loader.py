"""Rows of the input tile of a block, loaded by vectors; emitted as LLVM IR."""

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types

from engine.device.numba_cuda import intrinsic
from engine.variants.emit.cuda_async_copy import close_group, copy_ahead
from engine.variants.emit.cuda_ir import (
    F32,
    I32,
    I64,
    SHARED,
    constant,
    data_of,
    load_vector,
    loop,
    moved,
    narrow,
    shape_of,
    store_vector,
    wide,
    with_twin,
)
from engine.variants.emit.register_tile_shape import VECTOR, TileShape

# Vectors of integers that a thread has under way at once; each takes a register or two until it is stored as float32.
IN_FLIGHT = 12

Rule = Callable[[int, int], int]


class TileFill:
    """Emits the copies that fill rows of a tile.

    A tile that lies in the picture is copied by vectors, row under row. Of all others each vector that lies in it is
    too; the cells of the others go one by one through the border's rule.

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
        self._tile = moved(builder, tile, arguments[1])
        self._image = data_of(context, builder, kinds[2], arguments[2])
        self._height, row_pixels, channels = shape_of(context, builder, kinds[2], arguments[2])
        self._pitch = builder.mul(row_pixels, channels)
        self._top = wide(builder, arguments[4])
        self._samples, self._lane, self._warp, self._left = (
            narrow(builder, arguments[place]) for place in (3, 5, 6, 7)
        )
        self._ghost_value = arguments[8]
        # Vectors of a row under the output tile, which a warp loads; those past it, which the block's threads share.
        self._main = shape.vectors * 32
        self._extra = shape.tile_samples // VECTOR - self._main
        self._extras = rows * self._extra

    def emit(self) -> None:
        """Emit all of it."""
        builder, shape = self._builder, self._shape
        pitch, zero = narrow(builder, self._pitch), constant(0)
        remainder = builder.and_(pitch, constant(VECTOR - 1))
        # Rows that begin anywhere (packed, of a width that is no multiple of 4) allow single samples only.
        is_aligned = builder.icmp_unsigned("==", remainder, zero)
        bottom = builder.add(self._top, constant(self._rows, I64))
        right = builder.add(self._left, constant(shape.tile_samples))
        is_inside = builder.and_(
            builder.and_(
                builder.icmp_signed(">=", self._left, zero), builder.icmp_signed("<=", right, self._samples)
            ),
            builder.and_(
                builder.icmp_signed(">=", self._top, constant(0, I64)),
                builder.icmp_signed("<=", bottom, self._height),
            ),
        )
        with builder.if_else(builder.and_(is_aligned, is_inside)) as (then, otherwise):
            with then:
                self._inside()
            with otherwise:
                self._anywhere(is_aligned)
        if self._itemsize == 4:
            close_group(builder)

    def _target(self, row: ir.Value, vector: ir.Value) -> ir.Value:
        builder = self._builder
        samples = builder.mul(row, constant(self._shape.tile_samples))
        return moved(builder, self._tile, builder.add(samples, builder.mul(vector, constant(VECTOR))))

    def _source(self, row: ir.Value, sample: ir.Value) -> ir.Value:
        builder = self._builder
        return moved(builder, self._image, builder.add(builder.mul(row, self._pitch), wide(builder, sample)))

    def _copy(self, pieces: list[tuple[ir.Value, ir.Value]]) -> None:
        """Copy vectors: (target, source) each; integers are all under way before the first is stored as float32."""
        builder = self._builder
        if self._itemsize == 4:
            for target, source in pieces:
                copy_ahead(builder, target, source, VECTOR)
            return
        under_way = [(target, load_vector(builder, source, self._itemsize)) for target, source in pieces]
        for target, values in under_way:
            store_vector(builder, target, [builder.uitofp(value, F32) for value in values])

    def _copy_cell(self, target: ir.Value, source: ir.Value) -> None:
        if self._itemsize == 4:
            copy_ahead(self._builder, target, source, 1)
        else:
            self._builder.store(self._builder.uitofp(self._builder.load(source), F32), target)

    def _thread(self) -> ir.Value:
        return self._builder.add(self._builder.mul(self._warp, constant(32)), self._lane)

    def _beyond_output_tile(self, number: ir.Value) -> tuple[ir.Value, ir.Value]:
        """Return (row, vector) of piece `number` of what rows have past the output tile's width."""
        builder = self._builder
        row = builder.udiv(number, constant(max(self._extra, 1)))
        column = builder.sub(number, builder.mul(row, constant(self._extra)))
        return row, builder.add(column, constant(self._main))

    def _inside(self) -> None:
        """One pointer, moved from row to row."""
        builder, shape = self._builder, self._shape

        def source(row: ir.Value, vector: ir.Value) -> ir.Value:
            sample = builder.add(self._left, builder.mul(vector, constant(VECTOR)))
            return self._source(builder.add(self._top, wide(builder, row)), sample)

        target, pointer = self._target(self._warp, self._lane), source(self._warp, self._lane)
        jump = builder.mul(self._pitch, constant(shape.warps, I64))

        def row_pieces(number: int) -> list[tuple[ir.Value, ir.Value]]:
            start = number * shape.warps * shape.tile_samples
            return [
                (moved(builder, target, start + apart), moved(builder, pointer, apart))
                for apart in range(0, 32 * shape.across, 32 * VECTOR)
            ]

        # All warps have this many rows; some may have one more.
        sure, more = divmod(self._rows, shape.warps)
        pieces: list[tuple[ir.Value, ir.Value]] = []
        for number in range(sure):
            pieces += row_pieces(number)
            pointer = moved(builder, pointer, jump)
            if len(pieces) + shape.vectors > IN_FLIGHT:
                self._copy(pieces)
                pieces = []
        self._copy(pieces)
        if more:
            with builder.if_then(builder.icmp_unsigned("<", self._warp, constant(more))):
                self._copy(row_pieces(sure))
        for first in range(0, self._extras, shape.threads):
            number = builder.add(self._thread(), constant(first))
            with builder.if_then(builder.icmp_unsigned("<", number, constant(self._extras))):
                row, vector = self._beyond_output_tile(number)
                self._copy([(self._target(row, vector), source(row, vector))])

    def _anywhere(self, is_aligned: ir.Value) -> None:
        """Loops that stay loops: few tiles touch an edge, and all would pay with registers."""
        builder, shape = self._builder, self._shape
        vectors = [builder.add(self._lane, constant(32 * group)) for group in range(shape.vectors)]
        sources = [self._samples_of(is_aligned, vector) for vector in vectors]
        with loop(builder, self._warp, constant(self._rows), shape.warps) as row:
            source_row = self._row_of(row)
            for vector, (is_whole, samples) in zip(vectors, sources, strict=True):
                self._vector_anywhere(row, source_row, vector, is_whole, samples)
        with loop(builder, self._thread(), constant(self._extras), shape.threads) as number:
            row, vector = self._beyond_output_tile(number)
            self._vector_anywhere(row, self._row_of(row), vector, *self._samples_of(is_aligned, vector))

    def _row_of(self, row: ir.Value) -> ir.Value:
        return self._by_rule(self._builder.add(self._top, wide(self._builder, row)), self._height)

    def _by_rule(self, index: ir.Value, length: ir.Value) -> ir.Value:
        kind = types.int64(types.int64, types.int64)
        return self._context.compile_internal(self._builder, self._rule, kind, [index, length])

    def _samples_of(self, is_aligned: ir.Value, vector: ir.Value) -> tuple[ir.Value, list[ir.Value]]:
        """Return whether a vector is one of the picture's, and the samples of its row that its own come from.

        -1 for ghost cells. They are the same in every row, so a thread asks the border's rule once.
        """
        builder = self._builder
        first = builder.add(self._left, builder.mul(vector, constant(VECTOR)))
        last = builder.add(first, constant(VECTOR))
        is_inside = builder.and_(
            builder.icmp_signed(">=", first, constant(0)), builder.icmp_signed("<=", last, self._samples)
        )
        own = [builder.add(first, constant(k)) for k in range(VECTOR)]
        before = builder.block
        with builder.if_then(builder.not_(is_inside)):
            by_rule = [self._sample_of(sample) for sample in own]
            behind = builder.block
        samples = []
        for inside, outside in zip(own, by_rule, strict=True):
            sample = builder.phi(I32)
            sample.add_incoming(inside, before)
            sample.add_incoming(outside, behind)
            samples.append(sample)
        return builder.and_(is_aligned, is_inside), samples

    def _sample_of(self, sample: ir.Value) -> ir.Value:
        builder, channels = self._builder, self._shape.channels
        # More than any tile has before the picture, so that what is divided is not negative.
        ahead = self._shape.before
        from_zero = builder.add(sample, constant(ahead * channels))
        pixel = builder.udiv(from_zero, constant(channels))
        channel = builder.sub(from_zero, builder.mul(pixel, constant(channels)))
        width = builder.udiv(self._samples, constant(channels))
        column = self._by_rule(wide(builder, builder.sub(pixel, constant(ahead))), wide(builder, width))
        is_ghost = builder.icmp_signed("<", column, constant(0, I64))
        source = builder.add(builder.mul(narrow(builder, column), constant(channels)), channel)
        return builder.select(is_ghost, constant(-1), source)

    def _vector_anywhere(
        self,
        row: ir.Value,
        source_row: ir.Value,
        vector: ir.Value,
        is_whole: ir.Value,
        samples: list[ir.Value],
    ) -> None:
        builder = self._builder
        target = self._target(row, vector)
        is_row = builder.icmp_signed(">=", source_row, constant(0, I64))
        with builder.if_else(builder.and_(is_whole, is_row)) as (then, otherwise):
            with then:
                self._copy([(target, self._source(source_row, samples[0]))])
            with otherwise:
                all_signs = samples[0]
                for sample in samples[1:]:
                    all_signs = builder.and_(all_signs, sample)
                has_none = builder.icmp_signed("<", all_signs, constant(0))
                with builder.if_else(builder.or_(builder.not_(is_row), has_none)) as (ghosts, cells):
                    with ghosts:
                        store_vector(builder, target, [self._ghost_value] * VECTOR)
                    with cells:
                        for k, sample in enumerate(samples):
                            cell = moved(builder, target, k)
                            is_cell = builder.icmp_signed(">=", sample, constant(0))
                            with builder.if_else(is_cell) as (copied, ghost):
                                with copied:
                                    self._copy_cell(cell, self._source(source_row, sample))
                                with ghost:
                                    builder.store(self._ghost_value, cell)


def tile_loader(shape: TileShape, rows: int, itemsize: int, rule: Rule) -> Any:
    """Return the function that fills rows of the input tile.

    `load(tile, at, image, samples, top, lane, warp, left, ghost_value)`: row j of them, at element `at` of the tile, is
    row top + j of the picture, from sample `left` (a multiple of 4) on; a row of the picture has `samples` samples.
    Cells outside the picture get the value that the border's rule has for them. A warp loads whole rows, 32 vectors at
    once; what a row has past the output tile's width the block's threads share. float32 is copied without waiting
    (`cuda_async_copy.py`), as one group; integers are converted on their way.

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
    main = shape.vectors * 32
    extra = shape.tile_samples // VECTOR - main

    @intrinsic
    def load(typingctx, tile, at, image, samples, top, lane, warp, left, ghost_value):
        signature = types.void(tile, at, image, samples, top, lane, warp, left, ghost_value)

        def codegen(context, builder, signature, arguments):
            TileFill(shape, rows, itemsize, rule, context, builder, signature.args, arguments).emit()
            return context.get_dummy_value()

        return signature, codegen

    def twin(
        tile: Any,
        at: int,
        image: Any,
        samples: int,
        top: int,
        lane: int,
        warp: int,
        left: int,
        ghost_value: Any,
    ) -> None:
        height, width = image.shape[0], samples // shape.channels

        def copy(row: int, vector: int) -> None:
            source_row = rule(top + row, height)
            for k in range(VECTOR):
                column, channel = divmod(left + vector * VECTOR + k, shape.channels)
                source_column = rule(column, width)
                value = ghost_value
                if source_row >= 0 and source_column >= 0:
                    value = types.float32(image[source_row, source_column, channel])
                tile[at + row * shape.tile_samples + vector * VECTOR + k] = value

        for row in range(warp, rows, shape.warps):
            for group in range(shape.vectors):
                copy(row, lane + 32 * group)
        for number in range(warp * 32 + lane, rows * extra, shape.threads):
            row, column = divmod(number, extra)
            copy(row, main + column)

    return with_twin(load, twin)
