"""The compiled part of `cpu-serial`: the textbook loops; border and type are chosen at run time."""

from collections.abc import Callable

import numpy as np
from numba import njit

from engine.compiled.entry_point import entry_point
from engine.device.index_rules import cpu_rules
from engine.device.result_code import cpu_result
from engine.geometry.border import IndexRule

_Chain = Callable[[int, int, int], int]


def chosen_by_code(rules: tuple[IndexRule, ...]) -> Callable[[int, int, int], int]:
    """Return the compiled choice among rules by a code: one compilation serves every border."""
    # A chain of comparisons, the last rule first: each one is compiled with what comes after it.
    after: _Chain | None = None
    for code, rule in reversed(list(enumerate(rules))):
        after = _link(code, njit(nogil=True, inline="always")(rule), after)
    assert after is not None
    chain = after

    @njit(nogil=True)
    def source_index(index: int, length: int, code: int) -> int:
        if 0 <= index < length:
            return index
        return chain(index, length, code)

    return source_index


def _link(own_code: int, rule: IndexRule, after: _Chain | None) -> _Chain:
    if after is None:
        return njit(nogil=True, inline="always")(lambda index, length, code: rule(index, length))

    @njit(nogil=True, inline="always")
    def link(index: int, length: int, code: int) -> int:
        if code == own_code:
            return rule(index, length)
        return after(index, length, code)

    return link


source_index = chosen_by_code(cpu_rules())
"""From (index, length, code) to the index inside whose value is at `index`, or -1 for a ghost cell."""


def correlate_serial(image, weights, anchor_row, anchor_column, border, ghost_value, offset, largest, out):
    """Correlate, result by result; the arguments are those of every filter kernel, and of `cpu_result`.

    `out` may be some rows of the result: `anchor_row` is then less by the number of the first of them.
    """
    entry_point()
    height, width, channels = image.shape
    mask_rows, mask_columns = weights.shape
    for row in range(out.shape[0]):
        for column in range(width):
            for channel in range(channels):
                total = np.float32(0.0)
                for m in range(mask_rows):
                    source_row = source_index(row + m - anchor_row, height, border)
                    partial = np.float32(0.0)
                    for n in range(mask_columns):
                        source_column = source_index(column + n - anchor_column, width, border)
                        value = ghost_value
                        if source_row >= 0 and source_column >= 0:
                            value = np.float32(image[source_row, source_column, channel])
                        partial += value * weights[m, n]
                    total += partial
                out[row, column, channel] = cpu_result(total + offset, largest)
