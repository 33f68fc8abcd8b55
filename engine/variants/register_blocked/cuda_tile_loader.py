"""Rows of the input tile of a block, loaded by vectors; emitted as LLVM IR."""

from contextlib import nullcontext
from typing import Any, NamedTuple

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
    with_twin,
)
from engine.variants.ir.cuda_picture_window import PictureWindow, Rule, has_ghosts
from engine.variants.ir.register_tile import VECTOR, TileShape

# Integers that a thread has under way at once; they take registers until they are stored as float32.
BYTES_UNDER_WAY = 80


class Piece(NamedTuple):
    """A vector to copy: so many samples past a place in the tile and past one in the picture; by which threads (None: all)."""

    target: ir.Value
    source: ir.Value
    only_if: ir.Value | None = None
    target_at: int = 0
    source_at: int = 0


def placed(builder: ir.IRBuilder, shape: TileShape, vector: ir.Value) -> ir.Value:
    """Return where a vector of a row of the input tile lies in it (`TileShape.place`)."""
    if not shape.mixed:
        return vector
    bits = builder.and_(builder.lshr(vector, constant(3)), constant(shape.mixed))
    return builder.xor(vector, bits)


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
        self._shape, self._rows, self._itemsize = shape, rows, itemsize
        self._builder = builder
        tile = data_of(context, builder, kinds[0], arguments[0], space=SHARED)
        self._tile = moved(builder, tile, arguments[1])
        self._window = PictureWindow(
            context, builder, rule, kinds[2], *(arguments[place] for place in (2, 3, 4, 7))
        )
        self._lane, self._warp = (narrow(builder, arguments[place]) for place in (5, 6))
        self._ghost_value = arguments[8]
        self._has_ghosts = has_ghosts(rule)
        # Vectors of a row under the output tile, and those past it.
        self._main = shape.out_samples // VECTOR
        self._extra = shape.tile_samples // VECTOR - self._main

    def emit(self) -> None:
        """Emit all of it."""
        builder, shape = self._builder, self._shape
        is_aligned = self._window.is_aligned(VECTOR)
        is_inside = self._window.is_inside(self._rows, shape.tile_samples)
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
        place = placed(builder, self._shape, vector)
        return moved(builder, self._tile, builder.add(samples, builder.mul(place, constant(VECTOR))))

    def _copy(self, pieces: list[Piece], always_there: ir.Value | None = None) -> None:
        """Copy vectors; integers are all under way before the first is stored as float32.

        What is loaded in place of an integer that only some threads copy lies where `always_there` points to.
        """
        builder = self._builder
        if self._itemsize == 4:
            for piece in pieces:
                copy_ahead(builder, piece.target, piece.source, VECTOR, *piece[2:])
            return
        under_way = []
        for piece in pieces:
            source = moved(builder, piece.source, piece.source_at)
            if piece.only_if is not None:
                source = builder.select(piece.only_if, source, always_there)
            under_way.append(load_vector(builder, source, self._itemsize))
        for piece, values in zip(pieces, under_way, strict=True):
            converted = [builder.uitofp(value, F32) for value in values]
            with nullcontext() if piece.only_if is None else builder.if_then(piece.only_if):
                store_vector(builder, moved(builder, piece.target, piece.target_at), converted)

    def _inside(self) -> None:
        """One pointer, moved from row to row; what rows have past the output tile's width, the block's threads share."""
        builder, shape = self._builder, self._shape
        target = self._target(self._warp, self._lane)
        pointer = always_there = self._source_in_tile(self._warp, self._lane)
        jump = builder.zext(builder.mul(self._window.pitch, constant(shape.warps)), I64)
        # All warps have this many rows; some may have one more.
        sure, more = divmod(self._rows, shape.warps)
        is_more = builder.icmp_unsigned("<", self._warp, constant(more))
        batch: list[Piece] = []
        for number in range(sure + bool(more)):
            start, only_if = number * shape.warps * shape.tile_samples, None if number < sure else is_more
            across = range(0, VECTOR * self._main, VECTOR * 32)
            batch += [Piece(target, pointer, only_if, start + apart, apart) for apart in across]
            pointer = moved(builder, pointer, jump)
            if (len(batch) + shape.warp_vectors) * VECTOR * self._itemsize > BYTES_UNDER_WAY:
                self._copy(batch, always_there)
                batch = []
        extras = self._rows * self._extra
        for first in range(0, extras, shape.threads):
            number = builder.add(self._thread(), constant(first))
            is_extra = (
                builder.icmp_unsigned("<", number, constant(extras))
                if first + shape.threads > extras
                else None
            )
            row, vector = self._beyond_output_tile(number)
            batch.append(Piece(self._target(row, vector), self._source_in_tile(row, vector), is_extra))
        self._copy(batch, always_there)

    def _source_in_tile(self, row: ir.Value, vector: ir.Value) -> ir.Value:
        sample = self._builder.add(self._window.left, self._builder.mul(vector, constant(VECTOR)))
        return self._window.at(self._builder.add(self._window.top, row), sample)

    def _thread(self) -> ir.Value:
        return self._builder.add(self._builder.mul(self._warp, constant(32)), self._lane)

    def _beyond_output_tile(self, number: ir.Value) -> tuple[ir.Value, ir.Value]:
        """Return (row, vector) of piece `number` of what rows have past the output tile's width."""
        builder = self._builder
        row = builder.udiv(number, constant(max(self._extra, 1)))
        column = builder.sub(number, builder.mul(row, constant(self._extra)))
        return row, builder.add(column, constant(self._main))

    def _anywhere(self, is_aligned: ir.Value) -> None:
        """Loops that stay loops: few tiles touch an edge, and all would pay with registers."""
        builder, shape = self._builder, self._shape
        vectors = [builder.add(self._lane, constant(32 * group)) for group in range(shape.warp_vectors)]
        sources = [self._samples_of(is_aligned, vector) for vector in vectors]
        with loop(builder, self._warp, constant(self._rows), shape.warps) as row:
            source_row = self._window.row_of(row)
            for vector, (is_whole, samples) in zip(vectors, sources, strict=True):
                self._vector_anywhere(row, source_row, vector, is_whole, samples)
        with loop(builder, self._thread(), constant(self._rows * self._extra), shape.threads) as number:
            row, vector = self._beyond_output_tile(number)
            self._vector_anywhere(
                row, self._window.row_of(row), vector, *self._samples_of(is_aligned, vector)
            )

    def _samples_of(self, is_aligned: ir.Value, vector: ir.Value) -> tuple[ir.Value, list[ir.Value]]:
        """Return whether a vector is one of the picture's, and the samples of its row that its own come from.

        -1 for ghost cells. They are the same in every row, so a thread asks the border's rule once.
        """
        builder = self._builder
        first = builder.add(self._window.left, builder.mul(vector, constant(VECTOR)))
        last = builder.add(first, constant(VECTOR))
        is_inside = builder.and_(
            builder.icmp_signed(">=", first, constant(0)),
            builder.icmp_signed("<=", last, self._window.samples),
        )
        own = [builder.add(first, constant(k)) for k in range(VECTOR)]
        before = builder.block
        with builder.if_then(builder.not_(is_inside)):
            by_rule = [
                self._window.sample_of(sample, self._shape.channels, self._shape.before) for sample in own
            ]
            behind = builder.block
        samples = []
        for inside, outside in zip(own, by_rule, strict=True):
            sample = builder.phi(I32)
            sample.add_incoming(inside, before)
            sample.add_incoming(outside, behind)
            samples.append(sample)
        return builder.and_(is_aligned, is_inside), samples

    def _vector_anywhere(
        self,
        row: ir.Value,
        source_row: ir.Value,
        vector: ir.Value,
        is_whole: ir.Value,
        samples: list[ir.Value],
    ) -> None:
        target = self._target(row, vector)
        if self._itemsize < 4:
            self._integers_anywhere(target, source_row, is_whole, samples)
        elif self._has_ghosts:
            self._floats_or_ghosts(target, source_row, is_whole, samples)
        else:
            with self._builder.if_else(is_whole) as (then, otherwise):
                with then:
                    self._copy([Piece(target, self._window.at(source_row, samples[0]))])
                with otherwise:
                    for k, sample in enumerate(samples):
                        source = self._window.at(source_row, sample)
                        copy_ahead(self._builder, moved(self._builder, target, k), source, 1)

    def _integers_anywhere(
        self, target: ir.Value, source_row: ir.Value, is_whole: ir.Value, samples: list[ir.Value]
    ) -> None:
        """Load a vector, or its cells, and store it: with one way to the store the compiler has several rows under way.

        Ghost cells are loaded from somewhere in the picture, and replaced (256 x 256 8-bit RGB, 3 x 3, float32 results: 4.9
        instead of 6.7 us with zeros, 5.1 instead of 7.9 mirrored).
        """
        builder = self._builder
        are_cells = None
        if self._has_ghosts:
            is_row = builder.icmp_signed(">=", source_row, constant(0))
            source_row = builder.select(is_row, source_row, constant(0))
            in_row = [builder.icmp_signed(">=", sample, constant(0)) for sample in samples]
            samples = [
                builder.select(is_cell, sample, constant(0))
                for is_cell, sample in zip(in_row, samples, strict=True)
            ]
            are_cells = [builder.and_(is_row, is_cell) for is_cell in in_row]
        values = load_vector_or_cells(
            builder,
            is_whole,
            lambda: self._window.at(source_row, samples[0]),
            lambda: (self._window.at(source_row, sample) for sample in samples),
            self._itemsize,
        )
        converted = [builder.uitofp(value, F32) for value in values]
        if are_cells is not None:
            converted = [
                builder.select(is_cell, value, self._ghost_value)
                for is_cell, value in zip(are_cells, converted, strict=True)
            ]
        store_vector(builder, target, converted)

    def _floats_or_ghosts(
        self, target: ir.Value, source_row: ir.Value, is_whole: ir.Value, samples: list[ir.Value]
    ) -> None:
        builder = self._builder
        is_row = builder.icmp_signed(">=", source_row, constant(0))
        all_signs = samples[0]
        for sample in samples[1:]:
            all_signs = builder.and_(all_signs, sample)
        has_none = builder.or_(builder.not_(is_row), builder.icmp_signed("<", all_signs, constant(0)))
        with builder.if_else(builder.and_(is_whole, is_row)) as (then, otherwise):
            with then:
                self._copy([Piece(target, self._window.at(source_row, samples[0]))])
            with otherwise, builder.if_else(has_none) as (ghosts, cells):
                with ghosts:
                    store_vector(builder, target, [self._ghost_value] * VECTOR)
                with cells:
                    for k, sample in enumerate(samples):
                        cell = moved(builder, target, k)
                        is_cell = builder.icmp_signed(">=", sample, constant(0))
                        with builder.if_else(is_cell) as (copied, ghost):
                            with copied:
                                copy_ahead(builder, cell, self._window.at(source_row, sample), 1)
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
    main = shape.out_samples // VECTOR
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
                tile[at + row * shape.tile_samples + shape.place(vector) * VECTOR + k] = value

        for row in range(warp, rows, shape.warps):
            for group in range(shape.warp_vectors):
                copy(row, lane + 32 * group)
        for number in range(warp * 32 + lane, rows * extra, shape.threads):
            row, column = divmod(number, extra)
            copy(row, main + column)

    return with_twin(load, twin)
