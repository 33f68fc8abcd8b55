"""How weights were typed: the text of each cell, and what all of them are divided by.

    weight = cell * over / divisor

`1/9` is one of the fractions that no float64 is, and `1 2 1; 2 4 2; 1 2 1 /16` is easier to read than its
quotients; so a `Mask` keeps what was typed beside its weights, which follow from it and are rounded once.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from engine.mask.text_cells import Scale, number_text, read_fraction, refuse

Cells = tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class TypedWeights:
    """The weights of a mask as somebody wrote them.

    Parameters
    ----------
    cells : tuple of tuple of str
        Rows of numbers and fractions: `2`, `-0.5`, `1/9`.
    divisor : str
        What every cell is divided by, a number or a fraction; empty for 1.
    """

    cells: Cells
    divisor: str = ""

    @property
    def is_plain(self) -> bool:
        """Whether there is neither a divisor nor a fraction: the weights say all that was typed."""
        return not self.divisor and not any("/" in cell for row in self.cells for cell in row)

    @property
    def scale(self) -> Scale:
        """The factor of all cells."""
        divisor = read_fraction(self.divisor, "the divisor") if self.divisor else Scale()
        if divisor.times == 0.0:
            refuse("the divisor is 0", "Divide by another number than 0.")
        return Scale(divisor.over, divisor.times)

    @cached_property
    def weights(self) -> npt.NDArray[np.float64]:
        """The weights, each rounded once; raises MaskError where a text is no number or the divisor 0."""
        rows = [
            [_value(cell, f"row {row}, column {column}") for column, cell in enumerate(cells, start=1)]
            for row, cells in enumerate(self.cells, start=1)
        ]
        # Quotients beyond float64 are refused in words by Mask, not by a warning of NumPy's.
        with np.errstate(over="ignore", invalid="ignore"):
            scaled: npt.NDArray[np.float64] = np.array(rows) * self.scale.times / self.scale.over
        return scaled

    def moved(self, move: Callable[[npt.NDArray[Any]], npt.NDArray[Any]]) -> "TypedWeights":
        """Return the cells as a function of arrays, such as a rotation, puts them."""
        cells = move(np.array(self.cells, dtype=object))
        return TypedWeights(tuple(map(tuple, cells.tolist())), self.divisor)


def divisor_text(scale: Scale) -> str:
    """Return a factor of a mask as its divisor; empty for 1."""
    if scale.times == scale.over:
        return ""
    if scale.times == 1.0:
        return number_text(scale.over)
    return f"{number_text(scale.over)}/{number_text(scale.times)}"


def _value(cell: str, where: str) -> float:
    scale = read_fraction(cell, where)
    value = scale.times / scale.over
    if not math.isfinite(value):
        refuse(f"{where} is too large a number", "Write a smaller number.")
    return value
