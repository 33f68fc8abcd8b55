"""The sums of two passes with a mask that is a column times a row: along a row, then down the columns.

The loops over a factor have bounds known only at run time, so one compilation serves every mask. Whole
vectors are read and written, so up to VECTOR - 1 samples past the width; two vectors more are read along a
row.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

from numba import types

from engine.variants.ir.cpu_results import store_results
from engine.variants.ir.cpu_vectors import HAS_BROADCAST, VECTOR, Vectors, cpu_function
from engine.variants.ir.value import F32, Value

Values = dict[Any, Value]

# Vectors of sums per strip along a row: several hide that each multiply-add waits for the one before it.
_ALONG_VECTORS = 4
# Two taps at a time: samples are loaded once, and moved within the registers for the second tap. With AVX-512
# a vector across two cache lines takes 1.7 cycles to load, its multiply-add and a move 1 each, in different
# units: 41 G multiply-adds/s per core instead of 33. Shorter vectors lie across lines less often.
_PAIRS = HAS_BROADCAST
# Rows of results per strip down the columns: each vector that is loaded serves four, each weight four
# vectors.
RESULTS_AT_ONCE = 4
_DOWN_VECTORS = 4 if VECTOR == 16 else 2
# Rows of sums per round of the inner loop, for float32 results: 15 x 15 takes 5 % less time than with one.
# 8-bit results would take 2 to 5 % more.
ROWS_A_ROUND = (2, 1)


@cpu_function(types.int64)
def as_floats(code, source, sample, floats, count):
    """Return the address of `count` samples as float32: their own, or else that of `floats`, their copy.

    `sample` is a flat array of the samples' type.
    """
    if sample.kind.dtype == types.float32:
        return source
    samples, target = code.at_address(source, sample), code.pointer(floats)
    code.strips(count, 1, lambda at, _: code.store(code.load(samples, at), target, at))
    return code.address(target)


@cpu_function(types.void)
def sum_along(code, source, sample, factor, taps, mirrored, step, width, sums, sums_at):
    """Correlate a row of float32 samples with a factor of the mask.

    `source` is the address of the first of `width` results' first sample; the flat array `sample` has the
    type of the picture's samples, from which these were made. `factor` has `taps` weights for samples `step`
    apart, at most VECTOR. If it is `mirrored`, integer samples under equal weights are added first, which
    takes half the multiply-adds; float32 samples might overflow. The sums go to the flat float32 array `sums`
    from element `sums_at` on.
    """
    # Else the compiler writes loops twice, with and without their branches, which takes 0.2 s.
    code.builder.function.attributes.add("optsize")
    source, weights = code.at_address(source, sums), code.pointer(factor)
    along = _Along(code, source, weights, taps, code.pointer(sums) + sums_at, step)
    one_by_one = partial(along.emit, width, folds=False)
    if sample.kind.dtype == types.float32:
        one_by_one()
    else:
        code.when(code.flag(mirrored), lambda: along.emit(width, folds=True), one_by_one)


@dataclass
class _Along:
    """Emits the sums along a row."""

    vectors: Vectors
    source: Value
    weights: Value
    taps: Value
    sums: Value
    step: Value

    def __post_init__(self) -> None:
        if _PAIRS:
            self.next_tap = self.vectors.elements_from(self.step)

    def emit(self, width: Value, folds: bool) -> None:
        """Emit all strips of the width; samples under equal weights are added first if it `folds`."""
        self.vectors.strips(width, _ALONG_VECTORS, lambda column, across: self._strip(column, across, folds))

    def _strip(self, column: Value, across: int, folds: bool) -> None:
        vectors = self.vectors
        source = self.source + column
        # The last tap not yet taken, from the other end.
        behind = source + (self.taps - 1) * self.step
        left: Values = dict.fromkeys(range(across), vectors.zero)
        left |= {"source": source, "behind": behind, "weight": self.weights, "left": self.taps}
        at_once = (2, 1) if _PAIRS else (1,)
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


@cpu_function(types.void)
def sum_down(
    code, sums, sums_at, sums_pitch, factor, taps, width, offset, results, out, out_sample, out_pitch
):
    """Correlate the columns of rows of sums with a factor of the mask.

    The first result's first sum is element `sums_at` of the flat float32 array `sums`, whose rows are
    `sums_pitch` apart. `factor` has `taps` weights. There are 1 or, if there are at least as many taps,
    RESULTS_AT_ONCE rows of `width` `results`, each with `offset` added; the first goes to the address `out`,
    the next rows `out_pitch` further on, in the type of the flat array `out_sample`.
    """
    rows, weights = code.pointer(sums) + sums_at, code.pointer(factor)
    bias, out = code.splat(offset), code.at_address(out, out_sample)
    down = _Down(code, rows, sums_pitch, weights, taps, bias, out, out_pitch)
    code.when(results == 1, lambda: down.emit(1, width), lambda: down.emit(RESULTS_AT_ONCE, width))


@dataclass
class _Down:
    """Emits the sums down the columns for a number of result rows."""

    vectors: Vectors
    sums: Value
    pitch: Value
    weights: Value
    taps: Value
    bias: Value
    out: Value
    out_pitch: Value

    def emit(self, results: int, width: Value) -> None:
        """Emit all strips of the width."""
        self.vectors.strips(width, _DOWN_VECTORS, lambda column, across: self._strip(results, column, across))

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

        def are_left(rows: int, values: Values) -> Value:
            return values["left"] >= rows

        def some_rows(rows: int, values: Values) -> Values:
            added, row, weight = {cell: values[cell] for cell in totals}, values["row"], values["weight"]
            for _ in range(rows):
                added = self._add_row(added, row, weight, range(results), across)
                row, weight = row + self.pitch, weight + 1
            return added | {"row": row, "weight": weight, "left": values["left"] - rows}

        if results > 1 and self.out.llvm.type.pointee == F32:
            for rows in ROWS_A_ROUND:
                left = self.vectors.while_loop(left, partial(are_left, rows), partial(some_rows, rows))
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
            values = [totals[result, v] + self.bias for v in range(across)]
            store_results(self.vectors, values, self.out, self.out_pitch * result + column)
