"""Sums along a row, then down the columns: of two passes with a column times a row, and a box's running sums.

The loops over a factor have bounds known only at run time, so one compilation serves every mask. Whole
vectors are read and written, so up to VECTOR - 1 values past a length; two vectors more are read along a row.
"""

from collections.abc import Callable, Hashable
from functools import partial
from operator import add

from engine.compiled.late_names import types
from engine.variants.cpu import register_tiles as tuned
from engine.variants.cpu.register_tiles import RESULTS_AT_ONCE, VECTOR
from engine.variants.emit.cpu_vectors import Vectors, cpu_function, store_results
from engine.variants.emit.value import Value, in_pairs

Values = dict[Hashable, Value]


@cpu_function("int64")
def as_floats(code, source, sample, floats, count):
    """Return the address of `count` samples as float32: their own, or else that of `floats`, their copy.

    `sample` is a flat array of the samples' type.
    """
    if sample.kind.dtype == types.float32:
        return source
    samples, target = code.at_address(source, sample), code.pointer(floats)
    code.copy_as_floats(samples, target, count)
    return code.address(target)


@cpu_function("void")
def sum_along(code, source, sample, factor, taps, mirrored, step, width, sums, sums_at):
    """Correlate a row of float32 samples with a factor of the mask.

    `source` is the address of the first of `width` results' first sample; the flat array `sample` has the
    type of the picture's samples, from which these were made. `factor` has `taps` weights for samples `step`
    apart, at most VECTOR. If it is `mirrored`, and taps do not share samples, integer samples under equal
    weights are added first, which takes half the multiply-adds; float32 samples might overflow. The sums go
    to the flat float32 array `sums` from element `sums_at` on.
    """
    # Else the compiler writes loops twice, with and without their branches, which takes 0.2 s.
    code.builder.function.attributes.add("optsize")
    first_sample, weights = code.at_address(source, sums), code.pointer(factor)
    target = code.pointer(sums) + sums_at
    next_tap = code.elements_from(step) if tuned.PAIRS else None

    def samples_of(source: Value, across: int, at_once: int) -> list[list[Value]]:
        """Return the samples of some taps; where they are moved, of one or of two."""
        if not tuned.PAIRS:
            taps = [source + step * tap for tap in range(at_once)]
            return [[code.load(tap, v * VECTOR) for v in range(across)] for tap in taps]
        loaded = [code.load(source, v * VECTOR) for v in range(across + at_once - 1)]
        samples = [loaded[:across]]
        if at_once == 2:
            samples.append([code.picked(loaded[v], loaded[v + 1], next_tap) for v in range(across)])
        return samples

    def some_taps(values: Values, across: int, at_once: int, both_ends: bool) -> Values:
        samples = samples_of(values["source"], across, at_once)
        if both_ends:
            mirrored = samples_of(values["behind"] + step * (1 - at_once), across, at_once)[::-1]
            samples = [list(map(add, *rows)) for rows in zip(samples, mirrored, strict=True)]
        added = {v: values[v] for v in range(across)}
        for tap in range(at_once):
            weight = code.splat((values["weight"] + tap).load())
            for v in range(across):
                added[v] = code.fma(samples[tap][v], weight, added[v])
        return added | {
            "source": values["source"] + step * at_once,
            "behind": values["behind"] + step * -at_once,
            "weight": values["weight"] + at_once,
            "left": values["left"] - at_once * (1 + both_ends),
        }

    def two_that_share(values: Values, across: int, channels: int) -> Values:
        """Add a tap and the one VECTOR taps later: its samples are those of the vectors `channels` later."""
        source, weight, added = values["source"], values["weight"], dict(values)
        one, other = (code.splat((weight + tap).load()) for tap in (0, VECTOR))
        for v in range(across + channels):
            if v < across or v >= channels:
                loaded = code.load(source, v * VECTOR)
            if v < across:
                added[v] = code.fma(loaded, one, added[v])
            if v >= channels:
                added[v - channels] = code.fma(loaded, other, added[v - channels])
        return added | {"source": source + step, "weight": weight + 1, "rounds": values["rounds"] - 1}

    def sharing_taps(values: Values, across: int, channels: int) -> Values:
        """Add the taps that share samples, in blocks of 2 VECTOR; at most VECTOR neighbours are left."""

        def two_vectors_of_taps(values: Values) -> Values:
            rounds = code.smaller(values["left"] - VECTOR, code.index(VECTOR))
            made = code.while_loop(
                values | {"rounds": rounds},
                lambda values: values["rounds"] > 0,
                partial(two_that_share, across=across, channels=channels),
            )
            # A whole block's second half is done too; else the taps that are left are neighbours.
            taken = code.select(rounds < VECTOR, code.index(0), code.index(VECTOR))
            del made["rounds"]
            return made | {
                "source": made["source"] + step * taken,
                "weight": made["weight"] + taken,
                "left": values["left"] - (rounds + rounds),
            }

        return code.while_loop(values, lambda values: values["left"] > VECTOR, two_vectors_of_taps)

    def strip(folds: bool, channels: int, column: Value, across: int) -> None:
        source = first_sample + column
        values: Values = dict.fromkeys(range(across), code.zero)
        # `behind` is the last tap not yet taken, from the other end.
        values |= {"source": source, "behind": source + (taps - 1) * step, "weight": weights, "left": taps}
        if channels:
            values = sharing_taps(values, across, channels)
        # Loops that take so many taps at a time, from both ends of the factor or from one.
        loops = [(at_once, False) for at_once in tuned.TAPS_AT_ONCE]
        if folds:
            loops = [(at_once, True) for at_once, _ in loops] + [(1, False)]
        for at_once, both_ends in loops:
            values = code.while_loop(
                values,
                lambda values, taken=at_once * (1 + both_ends): values["left"] >= taken,
                partial(some_taps, across=across, at_once=at_once, both_ends=both_ends),
            )
        for v in range(across):
            code.store(values[v], target, column + v * VECTOR)

    def all_strips(folds: bool, channels: int = 0) -> None:
        one_strip = partial(strip, folds, channels)
        if not tuned.SHARES_SAMPLES:
            code.strips(width, tuned.ALONG_VECTORS, one_strip)
            return
        strip_samples = tuned.ALONG_VECTORS * VECTOR
        # The last strip ends with the row, and computes some sums again: vectors one by one, which wait for
        # their own multiply-adds, took up to a third of the time of all.
        last = (width + (VECTOR - 1)) // VECTOR * VECTOR - strip_samples

        def wide() -> None:
            def at_once(column: Value) -> None:
                one_strip(code.smaller(column, last), tuned.ALONG_VECTORS)

            code.stride(code.index(0), width, strip_samples, at_once, 1)

        code.when(last >= 0, wide, lambda: code.strips(width, 1, one_strip))

    def sharing(channels: int, otherwise: Callable[[], None]) -> None:
        shares = code.all_of(step == channels, taps > VECTOR)
        code.when(shares, lambda: all_strips(folds=False, channels=channels), otherwise)

    if tuned.SHARES_SAMPLES:
        sharing(1, lambda: sharing(3, lambda: all_strips(folds=False)))
    elif sample.kind.dtype == types.float32:
        all_strips(folds=False)
    else:
        code.when(code.flag(mirrored), lambda: all_strips(folds=True), lambda: all_strips(folds=False))


@cpu_function("void")
def sum_down(
    code, sums, sums_at, sums_pitch, factor, taps, width, offset, fits, results, out, out_sample, out_pitch
):
    """Correlate the columns of rows of sums with a factor of the mask.

    The first result's first sum is element `sums_at` of the flat float32 array `sums`, whose rows are
    `sums_pitch` apart. `factor` has `taps` weights. There are 1 or, if there are at least as many taps,
    RESULTS_AT_ONCE rows of `width` `results`, each with `offset` added, which
    `fits` says are integers of 32 bits; the first goes to the address `out`,
    the next rows `out_pitch` further on, in the type of the flat array `out_sample`.
    """
    first_row, first_weight = code.pointer(sums) + sums_at, code.pointer(factor)
    bias, target = code.splat(offset), code.at_address(out, out_sample)

    def add_row(totals: Values, row: Value, weight: Value, met: range, across: int) -> Values:
        """Return the totals with a row of sums added to the results `met`; `weight` is that of result 0."""
        values, added = [code.load(row, v * VECTOR) for v in range(across)], dict(totals)
        for result in met:
            one = code.splat((weight + -result).load())
            for v in range(across):
                added[result, v] = code.fma(values[v], one, totals[result, v])
        return added

    def strip(count: int, column: Value, across: int) -> None:
        """Emit a strip: rows under the first results only, then under all of them, then under the last only.

        A row beyond a result's taps is left out, not multiplied by 0: it may be infinite.
        """
        cells = [(result, v) for result in range(count) for v in range(across)]
        totals: Values = dict.fromkeys(cells, code.zero)
        row, weight = first_row + column, first_weight
        for last in range(count - 1):
            totals = add_row(totals, row, weight, range(last + 1), across)
            row, weight = row + sums_pitch, weight + 1
        left: Values = {"row": row, "weight": weight, "left": taps - (count - 1)} | totals

        def some_rows(rows: int, values: Values) -> Values:
            added: Values = {cell: values[cell] for cell in cells}
            row, weight = values["row"], values["weight"]
            for _ in range(rows):
                if VECTOR == 8 and rows > 1:
                    # Else all rows are loaded first, and registers run out.
                    added = dict(zip(cells, code.kept([added[cell] for cell in cells]), strict=True))
                added = add_row(added, row, weight, range(count), across)
                row, weight = row + sums_pitch, weight + 1
            return added | {"row": row, "weight": weight, "left": values["left"] - rows}

        def one_row(values: Values) -> tuple[Values, Value]:
            following = some_rows(1, values)
            return following, following["left"] > 0

        if count > 1 and (VECTOR == 8 or out_sample.kind.dtype == types.float32):
            for rows in tuned.ROWS_PER_ROUND:
                left = code.while_loop(
                    left, lambda values, rows=rows: values["left"] >= rows, partial(some_rows, rows)
                )
        else:
            left = code.do_while(left, one_row)
        row, weight = left["row"], left["weight"]
        totals = {cell: left[cell] for cell in cells}
        for result in range(count):
            if result:
                totals = add_row(totals, row, weight, range(result, count), across)
                row, weight = row + sums_pitch, weight + 1
            # At once: else all rows are loaded first, and registers run out.
            values = [totals[result, v] + bias for v in range(across)]
            store_results(code, values, target, out_pitch * result + column, fits=code.flag(fits))

    def all_strips(count: int) -> None:
        code.strips(width, tuned.DOWN_VECTORS, partial(strip, count))

    code.when(results == 1, lambda: all_strips(1), lambda: all_strips(RESULTS_AT_ONCE))


# Vectors of running sums under way at once: an addition takes three cycles, and two begin in each cycle.
_VECTORS = 4


@cpu_function("void")
def take_row(code, source, sample, weight, count, lines, line, front, ends, window, begins):
    """Add an input row to the sums down the columns, and sum up the windows that it completes.

    `source` is the address of `count` samples of the type of the flat array `sample`. `line`, `front`, `ends`
    and `window` are elements of the flat float32 array `lines`: where the weighted row goes; the sum of its
    segment so far, 0 if the row `begins` one; the sum of the end of the segment before; where the sum of the
    last two goes, the windows.
    """
    source, data = code.at_address(source, sample), code.pointer(lines)
    line, front, ends, window = (data + offset for offset in (line, front, ends, window))
    weights, first = code.splat(weight), code.flag(begins)

    def vector(here: Value) -> None:
        weighted = code.load(source, here) * weights
        total = code.select(first, code.zero, code.load(front, here)) + weighted
        windows = total + code.load(ends, here)
        for values, target in ((weighted, line), (total, front), (windows, window)):
            code.store(values, target, here)

    _by_vectors(code, count, vector)


@cpu_function("void")
def add_line(code, lines, source, target, count):
    """Add a line of values to another one; both are elements of `lines`."""
    data = code.pointer(lines)
    source, target = data + source, data + target
    _by_vectors(code, count, lambda at: code.store(code.load(target, at) + code.load(source, at), target, at))


@cpu_function("void")
def add_neighbours(code, lines, line, step, terms, out, start, begins, count):
    """Add to each of `count` results the sum of 0 to 4 `terms` of a line, `step` apart.

    `line` is the element of the flat float32 array `lines` with the first result's first term, `out` the
    address of the float32 results. If it `begins`, they begin with `start`; else they are added to.
    """
    line, out = code.pointer(lines) + line, code.at_address(out, lines)
    initial, first = code.splat(start), code.flag(begins)

    def vector(number_of_terms: int, here: Value) -> None:
        values = [code.load(line, here + step * term) for term in range(number_of_terms)]
        together = in_pairs(values, add) if values else None
        total = code.select(first, initial, code.load(out, here))
        code.store(total if together is None else total + together, out, here)

    code.switch(terms, range(5), lambda number: _by_vectors(code, count, partial(vector, number)))


def _by_vectors(code: Vectors, count: Value, vector: Callable[[Value], None]) -> None:
    """Emit vector(first element) for all vectors of `count` values."""

    def strip(at: Value, across: int) -> None:
        for v in range(across):
            vector(at + v * VECTOR)

    code.strips(count, _VECTORS, strip)
