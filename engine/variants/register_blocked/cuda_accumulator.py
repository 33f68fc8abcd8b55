"""The multiply-adds of `register-blocked` and `separable-fused`, emitted as LLVM IR.

Through one intrinsic they compile in 0.1 to 0.4 s; the same as unrolled Python statements took 7 s (5 x 5) and 267 s
(15 x 15).
"""

from typing import Any

from llvmlite import ir
from numba import types

from engine.device.numba_cuda import intrinsic
from engine.variants.ir.cuda_constants import constant_weights
from engine.variants.ir.cuda_ir import (
    F32,
    I32,
    SHARED,
    constant,
    data_of,
    fma,
    load_vector,
    moved,
    narrow,
    not_unrolled,
    with_twin,
)
from engine.variants.ir.register_tile import VECTOR, TileShape
from engine.variants.register_blocked.cuda_tile_loader import placed

Values = list[ir.Value]


class MaskWalk:
    """Emits the walk down the mask rows over a window of input rows.

    Result row i lies under mask row m with input row i + m. So mask row m needs `rows` input rows; the next one needs
    the same but for the first, and one more, which is all that is loaded. Each weight serves `rows` x `across` results
    at once. Each (result, mask row) pair has a float32 partial sum of its own, a chain of fused multiply-adds.

    Parameters
    ----------
    shape : TileShape
    builder : IRBuilder
    cells : list of pointers
        To each vector of this thread's window of the first input row; float32, any address space.
    weights : pointer
        The mask, `weight_pitch` floats a row.
    start : float32 value, optional
        What the first chain begins with; nothing if it is left out.
    """

    def __init__(
        self,
        shape: TileShape,
        builder: ir.IRBuilder,
        cells: Values,
        weights: ir.Value,
        start: ir.Value | None = None,
    ) -> None:
        self._shape, self._builder, self._start = shape, builder, start
        self._cells, self._weights = cells, weights

    def emit(self) -> Values:
        """Return the sums, row by row."""
        shape, builder = self._shape, self._builder
        in_loop = shape.mask_rows // shape.unrolled_rows
        before = shape.mask_rows if in_loop < 2 else shape.mask_rows % shape.unrolled_rows
        windows = [self._window(self._cells, row) for row in range(shape.rows - 1)]
        count = shape.rows * shape.across
        sums: Values = []
        for m in range(before):
            windows, sums = self._mask_row(windows, sums, self._cells, self._weights, m)
        if before == shape.mask_rows:
            return sums

        entry = builder.block
        body, after = builder.append_basic_block("mask_rows"), builder.append_basic_block("sums_done")
        builder.branch(body)
        builder.position_at_end(body)
        number = builder.phi(I32)
        number.add_incoming(constant(0), entry)
        begin = ir.Constant(F32, 0.0) if self._start is None else self._start
        carried_sums = self._carried(sums or [begin] * count, entry)
        carried_windows = [self._carried(window, entry) for window in windows]
        windows, sums = [list(window) for window in carried_windows], list(carried_sums)
        row_cells, row_weights = shape.tile_samples, shape.weight_pitch
        passed = builder.mul(number, constant(shape.unrolled_rows * row_cells))
        cells = [moved(builder, pointer, passed) for pointer in self._cells]
        weights = moved(
            builder, self._weights, builder.mul(number, constant(shape.unrolled_rows * row_weights))
        )
        for m in range(before, before + shape.unrolled_rows):
            windows, sums = self._mask_row(windows, sums, cells, weights, m)
        following = builder.add(number, constant(1))
        number.add_incoming(following, builder.block)
        for carried, values in zip([carried_sums, *carried_windows], [sums, *windows], strict=True):
            for phi, value in zip(carried, values, strict=True):
                phi.add_incoming(value, builder.block)
        branch = builder.cbranch(builder.icmp_unsigned("<", following, constant(in_loop)), body, after)
        # What the instruction cache does not hold runs at a third to three quarters of the speed (H200, past 21 KB).
        not_unrolled(branch, builder.module)
        builder.position_at_end(after)
        return sums

    def _carried(self, values: Values, entry: ir.Block) -> list[ir.instructions.PhiInstr]:
        phis = [self._builder.phi(F32) for _ in values]
        for phi, value in zip(phis, values, strict=True):
            phi.add_incoming(value, entry)
        return phis

    def _window(self, cells: Values, row: int) -> Values:
        start = row * self._shape.tile_samples
        window: Values = []
        for pointer in cells:
            window += load_vector(self._builder, moved(self._builder, pointer, start), 4)
        return window

    def _weights_of(self, weights: ir.Value, m: int) -> Values:
        pitch, columns = self._shape.weight_pitch, self._shape.mask_columns
        if columns == 1:
            return [self._builder.load(moved(self._builder, weights, m))]
        row: Values = []
        for n in range(0, pitch, VECTOR):
            row += load_vector(self._builder, moved(self._builder, weights, m * pitch + n), 4)
        return row[:columns]

    def _mask_row(
        self, windows: list[Values], sums: Values, cells: Values, weights: ir.Value, m: int
    ) -> tuple[list[Values], Values]:
        """Add mask row m, from the window of its first input rows on; return the window of the next one."""
        shape, builder = self._shape, self._builder
        windows = [*windows, self._window(cells, m + shape.rows - 1)]
        partials: Values = []
        for n, weight in enumerate(self._weights_of(weights, m)):
            for place in range(shape.rows * shape.across):
                i, k = divmod(place, shape.across)
                value = windows[i][shape.shift + k + n * shape.channels]
                if place < len(partials):
                    partials[place] = fma(builder, value, weight, partials[place])
                elif sums or self._start is None:
                    partials.append(builder.fmul(value, weight))
                else:
                    partials.append(fma(builder, value, weight, self._start))
        if sums:
            partials = [builder.fadd(total, part) for total, part in zip(sums, partials, strict=True)]
        return windows[1:], partials


def window_pointers(builder: ir.IRBuilder, shape: TileShape, row: ir.Value, lane: ir.Value) -> Values:
    """Return the pointers to the vectors of a thread's window in a row of the tile, where `TileShape.place` has them."""
    first = moved(builder, row, builder.mul(lane, constant(shape.across)))
    numbers = range(shape.window // VECTOR)
    if not shape.mixed:
        return [moved(builder, first, VECTOR * number) for number in numbers]
    own = builder.mul(lane, constant(shape.vectors))
    pointers = []
    for number in numbers:
        place = placed(builder, shape, builder.add(own, constant(number)))
        pointers.append(moved(builder, row, builder.mul(place, constant(VECTOR))))
    return pointers


def accumulator(shape: TileShape, all_weights: int | None = None) -> Any:
    """Return the function that computes a thread's results: `accumulate(tile, at, lane, weights, start)` -> sums.

    `at` is where the row of the tile begins that lies under the mask's first row and the thread's first results; `start` is
    added to each sum. The `rows` x `across` sums begin with row 0. The compiled function reads its weights from constant memory
    (`cuda_constants.py`); its plain twin from the array that it is given.

    Parameters
    ----------
    shape : TileShape
    all_weights : int, optional
        Of the kernel, with those of other functions, which come after its own; None: there are no others.
    """
    count = shape.rows * shape.across
    all_weights = shape.weights if all_weights is None else all_weights

    @intrinsic
    def accumulate(typingctx, tile, at, lane, weights, start):
        signature = types.UniTuple(types.float32, count)(tile, at, lane, weights, start)

        def codegen(context, builder, signature, arguments):
            data = data_of(context, builder, signature.args[0], arguments[0], space=SHARED)
            row = moved(builder, data, arguments[1])
            cells = window_pointers(builder, shape, row, narrow(builder, arguments[2]))
            mask = constant_weights(builder, all_weights)
            walk = MaskWalk(shape, builder, cells, mask, arguments[4])
            return context.make_tuple(builder, signature.return_type, walk.emit())

        return signature, codegen

    def twin(tile: Any, at: int, lane: int, weights: Any, start: Any) -> tuple[Any, ...]:
        def window(row: int) -> list[Any]:
            start = at + row * shape.tile_samples
            vectors = [shape.place(lane * shape.vectors + number) for number in range(shape.window // VECTOR)]
            return [tile[start + vector * VECTOR + k] for vector in vectors for k in range(VECTOR)]

        windows = [window(row) for row in range(shape.rows - 1)]
        totals: list[Any] = [start] * count
        for m in range(shape.mask_rows):
            windows = [*windows, window(m + shape.rows - 1)][-shape.rows :]
            row = [weights[m, n] for n in range(shape.mask_columns)]
            for place in range(count):
                i, k = divmod(place, shape.across)
                partial = types.float32(0.0)
                for n in range(shape.mask_columns):
                    partial = windows[i][shape.shift + k + n * shape.channels] * row[n] + partial
                totals[place] += partial
        return tuple(totals)

    return with_twin(accumulate, twin)
