"""The compiled part of `engine.device.threads.parallel_copy`."""

from numba import types

from engine.compiled.entry_point import entry_point
from engine.device.threads.descriptors import SELF, TAKEN
from engine.device.threads.shared_call import add, finish, share

_memcpy = types.ExternalFunction("memcpy", types.int64(types.int64, types.int64, types.int64))


def copy_pieces(source, target, size, piece, task):
    """Copy one piece after another, until none is left, on as many threads as take part."""
    entry_point()
    worker = share(task)
    while True:
        first = add(task[SELF], TAKEN, 1) * piece
        if first >= size:
            break
        _memcpy(target + first, source + first, min(piece, size - first))
    finish(task, worker)
