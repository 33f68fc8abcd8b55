"""The two passes of a mask that is a column times a row, emitted as LLVM IR: along a row, then down the columns.

Both loops over the factor are loops with bounds known only at run time, so one compilation serves every mask.
"""

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from engine.variants.ir.cpu_results import store_results
from engine.variants.ir.cpu_vectors import (
    FLOAT,
    HAS_BROADCAST,
    INT,
    VECTOR,
    Vectors,
    data_of,
    number,
    pointer_at,
    sample_type,
)

# Sums of a strip along a row; that they are several hides that each multiply-add waits for the one before it.
_ALONG_VECTORS = 4
# Samples that are one tap apart are loaded once, and moved within the registers for the second tap: a vector that lies
# across two lines of the cache takes 1.7 cycles to load with AVX-512, its multiply-add and a move 1 each, in different units.
# Shorter vectors lie across lines less often. With it a core makes 41 G multiply-adds/s, without it 33.
_PAIRS = HAS_BROADCAST
# Results of a strip down the columns: a vector that was loaded serves four of them, a weight four vectors.
RESULTS_AT_ONCE = 4
_DOWN_VECTORS = 4 if VECTOR == 16 else 2
# Rows of sums that a round of the inner loop adds, for float32 results: 15 x 15 takes 5 % less time than with one. 8-bit results
# take 2 to 5 % more.
ROWS_A_ROUND = (2, 1)


@intrinsic
def as_floats(typingctx, source, sample, floats, count):
    """Return the address of `count` samples as float32: the given one if they are, else that of `floats`, which gets them.

    Whole vectors are read and written, so up to a vector less one more. `sample` is a flat array of the samples' type.
    """
    signature = types.int64(types.int64, sample, floats, types.int64)

    def codegen(context, builder, signature, arguments):
        source, _, floats_array, count = arguments
        if sample.dtype == types.float32:
            return source
        source = pointer_at(builder, source, sample_type(sample.dtype))
        target = data_of(context, builder, floats, floats_array)
        vectors = Vectors(builder)
        vectors.strips(count, 1, lambda at, _: vectors.store(vectors.load(source, at), target, at))
        return builder.ptrtoint(target, INT)

    return signature, codegen


@intrinsic
def sum_along(typingctx, source, sample, factor, taps, mirrored, step, width, sums, sums_at):
    """Correlate a row of float32 samples with a factor of the mask.

    Parameters
    ----------
    source : int64
        Address of the first result's first sample, a float32.
    sample : flat array
        Only its type matters: that of the picture's samples, from which these were made.
    factor : flat float32 array
    taps : int64
        Its length.
    mirrored : int64
        Whether the factor is the same from both ends. Then samples of whole numbers under equal weights are added first,
        which takes half the multiply-adds; float32 samples might overflow.
    step : int64
        Samples from one tap to the next, at most a vector's.
    width : int64
        Sums wanted. Whole vectors are read and written, so up to a vector less one more; two more are read.
    sums : flat float32 array
    sums_at : int64
        Element of the first sum.
    """
    signature = types.void(
        types.int64, sample, factor, types.int64, types.int64, types.int64, types.int64, sums, types.int64
    )

    def codegen(context, builder, signature, arguments):
        source, _, factor_array, taps, mirrored, step, width, sums_array, sums_at = arguments
        # Else the compiler writes loops twice, with and without the branches in them, which takes 0.2 s.
        builder.function.attributes.add("optsize")
        along = _Along(
            Vectors(builder),
            pointer_at(builder, source, FLOAT),
            data_of(context, builder, factor, factor_array),
            taps,
            builder.gep(data_of(context, builder, sums, sums_array), [sums_at]),
            None if sample.dtype == types.float32 else builder.trunc(mirrored, ir.IntType(1)),
            step,
        )
        along.emit(width)
        return context.get_dummy_value()

    return signature, codegen


class _Along:
    """Emits the sums along a row."""

    def __init__(self, vectors, source, weights, taps, sums, mirrored, step) -> None:
        self.vectors, self.builder = vectors, vectors.builder
        self.source, self.weights, self.taps, self.sums = source, weights, taps, sums
        self.mirrored, self.step = mirrored, step
        self.next_tap = vectors.lanes_from(step) if _PAIRS else None

    def emit(self, width: ir.Value) -> None:
        """Emit all strips of the width."""
        if self.mirrored is None:
            self._strips(width, folds=False)
            return
        with self.builder.if_else(self.mirrored) as (mirrored, plain):
            for branch, folds in ((mirrored, True), (plain, False)):
                with branch:
                    self._strips(width, folds)

    def _strips(self, width: ir.Value, folds: bool) -> None:
        self.vectors.strips(width, _ALONG_VECTORS, lambda column, across: self._strip(column, across, folds))

    def _steps(self, taps: int) -> ir.Value:
        return self.builder.mul(self.step, number(taps))

    def _strip(self, column: ir.Value, across: int, folds: bool) -> None:
        builder, vectors = self.builder, self.vectors
        source = builder.gep(self.source, [column])
        # The last tap not yet taken, from the other end.
        behind = builder.gep(source, [builder.mul(builder.sub(self.taps, number(1)), self.step)])
        left = dict.fromkeys(range(across), vectors.zero)
        left |= {"source": source, "behind": behind, "weight": self.weights, "left": self.taps}
        if folds:
            left = self._taps(left, across, 2 if _PAIRS else 1, both_ends=True)
            if _PAIRS:
                left = self._taps(left, across, 1, both_ends=True)
        elif _PAIRS:
            left = self._taps(left, across, 2)
        left = self._taps(left, across, 1)
        for v in range(across):
            vectors.store(left[v], self.sums, builder.add(column, number(v * VECTOR)))

    def _taps(self, start, across: int, taps: int, *, both_ends: bool = False):
        """Emit rounds of so many taps, from both ends of the factor if wanted, as many as there are left."""
        builder, vectors = self.builder, self.vectors
        taken = 2 * taps if both_ends else taps

        def some_taps(values):
            samples = self._samples(values["source"], across, taps)
            if both_ends:
                last = builder.gep(values["behind"], [self._steps(1 - taps)])
                mirrored = self._samples(last, across, taps)[::-1]
                samples = [
                    [builder.fadd(*both) for both in zip(*rows, strict=True)]
                    for rows in zip(samples, mirrored, strict=True)
                ]
            added = {v: values[v] for v in range(across)}
            for tap in range(taps):
                weight = vectors.splat(builder.load(builder.gep(values["weight"], [number(tap)])))
                for v in range(across):
                    added[v] = vectors.multiply_add(samples[tap][v], weight, added[v])
            return added | {
                "source": builder.gep(values["source"], [self._steps(taps)]),
                "behind": builder.gep(values["behind"], [self._steps(-taps)]),
                "weight": builder.gep(values["weight"], [number(taps)]),
                "left": builder.sub(values["left"], number(taken)),
            }

        return vectors.repeat_while(
            start, lambda values: builder.icmp_signed(">=", values["left"], number(taken)), some_taps
        )

    def _samples(self, source: ir.Value, across: int, taps: int) -> list[list[ir.Value]]:
        """Return the samples of one tap, or of two: the second one's are the first one's, moved."""
        vectors = self.vectors
        loaded = [vectors.load(source, number(v * VECTOR)) for v in range(across + taps - 1)]
        samples = [loaded[:across]]
        if taps == 2:
            samples.append([vectors.picked(loaded[v], loaded[v + 1], self.next_tap) for v in range(across)])
        return samples


@intrinsic
def sum_down(
    typingctx, sums, sums_at, sums_pitch, factor, taps, width, offset, results, out, out_sample, out_pitch
):
    """Correlate the columns of rows of sums with a factor of the mask.

    Parameters
    ----------
    sums : flat float32 array
    sums_at, sums_pitch : int64
        Element of the first result's first sum; elements from one row to the next.
    factor : flat float32 array
    taps : int64
        Its length.
    width : int64
        Results of a row; whole vectors are read and written, so up to a vector less one more.
    offset : float32
        Added to every result.
    results : int64
        Rows of results: 1, or RESULTS_AT_ONCE if there are at least as many taps.
    out : int64
        Address of the first result.
    out_sample : flat array
        Only its type matters: that of the results.
    out_pitch : int64
        Results from one row to the next.
    """
    signature = types.void(
        sums, types.int64, types.int64, factor, types.int64, types.int64, types.float32, types.int64, types.int64,
        out_sample, types.int64,
    )  # fmt: skip

    def codegen(context, builder, signature, arguments):
        sums_array, sums_at, sums_pitch, factor_array, taps, width, offset, results, out, _, out_pitch = (
            arguments
        )
        down = _Down(
            Vectors(builder),
            builder.gep(data_of(context, builder, sums, sums_array), [sums_at]),
            sums_pitch,
            data_of(context, builder, factor, factor_array),
            taps,
            offset,
            pointer_at(builder, out, sample_type(out_sample.dtype)),
            out_pitch,
        )
        with builder.if_else(builder.icmp_signed("==", results, number(1))) as (single, several):
            with single:
                down.emit(1, width)
            with several:
                down.emit(RESULTS_AT_ONCE, width)
        return context.get_dummy_value()

    return signature, codegen


class _Down:
    """Emits the sums down the columns for a number of result rows."""

    def __init__(self, vectors, sums, pitch, weights, taps, offset, out, out_pitch) -> None:
        self.vectors, self.builder = vectors, vectors.builder
        self.sums, self.pitch, self.weights, self.taps = sums, pitch, weights, taps
        self.bias = vectors.splat(offset)
        self.out, self.out_pitch = out, out_pitch

    def emit(self, results: int, width: ir.Value) -> None:
        """Emit all strips of the width."""
        self.vectors.strips(width, _DOWN_VECTORS, lambda column, across: self._strip(results, column, across))

    def _strip(self, results: int, column: ir.Value, across: int) -> None:
        """Emit a strip: rows that only the first results meet, those that all do, those that only the last ones do.

        A row beyond a result's taps is left out, not multiplied by 0: it may be infinite.
        """
        builder = self.builder
        totals = dict.fromkeys(
            [(result, v) for result in range(results) for v in range(across)], self.vectors.zero
        )
        row, weight = builder.gep(self.sums, [column]), self.weights
        for last in range(results - 1):
            totals = self._add_row(totals, row, weight, range(last + 1), across)
            row, weight = builder.gep(row, [self.pitch]), builder.gep(weight, [number(1)])

        left = {"row": row, "weight": weight, "left": builder.sub(self.taps, number(results - 1))} | totals

        def some_rows(values, rows: int):
            added, row, weight = {cell: values[cell] for cell in totals}, values["row"], values["weight"]
            for _ in range(rows):
                added = self._add_row(added, row, weight, range(results), across)
                row, weight = builder.gep(row, [self.pitch]), builder.gep(weight, [number(1)])
            return added | {"row": row, "weight": weight, "left": builder.sub(values["left"], number(rows))}

        if results > 1 and self.out.type.pointee == FLOAT:
            for rows in ROWS_A_ROUND:
                left = self.vectors.repeat_while(
                    left,
                    lambda values, rows=rows: builder.icmp_signed(">=", values["left"], number(rows)),
                    lambda values, rows=rows: some_rows(values, rows),
                )
        else:

            def one_row(values):
                following = some_rows(values, 1)
                return following, builder.icmp_signed(">", following["left"], number(0))

            left = self.vectors.repeat(left, one_row)
        row, weight = left["row"], left["weight"]
        totals = {cell: left[cell] for cell in totals}
        for first in range(1, results):
            totals = self._add_row(totals, row, weight, range(first, results), across)
            row, weight = builder.gep(row, [self.pitch]), builder.gep(weight, [number(1)])
        self._store(totals, column)

    def _add_row(self, totals, row, weight, met: range, across: int):
        """Return the totals with a row of sums added to the results `met`; `weight` is that of result 0."""
        builder, vectors = self.builder, self.vectors
        sums = [vectors.load(row, number(v * VECTOR)) for v in range(across)]
        added = dict(totals)
        for result in met:
            one = vectors.splat(builder.load(builder.gep(weight, [number(-result)])))
            for v in range(across):
                added[result, v] = vectors.multiply_add(sums[v], one, totals[result, v])
        return added

    def _store(self, totals, column: ir.Value) -> None:
        builder = self.builder
        results, across = (1 + max(place) for place in zip(*totals, strict=True))
        into_cache = ir.Constant(ir.IntType(1), 0)
        for result in range(results):
            at = builder.add(builder.mul(number(result), self.out_pitch), column)
            values = [builder.fadd(totals[result, v], self.bias) for v in range(across)]
            store_results(self.vectors, values, self.out, at, into_cache)
