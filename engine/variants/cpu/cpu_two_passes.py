"""The two passes of a mask that is a column times a row: along a row, then down the columns.

Both loops over the factor are loops with bounds known only at run time, so one compilation serves every mask.
"""

from functools import partial
from typing import Any

from numba import types
from numba.extending import intrinsic

from engine.variants.ir.cpu_results import store_results
from engine.variants.ir.cpu_vectors import HAS_BROADCAST, INT, VECTOR, Vectors, sample_type
from engine.variants.ir.value import F32, Value

Values = dict[Any, Value]

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
        if sample.dtype == types.float32:
            return arguments[0]
        vectors = Vectors(context, builder)
        source, _, floats_array, count = vectors.arguments(signature, arguments)
        source = vectors.at_address(source, sample_type(sample.dtype))
        target = vectors.pointer(floats_array)
        vectors.strips(count, 1, lambda at, _: vectors.store(vectors.load(source, at), target, at))
        return builder.ptrtoint(target.llvm, INT)

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
        vectors = Vectors(context, builder)
        source, _, factor_array, taps, mirrored, step, width, sums_array, sums_at = vectors.arguments(
            signature, arguments
        )
        # Else the compiler writes loops twice, with and without the branches in them, which takes 0.2 s.
        builder.function.attributes.add("optsize")
        along = _Along(
            vectors,
            vectors.at_address(source, F32),
            vectors.pointer(factor_array),
            taps,
            vectors.pointer(sums_array) + sums_at,
            None if sample.dtype == types.float32 else vectors.flag(mirrored),
            step,
        )
        along.emit(width)
        return context.get_dummy_value()

    return signature, codegen


class _Along:
    """Emits the sums along a row."""

    def __init__(self, vectors, source, weights, taps, sums, mirrored, step) -> None:
        self.vectors = vectors
        self.source, self.weights, self.taps, self.sums = source, weights, taps, sums
        self.mirrored, self.step = mirrored, step
        self.next_tap = vectors.elements_from(step) if _PAIRS else None

    def emit(self, width: Value) -> None:
        """Emit all strips of the width."""
        if self.mirrored is None:
            self._strips(width, folds=False)
            return
        self.vectors.when(
            self.mirrored, lambda: self._strips(width, folds=True), lambda: self._strips(width, folds=False)
        )

    def _strips(self, width: Value, folds: bool) -> None:
        self.vectors.strips(width, _ALONG_VECTORS, lambda column, across: self._strip(column, across, folds))

    def _strip(self, column: Value, across: int, folds: bool) -> None:
        vectors = self.vectors
        source = self.source + column
        # The last tap not yet taken, from the other end.
        behind = source + (self.taps - 1) * self.step
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
            vectors.store(left[v], self.sums, column + v * VECTOR)

    def _taps(self, start: Values, across: int, taps: int, *, both_ends: bool = False) -> Values:
        """Emit rounds of so many taps, from both ends of the factor if wanted, as many as there are left."""
        vectors = self.vectors
        taken = 2 * taps if both_ends else taps

        def some_taps(values: Values) -> Values:
            samples = self._samples(values["source"], across, taps)
            if both_ends:
                mirrored = self._samples(values["behind"] + self.step * (1 - taps), across, taps)[::-1]
                samples = [
                    [one + other for one, other in zip(*rows, strict=True)]
                    for rows in zip(samples, mirrored, strict=True)
                ]
            added = {v: values[v] for v in range(across)}
            for tap in range(taps):
                weight = vectors.splat((values["weight"] + tap).load())
                for v in range(across):
                    added[v] = vectors.fma(samples[tap][v], weight, added[v])
            return added | {
                "source": values["source"] + self.step * taps,
                "behind": values["behind"] + self.step * -taps,
                "weight": values["weight"] + taps,
                "left": values["left"] - taken,
            }

        return vectors.while_loop(start, lambda values: values["left"] >= taken, some_taps)

    def _samples(self, source: Value, across: int, taps: int) -> list[list[Value]]:
        """Return the samples of one tap, or of two: the second one's are the first one's, moved."""
        vectors = self.vectors
        loaded = [vectors.load(source, v * VECTOR) for v in range(across + taps - 1)]
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
        vectors = Vectors(context, builder)
        sums_array, sums_at, sums_pitch, factor_array, taps, width, offset, results, out, _, out_pitch = (
            vectors.arguments(signature, arguments)
        )
        down = _Down(
            vectors,
            vectors.pointer(sums_array) + sums_at,
            sums_pitch,
            vectors.pointer(factor_array),
            taps,
            offset,
            vectors.at_address(out, sample_type(out_sample.dtype)),
            out_pitch,
        )
        vectors.when(results == 1, lambda: down.emit(1, width), lambda: down.emit(RESULTS_AT_ONCE, width))
        return context.get_dummy_value()

    return signature, codegen


class _Down:
    """Emits the sums down the columns for a number of result rows."""

    def __init__(self, vectors, sums, pitch, weights, taps, offset, out, out_pitch) -> None:
        self.vectors = vectors
        self.sums, self.pitch, self.weights, self.taps = sums, pitch, weights, taps
        self.bias = vectors.splat(offset)
        self.out, self.out_pitch = out, out_pitch

    def emit(self, results: int, width: Value) -> None:
        """Emit all strips of the width."""
        self.vectors.strips(width, _DOWN_VECTORS, lambda column, across: self._strip(results, column, across))

    def _strip(self, results: int, column: Value, across: int) -> None:
        """Emit a strip: rows that only the first results meet, those that all do, those that only the last ones do.

        A row beyond a result's taps is left out, not multiplied by 0: it may be infinite.
        """
        totals = dict.fromkeys(
            [(result, v) for result in range(results) for v in range(across)], self.vectors.zero
        )
        row, weight = self.sums + column, self.weights
        for last in range(results - 1):
            totals = self._add_row(totals, row, weight, range(last + 1), across)
            row, weight = row + self.pitch, weight + 1
        left = {"row": row, "weight": weight, "left": self.taps - (results - 1)} | totals

        def some_rows(rows: int, values: Values) -> Values:
            added, row, weight = {cell: values[cell] for cell in totals}, values["row"], values["weight"]
            for _ in range(rows):
                added = self._add_row(added, row, weight, range(results), across)
                row, weight = row + self.pitch, weight + 1
            return added | {"row": row, "weight": weight, "left": values["left"] - rows}

        if results > 1 and self.out.llvm.type.pointee == F32:
            for rows in ROWS_A_ROUND:
                left = self.vectors.while_loop(
                    left, lambda values, rows=rows: values["left"] >= rows, partial(some_rows, rows)
                )
        else:

            def one_row(values: Values) -> tuple[Values, Value]:
                following = some_rows(1, values)
                return following, following["left"] > 0

            left = self.vectors.do_while(left, one_row)
        row, weight = left["row"], left["weight"]
        totals = {cell: left[cell] for cell in totals}
        for first in range(1, results):
            totals = self._add_row(totals, row, weight, range(first, results), across)
            row, weight = row + self.pitch, weight + 1
        self._store(totals, column)

    def _add_row(self, totals: Values, row: Value, weight: Value, met: range, across: int) -> Values:
        """Return the totals with a row of sums added to the results `met`; `weight` is that of result 0."""
        vectors = self.vectors
        sums = [vectors.load(row, v * VECTOR) for v in range(across)]
        added = dict(totals)
        for result in met:
            one = vectors.splat((weight + -result).load())
            for v in range(across):
                added[result, v] = vectors.fma(sums[v], one, totals[result, v])
        return added

    def _store(self, totals: Values, column: Value) -> None:
        results, across = (1 + max(place) for place in zip(*totals, strict=True))
        for result in range(results):
            at = self.out_pitch * result + column
            values = [totals[result, v] + self.bias for v in range(across)]
            store_results(self.vectors, values, self.out, at, self.vectors.negated(self.vectors.true))
