"""The smaller and the larger of two integers, for compiled CPU code.

Numba's `min` and `max` are functions of their own: each takes 15 ms to compile, these 2.
"""

from numba import types

from engine.variants.ir.cpu_vectors import cpu_function


@cpu_function(types.int64)
def smaller(code, value, other):
    """Return the smaller of two integers."""
    return code.smaller(value, other)


@cpu_function(types.int64)
def larger(code, value, other):
    """Return the larger of two integers."""
    return code.larger(value, other)
