"""The part of the picture that a tile shows: where it lies, and whether all of it is the picture's; emitted as LLVM IR."""

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types

from engine.geometry.border import ghost
from engine.variants.ir.cuda_ir import I64, constant, data_of, moved, narrow, shape_of, wide

Rule = Callable[[int, int], int]


def has_ghosts(rule: Rule) -> bool:
    """Return whether a border's rule has ghost cells (-1); by all others every cell outside is one of the picture's."""
    return rule is ghost


class PictureWindow:
    """What every loader has to know of the picture.

    Parameters
    ----------
    context, builder : Numba's
    rule : callable of (int, int) -> int
        The border's index rule, -1 for a ghost cell.
    kind, image : Numba type and value
        The picture, H x W x C.
    samples : i64 value
        Samples of one of its rows; further ones are padding.
    top, left : i64 value
        The row and the sample that the tile begins with, before or in the picture.
    """

    def __init__(
        self,
        context: Any,
        builder: ir.IRBuilder,
        rule: Rule,
        kind: Any,
        image: ir.Value,
        samples: ir.Value,
        top: ir.Value,
        left: ir.Value,
    ) -> None:
        self._context, self._builder, self._rule = context, builder, rule
        self._data = data_of(context, builder, kind, image)
        # 32 bits where nothing larger can be: index arithmetic of 64 takes two to three times the instructions.
        self.height, row_pixels, channels = (
            narrow(builder, side) for side in shape_of(context, builder, kind, image)
        )
        self.pitch = builder.mul(row_pixels, channels)
        self.samples, self.top, self.left = (narrow(builder, value) for value in (samples, top, left))

    @property
    def has_ghosts(self) -> bool:
        """Whether cells outside are ghost cells."""
        return has_ghosts(self._rule)

    def is_aligned(self, samples: int) -> ir.Value:
        """Return whether rows begin on whole vectors of so many samples; packed rows begin anywhere."""
        remainder = self._builder.and_(self.pitch, constant(samples - 1))
        return self._builder.icmp_unsigned("==", remainder, constant(0))

    def is_inside(self, rows: int, samples: int) -> ir.Value:
        """Return whether so many rows and samples from the tile's first ones on are all the picture's."""
        builder = self._builder
        right = builder.add(self.left, constant(samples))
        bottom = builder.add(self.top, constant(rows))
        # Negative if any of them is.
        signs = builder.or_(
            builder.or_(self.left, builder.sub(self.samples, right)),
            builder.or_(self.top, builder.sub(self.height, bottom)),
        )
        return builder.icmp_signed(">=", signs, constant(0))

    def has_rows(self, rows: int) -> ir.Value:
        """Return whether so many rows from the tile's first one on are all the picture's."""
        builder = self._builder
        below = builder.sub(self.height, builder.add(self.top, constant(rows)))
        return builder.icmp_signed(">=", builder.or_(self.top, below), constant(0))

    def row_of(self, row: ir.Value) -> ir.Value:
        """Return the row that row number `row` of the tile comes from; -1 for ghost cells."""
        return self._by_rule(self._builder.add(self.top, row), self.height)

    def sample_of(self, sample: ir.Value, channels: int, before: int) -> ir.Value:
        """Return the sample of its row that one of the tile comes from; -1 for a ghost cell.

        No tile has more than `before` pixels before the picture, so that what is divided is not negative.
        """
        builder = self._builder
        from_zero = builder.add(sample, constant(before * channels))
        pixel = builder.udiv(from_zero, constant(channels))
        channel = builder.sub(from_zero, builder.mul(pixel, constant(channels)))
        width = builder.udiv(self.samples, constant(channels))
        column = self._by_rule(builder.sub(pixel, constant(before)), width)
        is_ghost = builder.icmp_signed("<", column, constant(0))
        source = builder.add(builder.mul(column, constant(channels)), channel)
        return builder.select(is_ghost, constant(-1), source)

    def _by_rule(self, index: ir.Value, length: ir.Value) -> ir.Value:
        builder = self._builder
        kind, arguments = types.int64(types.int64, types.int64), [wide(builder, index), wide(builder, length)]
        return narrow(builder, self._context.compile_internal(builder, self._rule, kind, arguments))

    def row(self, row: ir.Value) -> ir.Value:
        """Return the pointer to a row; that of a row which is none must not be used."""
        builder = self._builder
        return moved(builder, self._data, builder.mul(wide(builder, row), wide(builder, self.pitch)))

    def at(self, row: ir.Value, sample: ir.Value) -> ir.Value:
        """Return the pointer to a sample of the picture; its row is one of the picture's."""
        builder = self._builder
        above = builder.mul(builder.zext(row, I64), builder.zext(self.pitch, I64))
        return moved(builder, self._data, builder.add(above, wide(builder, sample)))
