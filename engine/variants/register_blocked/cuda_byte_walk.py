"""The multiply-adds over a tile of bytes in shared memory, converted to float32 when they are read; emitted as LLVM IR."""

from typing import Any

from llvmlite import ir
from numba import types

from engine.device.numba_cuda import intrinsic
from engine.variants.ir.cuda_constants import constant_weights
from engine.variants.ir.cuda_ir import (
    F32,
    I32,
    SHARED,
    assembly,
    constant,
    data_of,
    fma,
    moved,
    narrow,
    with_twin,
)
from engine.variants.register_blocked.byte_tile_shape import WORD, ByteTileShape

Values = list[ir.Value]


def converted(builder: ir.IRBuilder, word: ir.Value) -> Values:
    """Return the bytes of a word, lowest first, as float32; those that are not used leave no code.

    Written so, taking a byte out and converting it are one instruction (`I2F.U8`), which runs beside the multiply-adds.
    """
    values: Values = []
    for byte in range(WORD):
        line = f"{{ .reg .u32 t; bfe.u32 t, $1, {8 * byte}, 8; cvt.rn.f32.u32 $0, t; }}"
        values.append(assembly(builder, line, "=f,r", [word], F32, changes_memory=False))
    return values


class ByteWalk:
    """Emits the walk down the input rows under a thread's results.

    Each row is loaded and converted once, and serves every mask row that lies on it for one of the thread's rows of
    results, so no row is kept. Each (result, mask row) pair has a float32 partial sum of its own, a chain of fused
    multiply-adds; they are added in the order of the mask rows.

    Parameters
    ----------
    shape : ByteTileShape
    builder : IRBuilder
    first : pointer
        To the first word of this thread's window in its first input row.
    weights : pointer
        The mask, `weight_pitch` floats a row.
    start : float32 value
        What the first chain begins with.
    """

    def __init__(
        self,
        shape: ByteTileShape,
        builder: ir.IRBuilder,
        first: ir.Value,
        weights: ir.Value,
        start: ir.Value,
    ) -> None:
        self._shape, self._builder = shape, builder
        self._first, self._start = first, start
        pitch = shape.weight_pitch
        self._weights = [
            self._row_of_weights(moved(builder, weights, row * pitch)) for row in range(shape.mask_rows)
        ]

    def emit(self) -> Values:
        """Return the sums, row by row."""
        shape, builder = self._shape, self._builder
        sums: list[Values] = [[] for _ in range(shape.rows)]
        for row in range(shape.rows + shape.mask_rows - 1):
            window = self._window(row)
            for i in range(max(0, row - shape.mask_rows + 1), min(shape.rows, row + 1)):
                partials = self._partials(window, row - i)
                if sums[i]:
                    partials = [
                        builder.fadd(total, part) for total, part in zip(sums[i], partials, strict=True)
                    ]
                sums[i] = partials
        return [total for row_of_sums in sums for total in row_of_sums]

    def _row_of_weights(self, pointer: ir.Value) -> Values:
        row: Values = []
        for n in range(0, self._shape.weight_pitch, WORD):
            row += _vector(self._builder, moved(self._builder, pointer, n), WORD)
        return row[: self._shape.mask_columns]

    def _window(self, row: int) -> Values:
        samples: Values = []
        for word, size in self._shape.loads:
            start = row * self._shape.tile_samples // WORD + word
            for loaded in _vector(self._builder, moved(self._builder, self._first, start), size):
                samples += converted(self._builder, loaded)
        return samples[self._shape.shift :]

    def _partials(self, window: Values, m: int) -> Values:
        builder, shape = self._builder, self._shape
        partials: Values = []
        for n, weight in enumerate(self._weights[m]):
            for k in range(shape.across):
                value = window[k + n * shape.channels]
                if n:
                    partials[k] = fma(builder, value, weight, partials[k])
                elif m:
                    partials.append(builder.fmul(value, weight))
                else:
                    partials.append(fma(builder, value, weight, self._start))
        return partials


def _vector(builder: ir.IRBuilder, pointer: ir.Value, count: int) -> Values:
    """Load so many elements of 4 bytes at once, aligned to all of them."""
    kind = ir.VectorType(pointer.type.pointee, count)
    loaded = builder.load(builder.bitcast(pointer, kind.as_pointer(pointer.type.addrspace)), align=4 * count)
    return [builder.extract_element(loaded, constant(k)) for k in range(count)]


def byte_accumulator(shape: ByteTileShape) -> Any:
    """Return the function that computes a thread's results: `accumulate(tile, at, lane, weights, start)` -> sums.

    `at` is the byte where the row of the tile begins that lies under the mask's first row and the thread's first results;
    `start` is added to each sum. The `rows` x `across` sums begin with row 0. The compiled function reads its weights from
    constant memory (`cuda_constants.py`); its plain twin from the array that it is given.

    Parameters
    ----------
    shape : ByteTileShape
    """
    count = shape.rows * shape.across

    @intrinsic
    def accumulate(typingctx, tile, at, lane, weights, start):
        signature = types.UniTuple(types.float32, count)(tile, at, lane, weights, start)

        def codegen(context, builder, signature, arguments):
            data = data_of(context, builder, signature.args[0], arguments[0], space=SHARED)
            lane = narrow(builder, arguments[2])
            at_window = builder.add(
                builder.mul(lane, constant(shape.across)), constant(shape.first_word * WORD)
            )
            first = moved(builder, data, builder.add(narrow(builder, arguments[1]), at_window))
            words = builder.bitcast(first, I32.as_pointer(SHARED))
            weights = constant_weights(builder, shape.weights)
            walk = ByteWalk(shape, builder, words, weights, arguments[4])
            return context.make_tuple(builder, signature.return_type, walk.emit())

        return signature, codegen

    def twin(tile: Any, at: int, lane: int, weights: Any, start: Any) -> tuple[Any, ...]:
        first = at + shape.first_word * WORD + lane * shape.across
        totals = [start] * count
        mask = [[weights[m, n] for n in range(shape.mask_columns)] for m in range(shape.mask_rows)]
        for row in range(shape.rows + shape.mask_rows - 1):
            begin = first + row * shape.tile_samples
            window = [types.float32(tile[begin + cell]) for cell in range(shape.window)]
            for i in range(max(0, row - shape.mask_rows + 1), min(shape.rows, row + 1)):
                for k in range(shape.across):
                    partial = types.float32(0.0)
                    for n, weight in enumerate(mask[row - i]):
                        partial = window[shape.shift + k + n * shape.channels] * weight + partial
                    totals[i * shape.across + k] = totals[i * shape.across + k] + partial
        return tuple(totals)

    return with_twin(accumulate, twin)
