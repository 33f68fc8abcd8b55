"""Sorting networks of three and five numbers: comparisons in a fixed order, no branch, no array. No Numba.

They are compiled for the CPU and for CUDA. With rows and columns of a window sorted, its middle one is among
few cells:

    3 x 3    the highest of the lowest row, the middle of the middle row, the lowest of the highest row:
             the middle of these three
    5 x 5    the highest of four cells below the anti-diagonal (0, 3), (1, 2), (2, 1), (3, 0); the middle of
             the five on it; the lowest of the four above it: the middle of these three

Source of the idea: Kolte, Smith, Su, "A fast median filter using AltiVec", ICCD 1999. That the cells are the
right ones follows by the zero-one principle from the 252 sorted 5 x 5 matrices of zeros and ones, which a
test tries.
"""

from typing import TypeVar

N = TypeVar("N", int, float)


def middle_of_3(a: N, b: N, c: N) -> N:
    """Return the middle one."""
    return max(min(a, b), min(max(a, b), c))


def sorted_3(a: N, b: N, c: N) -> tuple[N, N, N]:
    """Return three numbers in order."""
    a, b = min(a, b), max(a, b)
    b, c = min(b, c), max(b, c)
    a, b = min(a, b), max(a, b)
    return a, b, c


def sorted_5(a: N, b: N, c: N, d: N, e: N) -> tuple[N, N, N, N, N]:
    """Return five numbers in order, by nine comparisons."""
    a, b = min(a, b), max(a, b)
    d, e = min(d, e), max(d, e)
    c, e = min(c, e), max(c, e)
    c, d = min(c, d), max(c, d)
    a, d = min(a, d), max(a, d)
    a, c = min(a, c), max(a, c)
    b, e = min(b, e), max(b, e)
    b, d = min(b, d), max(b, d)
    b, c = min(b, c), max(b, c)
    return a, b, c, d, e
