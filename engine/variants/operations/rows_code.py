"""Which rows a worker computes: the loop around every operation's compiled code on the CPU."""

from numba import njit

from engine.device.threads.descriptors import TAKEN
from engine.variants.ir.cpu_memory import count_one


@njit
def rows_taken(task, first, last, rows):
    """Yield the rows of one band of `rows` after another, from `first` to before `last`, until none is left.

    All workers count the bands that are taken in the task descriptor, so that each row is computed once.
    """
    while True:
        top = first + count_one(task, TAKEN) * rows
        if top >= last:
            return
        for row in range(top, min(last, top + rows)):  # noqa: UP028 - Numba has no `yield from`
            yield row
