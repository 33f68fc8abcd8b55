"""The part of the picture that a tile shows: where it lies, and whether all of it is the picture's; emitted as LLVM IR."""

from typing import Any

from llvmlite import ir

from engine.variants.emit.cuda_async_copy import copy_ahead
from engine.variants.emit.cuda_ir import F32, I64, constant, data_of, moved, narrow, shape_of, wide


class PictureWindow:
    """What every loader has to know of the picture.

    Parameters
    ----------
    context, builder : Numba's
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
        kind: Any,
        image: ir.Value,
        samples: ir.Value,
        top: ir.Value,
        left: ir.Value,
    ) -> None:
        self._builder = builder
        self._data = data_of(context, builder, kind, image)
        # 32 bits where nothing larger can be: index arithmetic of 64 takes two to three times the instructions.
        self.height, row_pixels, channels = (
            narrow(builder, side) for side in shape_of(context, builder, kind, image)
        )
        self.pitch = builder.mul(row_pixels, channels)
        self.samples, self.top, self.left = (narrow(builder, value) for value in (samples, top, left))

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

    def row(self, row: ir.Value) -> ir.Value:
        """Return the pointer to a row; that of a row which is none must not be used."""
        builder = self._builder
        return moved(builder, self._data, builder.mul(wide(builder, row), wide(builder, self.pitch)))

    def at(self, row: ir.Value, sample: ir.Value) -> ir.Value:
        """Return the pointer to a sample of the picture; its row is one of the picture's."""
        builder = self._builder
        above = builder.mul(builder.zext(row, I64), builder.zext(self.pitch, I64))
        return moved(builder, self._data, builder.add(above, wide(builder, sample)))


def copy_cell(builder: ir.IRBuilder, target: ir.Value, source: ir.Value, itemsize: int) -> None:
    """Copy one sample into a tile of float32; only float32 is not waited for."""
    if itemsize == 4:
        copy_ahead(builder, target, source, 1)
    else:
        builder.store(builder.uitofp(builder.load(source), F32), target)
