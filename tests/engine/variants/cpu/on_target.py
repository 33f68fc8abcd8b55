"""Check some cases of the CPU variants: `python -m tests.engine.variants.cpu.on_target`, in an environment.

Prints JSON: the floats of a vector, and faults by case. Pictures and results lie beside pages that may not be
touched: a variant that reads or writes past one ends the process.
"""

import ctypes
import json
import mmap
import sys
from functools import partial

import numpy as np

from engine.geometry.border import Border
from engine.variants.cpu.register_tiles import MOST_ROWS, VECTOR
from engine.work.filtering.variants import variant
from tests.engine.variants.cases import Case, faults_of

# Masks of one part and of several, in strips of each number of vectors; of taps that share samples, in one
# block and in two; rows at the edges, and past a tile.
SIDES = (1, 2, 3, 4, 5, MOST_ROWS, MOST_ROWS + 1, 2 * MOST_ROWS + 3, 27)
PROT_NONE = 0


def guarded(array, *, at_end):
    """Return a copy of an array that ends where such a page begins, or begins where one ends."""
    if sys.platform == "win32":
        return array.copy()
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    page = mmap.PAGESIZE
    taken = -(-array.nbytes // page) * page
    memory = mmap.mmap(-1, page + taken + page)
    begin = page + (taken - array.nbytes if at_end else 0)
    copy = np.frombuffer(memory, array.dtype, array.size, begin).reshape(array.shape)
    copy[...] = array
    first = np.frombuffer(memory, np.uint8).ctypes.data
    for guard in (first, first + page + taken):
        if libc.mprotect(guard, page, PROT_NONE):
            raise OSError(ctypes.get_errno(), "mprotect")
    return copy


def cases():
    borders = tuple(Border)
    for number, side in enumerate(SIDES):
        border = borders[number % len(borders)]
        for dtype, channels, quantised in (("float32", 1, False), ("uint8", 3, True)):
            name = f"{side}x{side} {dtype}"
            weights = "rank 1 even"
            yield Case(
                name, 41, 211, channels, dtype, (side, side), border=border, cval=7.0, weights=weights,
                is_quantised=quantised,
            )  # fmt: skip


def main():
    found, every = {}, (*cases(),)
    box = Case("box", 33, 150, mask_shape=(5, 7), weights="equal even")
    for at_end in (True, False):
        placed = partial(guarded, at_end=at_end)
        # Each second mask before such a page, the others behind one; the other way round for the next type.
        own = [case for number, case in enumerate(every) if (number // 2 + number) % 2 == at_end]
        for key in ("cpu-parallel", "cpu-separable", "cpu-box"):
            faults = faults_of(variant(key), [box] if key == "cpu-box" else own, "cpu", placed)
            found |= {f"{key} {name}": fault for name, fault in faults.items()}
    sys.stdout.write(json.dumps({"vector": VECTOR, "faults": found}))


if __name__ == "__main__":
    main()
