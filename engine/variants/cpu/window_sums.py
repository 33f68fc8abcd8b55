"""The running sums of a box mask: input rows added down the columns, neighbours summed along a row.

Lines of float32 values are read and written in whole vectors, so up to VECTOR - 1 past their length.
"""

from collections.abc import Callable
from functools import partial
from operator import add

from numba import types

from engine.variants.emit.cpu_vectors import VECTOR, Vectors, cpu_function
from engine.variants.emit.value import Value, in_pairs

# Vectors under way at once: an addition takes three cycles, and two begin in each cycle.
_VECTORS = 4


@cpu_function(types.void)
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


@cpu_function(types.void)
def add_line(code, lines, source, target, count):
    """Add a line of values to another one; both are elements of `lines`."""
    data = code.pointer(lines)
    source, target = data + source, data + target
    _by_vectors(code, count, lambda at: code.store(code.load(target, at) + code.load(source, at), target, at))


@cpu_function(types.void)
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
