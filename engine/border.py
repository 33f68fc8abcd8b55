"""Borders: what a mask sees where it hangs over the edge of a picture.

Each border is one index rule: a plain function `rule(index, length)` that maps a row or column outside
0 .. length - 1 to the one inside whose value stands there, or to -1 for a ghost cell, whose value is a constant.
The oracle calls the rules as they are; CPU and CUDA variants compile these very functions, so a border means the
same everywhere, also where the mask is larger than the picture. No Numba in here.

Where others use other words:

=========  =====================  ==================  ==========================  =================
here       cells outside          SciPy ndimage       OpenCV                      NumPy pad
=========  =====================  ==================  ==========================  =================
zero       0 0 | a b c d | 0 0    constant, cval=0    BORDER_CONSTANT             constant
constant   k k | a b c d | k k    constant, cval=k    BORDER_CONSTANT             constant
replicate  a a | a b c d | d d    nearest             BORDER_REPLICATE            edge
reflect    b a | a b c d | d c    reflect             BORDER_REFLECT              symmetric
mirror     c b | a b c d | c b    mirror              BORDER_REFLECT_101          reflect
wrap       c d | a b c d | a b    grid-wrap           BORDER_WRAP                 wrap
=========  =====================  ==================  ==========================  =================
"""

from collections.abc import Callable
from enum import StrEnum

from engine.errors import UnknownName

IndexRule = Callable[[int, int], int]


class Border(StrEnum):
    """The policies for ghost cells, by the names that files and the command line use."""

    ZERO = "zero"
    CONSTANT = "constant"
    REPLICATE = "replicate"
    REFLECT = "reflect"
    MIRROR = "mirror"
    WRAP = "wrap"

    @property
    def rule(self) -> IndexRule:
        """The index rule of this border."""
        return _RULES[self]

    @property
    def has_ghost_cells(self) -> bool:
        """Whether cells outside have a value of their own instead of one of the picture's."""
        return self in (Border.ZERO, Border.CONSTANT)

    @property
    def sentence(self) -> str:
        """What the border does, in words for people."""
        return _SENTENCES[self]

    @classmethod
    def named(cls, name: "str | Border") -> "Border":
        """Return the border of that name.

        Raises
        ------
        UnknownName
            No border is called so; the remedy lists those that exist.
        """
        try:
            return cls(name)
        except ValueError:
            known = ", ".join(border.value for border in cls)
            raise UnknownName(
                f"border '{name}'", "no border is called that", f"Choose one of {known}."
            ) from None


def ghost(index: int, length: int) -> int:
    """Map every index outside to -1: the cell has a constant value."""
    if index < 0 or index >= length:
        return -1
    return index


def replicate(index: int, length: int) -> int:
    """Map an index outside to the nearest one inside."""
    if index < 0:
        return 0
    if index >= length:
        return length - 1
    return index


def reflect(index: int, length: int) -> int:
    """Map an index outside by reflection about the edge of the last cell (it appears twice)."""
    period = 2 * length
    folded = index % period
    if folded >= length:
        return period - 1 - folded
    return folded


def mirror(index: int, length: int) -> int:
    """Map an index outside by reflection about the centre of the last cell (it appears once)."""
    if length == 1:
        return 0
    period = 2 * length - 2
    folded = index % period
    if folded >= length:
        return period - folded
    return folded


def wrap(index: int, length: int) -> int:
    """Map an index outside as if the picture repeated without end."""
    return index % length


_RULES: dict[Border, IndexRule] = {
    Border.ZERO: ghost,
    Border.CONSTANT: ghost,
    Border.REPLICATE: replicate,
    Border.REFLECT: reflect,
    Border.MIRROR: mirror,
    Border.WRAP: wrap,
}

_SENTENCES: dict[Border, str] = {
    Border.ZERO: "Cells outside the picture count as 0; edges darken under a blur.",
    Border.CONSTANT: "Cells outside the picture have one value that you choose.",
    Border.REPLICATE: "Cells outside repeat the nearest cell of the picture.",
    Border.REFLECT: "The picture is reflected at its edge; the last cell appears twice (b a | a b).",
    Border.MIRROR: "The picture is reflected at the centre of its last cell, which appears once (c b | a b).",
    Border.WRAP: "The picture repeats without end, as on a torus.",
}
