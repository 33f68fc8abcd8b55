"""The sums of two passes with a mask that is a column times a row: along a row, then down the columns.

The loops over a factor have bounds known only at run time, so one compilation serves every mask. Whole
vectors are read and written, so up to VECTOR - 1 samples past the width; two vectors more are read along a
row.
"""

from functools import partial
from typing import Any

from numba import types
from numba.extending import intrinsic

from engine.variants.cpu.register_tiles import (
    ALONG_VECTORS,
    DOWN_VECTORS,
    PAIRS,
    RESULTS_AT_ONCE,
    ROWS_A_ROUND,
    VECTOR,
)
from engine.variants.ir.cpu_results import store_results
from engine.variants.ir.cpu_vectors import INT, Vectors, sample_type
from engine.variants.ir.value import F32, Value

Values = dict[Any, Value]


@intrinsic
def as_floats(typingctx, source, sample, floats, count):
    """Return the address of `count` samples as float32: their own, or else that of `floats`, their copy.

    `sample` is a flat array of the samples' type.
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

    `source` is the address of the first of `width` results' first sample; the flat array `sample` has the
    type of the picture's samples, from which these were made. `factor` has `taps` weights for samples `step`
    apart, at most VECTOR. If it is `mirrored`, integer samples under equal weights are added first, which
    takes half the multiply-adds; float32 samples might overflow. The sums go to the flat float32 array `sums`
    from element `sums_at` on.
    """
    integer = types.int64
    signature = types.void(integer, sample, factor, *(integer,) * 4, sums, integer)

    def codegen(context, builder, signature, arguments):
        vectors = Vectors(context, builder)
        source, _, factor_array, taps, mirrored, step, width, sums_array, sums_at = vectors.arguments(
            signature, arguments
        )
        # Else the compiler writes loops twice, with and without their branches, which takes 0.2 s.
        builder.function.attributes.add("optsize")
        source, weights = vectors.at_address(source, F32), vectors.pointer(factor_array)
        sums = vectors.pointer(sums_array) + sums_at
        is_mirrored = None if sample.dtype == types.float32 else vectors.flag(mirrored)
        along = _Along(vectors, source, weights, taps, sums, step)
        if is_mirrored is None:
            along.emit(width, folds=False)
        else:
            vectors.when(
                is_mirrored, lambda: along.emit(width, folds=True), lambda: along.emit(width, folds=False)
            )
        return context.get_dummy_value()

    return signature, codegen


class _Along:
    """Emits the sums along a row."""

    def __init__(self, vectors, source, weights, taps, sums, step) -> None:
        self.vectors, self.source, self.weights = vectors, source, weights
        self.taps, self.sums, self.step = taps, sums, step
        self.next_tap = vectors.elements_from(step) if PAIRS else None

    def emit(self, width: Value, folds: bool) -> None:
        """Emit all strips of the width; samples under equal weights are added first if it `folds`."""
        self.vectors.strips(width, ALONG_VECTORS, lambda column, across: self._strip(column, across, folds))

    def _strip(self, column: Value, across: int, folds: bool) -> None:
        vectors = self.vectors
        source = self.source + column
        # The last tap not yet taken, from the other end.
        behind = source + (self.taps - 1) * self.step
        left = dict.fromkeys(range(across), vectors.zero)
        left |= {"source": source, "behind": behind, "weight": self.weights, "left": self.taps}
        at_once = (2, 1) if PAIRS else (1,)
        if folds:
            for taps in at_once:
                left = self._taps(left, across, taps, both_ends=True)
        for taps in (1,) if folds else at_once:
            left = self._taps(left, across, taps)
        for v in range(across):
            vectors.store(left[v], self.sums, column + v * VECTOR)

    def _taps(self, start: Values, across: int, taps: int, *, both_ends: bool = False) -> Values:
        """Emit a loop that takes so many taps at a time, if wanted from both ends of the factor."""
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

    The first result's first sum is element `sums_at` of the flat float32 array `sums`, whose rows are
    `sums_pitch` apart. `factor` has `taps` weights. There are 1 or, if there are at least as many taps,
    RESULTS_AT_ONCE rows of `width` `results`, each with `offset` added; the first goes to the address `out`,
    the next rows `out_pitch` further on, in the type of the flat array `out_sample`.
    """
    integer = types.int64
    numbers = (integer, integer, types.float32, integer, integer)
    signature = types.void(sums, integer, integer, factor, *numbers, out_sample, integer)

    def codegen(context, builder, signature, arguments):
        vectors = Vectors(context, builder)
        sums_array, sums_at, sums_pitch, factor_array, taps, width, offset, results, out, _, out_pitch = (
            vectors.arguments(signature, arguments)
        )
        sums, weights = vectors.pointer(sums_array) + sums_at, vectors.pointer(factor_array)
        bias, out = vectors.splat(offset), vectors.at_address(out, sample_type(out_sample.dtype))
        down = _Down(vectors, sums, sums_pitch, weights, taps, bias, out, out_pitch)
        vectors.when(results == 1, lambda: down.emit(1, width), lambda: down.emit(RESULTS_AT_ONCE, width))
        return context.get_dummy_value()

    return signature, codegen


class _Down:
    """Emits the sums down the columns for a number of result rows."""

    def __init__(self, vectors, sums, pitch, weights, taps, bias, out, out_pitch) -> None:
        self.vectors, self.sums, self.pitch = vectors, sums, pitch
        self.weights, self.taps, self.bias = weights, taps, bias
        self.out, self.out_pitch = out, out_pitch

    def emit(self, results: int, width: Value) -> None:
        """Emit all strips of the width."""
        self.vectors.strips(width, DOWN_VECTORS, lambda column, across: self._strip(results, column, across))

    def _strip(self, results: int, column: Value, across: int) -> None:
        """Emit a strip: rows under the first results only, then under all of them, then under the last only.

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
