"""The shape of a warp's work in `split-float16`: how samples become factors of products. Pure integers.

One product is 16 x 16 samples by 16 x 8 weights, or 16 x 8 by 8 x 8. Row r of the samples are the 16 (8)
cells of an input row that begin with the strip's cell 8 r, so that neighbouring rows overlap by a half;
column n of the weights is the mask's row, moved on by n cells. Row r, column n of what comes out is the mask
row's sum for the strip's result 8 r + n: 128 results. A mask row and the 7 cells that it is moved take whole
eights of cells (`eights`); two eights are one product of 16.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from engine.tasks.filtering.problem import Problem
from engine.variants.ir.register_tile import VECTOR, TileShape, whole_vectors
from engine.variants.tensor_cores.fragments import fragment_words
from engine.variants.tensor_cores.weight_halves import WeightHalves
from engine.variants.tiles.strip_shape import StripShape

EIGHT = 8
"""Results of a row of the samples, and cells that neighbouring rows are apart."""

PAIR = 2
"""Neighbouring samples that a lane loads at once, and results that it stores."""

MOST_REGISTERS = 170
"""Weights and sums that a thread can hold beside all else, of 255 registers: 17 x 17 takes as many (8 bytes
spilled, H200)."""

GROUP_ROWS = {80: 6, 110: 4, MOST_REGISTERS: 3}
"""Input rows in a group, by how many of these registers there are at most (H200, us: 7 x 7 45 and 43 with 4
and 6; 11 x 11 101, 92 and 97 with 3, 4 and 5; 13 x 13 106 and 111 with 3 and 4)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitShape(StripShape):
    """The shape of a warp's work; everything is known when the kernel is compiled."""

    mask_columns: int
    shift: int  # Cells of the strip before the one under the mask's first column, for its first result.

    @property
    def eights(self) -> int:
        """Eights of cells in a row of the samples: what 8 neighbouring results have under a mask row."""
        return eights_of(self.mask_columns, self.shift)

    @property
    def products(self) -> tuple[tuple[int, int], ...]:
        """The products of a mask row: (first eight, eights) of each."""
        return tuple((first, min(2, self.eights - first)) for first in range(0, self.eights, 2))

    @property
    def halo_lanes(self) -> int:
        """Lanes whose third pair of cells, past the strip's 128th, others need."""
        return EIGHT * (self.eights - 1) // 2

    @property
    def touched(self) -> int:
        """Rows of results that a group of input rows has a part in."""
        return self.mask_rows + self.group_rows - 1

    @property
    def fragments(self) -> int:
        """Words of weights that a lane holds, two float16 each: the upper parts, then the lower ones."""
        return 2 * self.mask_rows * self.eights


def eights_of(mask_columns: int, shift: int) -> int:
    """Return the eights of cells that a mask row takes, moved by up to 7 cells, from `shift` cells on."""
    return -(-(EIGHT + mask_columns - 1 + shift) // EIGHT)


def registers_of(mask_rows: int, eights: int) -> int:
    """Return the registers of a thread for the weights' halves and the sums that wait."""
    return mask_rows * (2 * eights + VECTOR)


def shape_of(problem: Problem) -> SplitShape:
    """Return the shape of a warp's work.

    More input rows in a group mean longer chains of products and fewer additions outside them, and more
    registers.
    """
    (rows, columns), left = problem.mask_shape, problem.anchor[1]
    before = whole_vectors(left)
    shift = before - left
    eights = eights_of(columns, shift)
    # So wide that a strip's rows in shared memory have every cell that a product takes.
    along = TileShape(1, EIGHT * (eights - 1) - shift + 1, 1, before, shift)
    taken = registers_of(rows, eights)
    group_rows = next((count for most, count in GROUP_ROWS.items() if taken <= most), 3)
    sides = {"mask_rows": rows, "mask_columns": columns}
    return SplitShape(along=along, **sides, shift=shift, group_rows=group_rows, ahead=2)


@lru_cache(maxsize=64)
def fragment_columns(shape: SplitShape) -> np.ndarray:
    """Return the mask column of each half of a lane's words (eights, lanes, 2); past the last are zeros.

    Lane (g, t) holds of an eight of the weights' rows those numbered 2 t and 2 t + 1, of column g (PTX ISA
    9.7.14.5, fragments of `mma.m16n8k16` and `mma.m16n8k8` with float16).
    """
    lanes = np.arange(32)
    cells = EIGHT * np.arange(shape.eights)[:, None, None] + (2 * (lanes % 4))[:, None] + np.arange(2)
    columns = cells - (lanes // 4)[:, None] - shape.shift
    return np.where((columns >= 0) & (columns < shape.mask_columns), columns, shape.mask_columns)


def fragments_of(shape: SplitShape, halves: WeightHalves) -> np.ndarray:
    """Return the words of all lanes as loaded: uint32, flat (upper and lower, mask rows, eights, lanes)."""
    return fragment_words(np.stack([halves.upper, halves.lower]), fragment_columns(shape)).ravel()
