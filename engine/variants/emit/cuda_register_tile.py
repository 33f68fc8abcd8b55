"""The machine code of `register-blocked`: what Python statements would make slow to compile, emitted as LLVM IR.

Three pieces, each with a twin in plain Python that does the same element by element (`py_func`): the simulator and the
counting tests run the twin. Emitting the multiply-adds through one intrinsic compiles in 0.2 to 0.6 s; the same as
unrolled Python statements took 7 s (5 x 5) and 267 s (15 x 15).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from llvmlite import ir
from numba import types

from engine.device.numba_cuda import SIMULATED, intrinsic

VECTOR = 4
"""Samples that are loaded and stored at once: 16 bytes of float32."""

MOST_UNROLLED = 1300
"""Multiply-adds in a row that the instruction cache of a multiprocessor takes well: 21 KB of code."""

_F32, _I32, _I64 = ir.FloatType(), ir.IntType(32), ir.IntType(64)
_SHARED = 3


@dataclass(frozen=True, slots=True)
class TileShape:
    """The shape of a block's work; everything is known when the kernel is compiled.

    Parameters
    ----------
    mask_rows, mask_columns, channels : int
    before : int
        Samples of the input tile before the output tile: those left of the anchor, rounded up to whole vectors.
    shift : int
        Samples from the first one of a thread's window to the one under the mask's first column.
    groups : int
        Vectors of results in a row of one thread, 32 x 4 samples apart.
    rows : int
        Rows of results of one thread.
    warps : int
        Warps of a block, one above the other.
    """

    mask_rows: int
    mask_columns: int
    channels: int
    before: int
    shift: int
    groups: int
    rows: int
    warps: int

    @property
    def multiply_adds(self) -> int:
        """Multiply-adds of a thread."""
        return self.rows * self.groups * VECTOR * self.mask_rows * self.mask_columns

    @property
    def unrolled(self) -> bool:
        """Whether the multiply-adds are few enough to be written one after another, without a loop."""
        return self.multiply_adds <= MOST_UNROLLED

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return 32 * self.warps

    @property
    def out_samples(self) -> int:
        """Samples of results in a row of the block."""
        return 32 * VECTOR * self.groups

    @property
    def out_rows(self) -> int:
        """Rows of results of the block."""
        return self.rows * self.warps

    @property
    def window(self) -> int:
        """Samples that a thread reads of an input row for one vector of results, in whole vectors."""
        needed = self.shift + VECTOR + (self.mask_columns - 1) * self.channels
        return -(-needed // VECTOR) * VECTOR

    @property
    def tile_samples(self) -> int:
        """Samples in a row of the input tile."""
        return self.out_samples + self.window - VECTOR

    @property
    def tile_rows(self) -> int:
        """Rows of the input tile."""
        return self.out_rows + self.mask_rows - 1

    @property
    def tap_pitch(self) -> int:
        """Weights from one mask row to the next in shared memory, in whole vectors."""
        return -(-self.mask_columns // VECTOR) * VECTOR

    @property
    def shared_bytes(self) -> int:
        """Input tile and weights."""
        return 4 * (self.tile_rows * self.tile_samples + self.mask_rows * self.tap_pitch)


def _with_twin(emitted: Any, twin: Callable[..., Any]) -> Any:
    if SIMULATED:
        return twin
    emitted.py_func = twin
    return emitted


def _constant(value: int, kind: ir.IntType = _I32) -> ir.Constant:
    return ir.Constant(kind, value)


def _wide(builder: ir.IRBuilder, value: ir.Value) -> ir.Value:
    return builder.sext(value, _I64) if value.type.width < 64 else value


def _narrow(builder: ir.IRBuilder, value: ir.Value) -> ir.Value:
    return builder.trunc(value, _I32) if value.type.width > 32 else value


def _data(
    context: Any, builder: ir.IRBuilder, kind: Any, array: ir.Value, *, shared: bool = False
) -> ir.Value:
    pointer = context.make_array(kind)(context, builder, array).data
    if shared and pointer.type.addrspace != _SHARED:
        return builder.addrspacecast(pointer, ir.PointerType(pointer.type.pointee, _SHARED))
    return pointer


def _shape(context: Any, builder: ir.IRBuilder, kind: Any, array: ir.Value) -> list[ir.Value]:
    whole = context.make_array(kind)(context, builder, array)
    return [builder.extract_value(whole.shape, axis) for axis in range(kind.ndim)]


def _vector_at(builder: ir.IRBuilder, pointer: ir.Value) -> ir.Value:
    kind = ir.VectorType(pointer.type.pointee, VECTOR)
    return builder.bitcast(pointer, kind.as_pointer(pointer.type.addrspace))


def _load_vector(builder: ir.IRBuilder, pointer: ir.Value, itemsize: int) -> list[ir.Value]:
    loaded = builder.load(_vector_at(builder, pointer), align=VECTOR * itemsize)
    return [builder.extract_element(loaded, _constant(k)) for k in range(VECTOR)]


def _store_vector(builder: ir.IRBuilder, pointer: ir.Value, values: list[ir.Value]) -> None:
    vector = ir.Constant(ir.VectorType(_F32, VECTOR), ir.Undefined)
    for k, value in enumerate(values):
        vector = builder.insert_element(vector, value, _constant(k))
    builder.store(vector, _vector_at(builder, pointer), align=VECTOR * 4)


def _fma(builder: ir.IRBuilder, a: ir.Value, b: ir.Value, c: ir.Value) -> ir.Value:
    name, module = "llvm.fma.f32", builder.module
    function = module.globals.get(name) or ir.Function(module, ir.FunctionType(_F32, [_F32] * 3), name)
    return builder.call(function, [a, b, c])


# Vectors that a thread has under way at once while it fills the tile; 16 take 64 registers.
IN_FLIGHT = 16


def tile_loader(shape: TileShape, itemsize: int, rule: Callable[[int, int], int]) -> Any:
    """Return the function that fills the input tile: `load(tile, image, top, lane, warp, left)`.

    Row j of the tile comes from the row of the picture that the border's rule has for top + j, from sample `left` (a
    multiple of 4) on. Where that leaves the picture's row, samples at its ends stand in, and row 0 for a row of ghost
    cells: the caller has to mend them. A warp loads whole rows, 32 vectors at once; what a row has past the output
    tile's width the block's threads share. No thread waits for another.

    Parameters
    ----------
    shape : TileShape
    itemsize : int
        Bytes of a sample of the picture.
    rule : callable of (int, int) -> int
        The border's index rule, -1 for a ghost cell.
    """
    main = shape.groups * 32
    extra = shape.tile_samples // VECTOR - main
    extras = shape.tile_rows * extra
    rows_a_warp = -(-shape.tile_rows // shape.warps)
    rows_at_once = max(1, IN_FLIGHT // shape.groups)

    @intrinsic
    def load(typingctx, tile, image, top, lane, warp, left):
        signature = types.void(tile, image, top, lane, warp, left)

        def codegen(context, builder, signature, arguments):
            kinds = signature.args
            tile_data = _data(context, builder, kinds[0], arguments[0], shared=True)
            image_data = _data(context, builder, kinds[1], arguments[1])
            height, row_pixels, channels = _shape(context, builder, kinds[1], arguments[1])
            wide_pitch, top = builder.mul(row_pixels, channels), _wide(builder, arguments[2])
            pitch = _narrow(builder, wide_pitch)
            rule_type = types.int64(types.int64, types.int64)
            lane, warp, left = (_narrow(builder, value) for value in arguments[3:6])
            remainder = builder.and_(pitch, _constant(VECTOR - 1))
            is_aligned = builder.icmp_unsigned("==", remainder, _constant(0))

            def clamped(sample: ir.Value, most: ir.Value) -> ir.Value:
                low = builder.select(builder.icmp_signed("<", sample, _constant(0)), _constant(0), sample)
                return builder.select(builder.icmp_signed(">", low, most), most, low)

            def row_pointer(row: ir.Value) -> ir.Value:
                index = builder.add(top, builder.sext(row, _I64))
                source = context.compile_internal(builder, rule, rule_type, [index, height])
                none = _constant(0, _I64)
                source = builder.select(builder.icmp_signed("<", source, none), none, source)
                return builder.gep(image_data, [builder.mul(source, wide_pitch)])

            def fetch(pointer: ir.Value, sample: ir.Value, whole: bool) -> list[ir.Value]:
                """Return 4 samples from `sample` of the tile's row on."""
                x = builder.add(left, sample)
                if whole:
                    at = builder.sext(clamped(x, builder.sub(pitch, _constant(VECTOR))), _I64)
                    values = _load_vector(builder, builder.gep(pointer, [at]), itemsize)
                else:
                    last = builder.sub(pitch, _constant(1))
                    places = (clamped(builder.add(x, _constant(k)), last) for k in range(VECTOR))
                    values = [
                        builder.load(builder.gep(pointer, [builder.sext(place, _I64)])) for place in places
                    ]
                return [value if value.type == _F32 else builder.uitofp(value, _F32) for value in values]

            def put(row: ir.Value, sample: ir.Value, values: list[ir.Value]) -> None:
                at = builder.add(builder.mul(row, _constant(shape.tile_samples)), sample)
                _store_vector(builder, builder.gep(tile_data, [builder.sext(at, _I64)]), values)

            def load_rows(first: int, last: int, whole: bool) -> None:
                """Load this warp's rows number first .. last - 1, all under way before the first is stored."""
                samples = [
                    builder.mul(builder.add(lane, _constant(32 * group)), _constant(VECTOR))
                    for group in range(shape.groups)
                ]
                under_way = []
                for number in range(first, last):
                    row = builder.add(warp, _constant(number * shape.warps))
                    pointer = row_pointer(row)
                    under_way += [(row, sample, fetch(pointer, sample, whole)) for sample in samples]
                for row, sample, values in under_way:
                    put(row, sample, values)

            def load_extras(whole: bool) -> None:
                thread = builder.add(builder.mul(warp, _constant(32)), lane)
                for first in range(0, extras, shape.threads):
                    number = builder.add(thread, _constant(first))
                    with builder.if_then(builder.icmp_unsigned("<", number, _constant(extras))):
                        row = builder.udiv(number, _constant(extra))
                        column = builder.sub(number, builder.mul(row, _constant(extra)))
                        sample = builder.mul(builder.add(column, _constant(main)), _constant(VECTOR))
                        put(row, sample, fetch(row_pointer(row), sample, whole))

            def load_all(whole: bool) -> None:
                # All warps have this many rows; one more has only some.
                sure = shape.tile_rows // shape.warps
                for first in range(0, sure, rows_at_once):
                    load_rows(first, min(first + rows_at_once, sure), whole)
                if rows_a_warp > sure:
                    row = builder.add(warp, _constant(sure * shape.warps))
                    with builder.if_then(builder.icmp_unsigned("<", row, _constant(shape.tile_rows))):
                        load_rows(sure, sure + 1, whole)
                load_extras(whole)

            # Rows that begin anywhere (packed, of a width that is no multiple of 4) allow single samples only.
            with builder.if_else(is_aligned) as (then, otherwise):
                with then:
                    load_all(True)
                with otherwise:
                    load_all(False)
            return context.get_dummy_value()

        return signature, codegen

    def twin(tile: Any, image: Any, top: int, lane: int, warp: int, left: int) -> None:
        height, row_pixels, channels = image.shape
        pitch = row_pixels * channels
        whole = pitch % VECTOR == 0

        def copy(row: int, sample: int) -> None:
            source = max(rule(top + row, height), 0)
            for k in range(VECTOR):
                x = left + sample
                x = min(max(x, 0), pitch - VECTOR) + k if whole else min(max(x + k, 0), pitch - 1)
                value = image[source, x // channels, x % channels]
                tile[row * shape.tile_samples + sample + k] = types.float32(value)

        for row in range(warp, shape.tile_rows, shape.warps):
            for group in range(shape.groups):
                copy(row, (lane + 32 * group) * VECTOR)
        for number in range(warp * 32 + lane, extras, shape.threads):
            row, column = divmod(number, extra)
            copy(row, (main + column) * VECTOR)

    return _with_twin(load, twin)


def accumulator(shape: TileShape) -> Any:
    """Return the function that computes a thread's results, without offset: `accumulate(tile, at, taps)` -> sums.

    The `rows` x `groups` x 4 sums begin with row 0. Result row i meets input row r under mask row m = r - i, where
    there is one. Each (result, mask row) pair has a float32 partial sum of its own, a chain of fused multiply-adds.

    Parameters
    ----------
    shape : TileShape
        Where it is `unrolled` every input row has code of its own; else a loop walks down the rows, because code that
        the instruction cache does not hold runs at a third to three quarters of the speed (H200, 51 KB of it).
    """
    across = shape.groups * VECTOR
    count = shape.rows * across
    walked = shape.rows + shape.mask_rows - 1

    @intrinsic
    def accumulate(typingctx, tile, at, taps):
        signature = types.UniTuple(types.float32, count)(tile, at, taps)

        def codegen(context, builder, signature, arguments):
            kinds = signature.args
            tile_data = _data(context, builder, kinds[0], arguments[0], shared=True)
            taps_data = _data(context, builder, kinds[2], arguments[2], shared=True)
            start = builder.gep(tile_data, [_wide(builder, arguments[1])])

            def windows_of(pointer: ir.Value) -> list[list[ir.Value]]:
                windows = []
                for group in range(shape.groups):
                    window: list[ir.Value] = []
                    for sample in range(0, shape.window, VECTOR):
                        offset = _constant(group * 32 * VECTOR + sample, _I64)
                        window += _load_vector(builder, builder.gep(pointer, [offset]), 4)
                    windows.append(window)
                return windows

            def weights_of(pointer: ir.Value) -> list[ir.Value]:
                weights: list[ir.Value] = []
                for n in range(0, shape.tap_pitch, VECTOR):
                    weights += _load_vector(builder, builder.gep(pointer, [_constant(n, _I64)]), 4)
                return weights

            def partial_sums(windows: list[list[ir.Value]], weights: list[ir.Value]) -> list[ir.Value]:
                sums: list[ir.Value] = []
                for n in range(shape.mask_columns):
                    for place in range(across):
                        group, k = divmod(place, VECTOR)
                        value = windows[group][shape.shift + k + n * shape.channels]
                        if n == 0:
                            sums.append(builder.fmul(value, weights[0]))
                        else:
                            sums[place] = _fma(builder, value, weights[n], sums[place])
                return sums

            def unrolled() -> list[ir.Value]:
                weights = [
                    weights_of(builder.gep(taps_data, [_constant(m * shape.tap_pitch, _I64)]))
                    for m in range(shape.mask_rows)
                ]
                totals: list[ir.Value | None] = [None] * count
                for row in range(walked):
                    windows = windows_of(builder.gep(start, [_constant(row * shape.tile_samples, _I64)]))
                    for i in range(shape.rows):
                        if not 0 <= row - i < shape.mask_rows:
                            continue
                        for place, partial in enumerate(partial_sums(windows, weights[row - i]), i * across):
                            before = totals[place]
                            totals[place] = partial if before is None else builder.fadd(before, partial)
                return totals

            def looped() -> list[ir.Value]:
                zero, entry = ir.Constant(_F32, 0.0), builder.block
                body, after = (builder.append_basic_block(name) for name in ("input_row", "rows_done"))
                builder.branch(body)
                builder.position_at_end(body)
                row = builder.phi(_I32)
                row.add_incoming(_constant(0), entry)
                carried = [builder.phi(_F32) for _ in range(count)]
                for value in carried:
                    value.add_incoming(zero, entry)
                totals: list[ir.Value] = list(carried)
                begin = builder.mul(row, _constant(shape.tile_samples))
                windows = windows_of(builder.gep(start, [builder.sext(begin, _I64)]))
                for i in range(shape.rows):
                    mask_row = builder.sub(row, _constant(i))
                    before, first, outer = list(totals), i * across, builder.block
                    with builder.if_then(builder.icmp_unsigned("<", mask_row, _constant(shape.mask_rows))):
                        tap = builder.sext(builder.mul(mask_row, _constant(shape.tap_pitch)), _I64)
                        partial = partial_sums(windows, weights_of(builder.gep(taps_data, [tap])))
                        for place in range(across):
                            totals[first + place] = builder.fadd(totals[first + place], partial[place])
                        inner = builder.block
                    for place in range(first, first + across):
                        joined = builder.phi(_F32)
                        joined.add_incoming(totals[place], inner)
                        joined.add_incoming(before[place], outer)
                        totals[place] = joined
                following = builder.add(row, _constant(1))
                row.add_incoming(following, builder.block)
                for value, total in zip(carried, totals, strict=True):
                    value.add_incoming(total, builder.block)
                builder.cbranch(builder.icmp_unsigned("<", following, _constant(walked)), body, after)
                builder.position_at_end(after)
                return totals

            totals = unrolled() if shape.unrolled else looped()
            return context.make_tuple(builder, signature.return_type, totals)

        return signature, codegen

    def twin(tile: Any, at: int, taps: Any) -> tuple[Any, ...]:
        def weights_of(m: int) -> list[Any]:
            return [taps[m * shape.tap_pitch + n] for n in range(shape.tap_pitch)]

        totals: list[Any] = [types.float32(0.0)] * count
        kept = [weights_of(m) for m in range(shape.mask_rows)] if shape.unrolled else []
        for row in range(walked):
            begin = at + row * shape.tile_samples
            windows = [
                [tile[begin + group * 32 * VECTOR + sample] for sample in range(shape.window)]
                for group in range(shape.groups)
            ]
            for i in range(shape.rows):
                if not 0 <= row - i < shape.mask_rows:
                    continue
                weights = kept[row - i] if shape.unrolled else weights_of(row - i)
                for place in range(across):
                    group, k = divmod(place, VECTOR)
                    partial = windows[group][shape.shift + k] * weights[0]
                    for n in range(1, shape.mask_columns):
                        value = windows[group][shape.shift + k + n * shape.channels]
                        partial = value * weights[n] + partial
                    totals[i * across + place] = totals[i * across + place] + partial
        return tuple(totals)

    return _with_twin(accumulate, twin)


def result_storer(shape: TileShape) -> Any:
    """Return the function that writes a thread's results: `store(out, row, sample, samples, sums, offset)`.

    `row` and `sample` are those of its first result; what lies at or past the picture's rows or past `samples` is not
    written.

    Parameters
    ----------
    shape : TileShape
    """

    @intrinsic
    def store(typingctx, out, row, sample, samples, sums, offset):
        signature = types.void(out, row, sample, samples, sums, offset)

        def codegen(context, builder, signature, arguments):
            kinds = signature.args
            out_data = _data(context, builder, kinds[0], arguments[0])
            height, row_pixels, channels = _shape(context, builder, kinds[0], arguments[0])
            pitch = builder.mul(row_pixels, channels)
            row, sample, samples = (_wide(builder, value) for value in arguments[1:4])
            aligned = builder.icmp_unsigned(
                "==", builder.and_(pitch, _constant(VECTOR - 1, _I64)), _constant(0, _I64)
            )
            for group in range(shape.groups):
                x = builder.add(sample, _constant(group * 32 * VECTOR, _I64))
                is_whole = builder.icmp_signed("<=", builder.add(x, _constant(VECTOR, _I64)), samples)
                for i in range(shape.rows):
                    y = builder.add(row, _constant(i, _I64))
                    first = (i * shape.groups + group) * VECTOR
                    values = [
                        builder.fadd(builder.extract_value(arguments[4], first + k), arguments[5])
                        for k in range(VECTOR)
                    ]
                    at = builder.gep(out_data, [builder.add(builder.mul(y, pitch), x)])
                    is_row = builder.icmp_signed("<", y, height)
                    with builder.if_then(builder.and_(is_row, builder.and_(aligned, is_whole))):
                        _store_vector(builder, at, values)
                    in_parts = builder.not_(builder.and_(aligned, is_whole))
                    with builder.if_then(builder.and_(is_row, in_parts)):
                        for k, value in enumerate(values):
                            inside = builder.icmp_signed("<", builder.add(x, _constant(k, _I64)), samples)
                            with builder.if_then(inside):
                                builder.store(value, builder.gep(at, [_constant(k, _I64)]))
            return context.get_dummy_value()

        return signature, codegen

    def twin(out: Any, row: int, sample: int, samples: int, sums: tuple[Any, ...], offset: Any) -> None:
        height, _, channels = out.shape
        for i in range(shape.rows):
            for place in range(shape.groups * VECTOR):
                group, k = divmod(place, VECTOR)
                x = sample + group * 32 * VECTOR + k
                if row + i < height and x < samples:
                    out[row + i, x // channels, x % channels] = (
                        sums[i * shape.groups * VECTOR + place] + offset
                    )

    return _with_twin(store, twin)
