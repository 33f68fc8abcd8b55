"""Where each lane needs which weight: a mask's halves as words of tensor-core products. Pure NumPy.

Source of the layout: PTX ISA 9.7.14.5, fragments of `mma.m16n8k16` and `mma.m16n8k8` with float16: lane (g,
t) holds of an eight of the weights' rows those numbered 2 t and 2 t + 1, of column g.
"""

from functools import lru_cache

import numpy as np

from engine.variants.split_float16.split_shape import EIGHT, SplitShape
from engine.variants.split_float16.weight_halves import WeightHalves


@lru_cache(maxsize=64)
def fragment_columns(shape: SplitShape) -> np.ndarray:
    """Return the mask column of each half of a lane's words (eights, lanes, 2); past the last are zeros."""
    lanes = np.arange(32)
    cells = EIGHT * np.arange(shape.eights)[:, None, None] + (2 * (lanes % 4))[:, None] + np.arange(2)
    columns = cells - (lanes // 4)[:, None] - shape.shift
    return np.where((columns >= 0) & (columns < shape.mask_columns), columns, shape.mask_columns)


def fragments_of(shape: SplitShape, halves: WeightHalves) -> np.ndarray:
    """Return the words of all lanes as loaded: uint32, flat (upper and lower, mask rows, eights, lanes)."""
    parts = np.zeros((2, shape.mask_rows, shape.mask_columns + 1), np.float16)
    parts[0, :, :-1], parts[1, :, :-1] = halves.upper, halves.lower
    return np.ascontiguousarray(parts[:, :, fragment_columns(shape)]).view(np.uint32).ravel()
