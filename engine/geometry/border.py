"""Borders: what a mask sees where it hangs over the edge of a picture.

Each border is one index rule: a plain function `rule(index, length)` that maps a row or column outside
0 .. length - 1 to the one inside whose value stands there, or to -1 for a ghost cell, whose value is a constant.
The oracle calls the rules as they are; CPU and CUDA variants compile these very functions, so a border means the
same everywhere, also where the mask is larger than the picture. No Numba in here.

Reflection and repetition go back and forth instead of dividing: a cell further outside than the picture is long is rare, and
a division of 64 bits takes a GPU a hundred instructions. Each is one loop with one end; of two loops, one a direction, a
compiler makes the division again.

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
            No border is called so; the remedy lists those that exist, and says which of them another library's name means.
        """
        try:
            return cls(name)
        except ValueError:
            known = ", ".join(border.value for border in cls)
            raise UnknownName(
                f"border '{name}'", "no border is called that", f"{_hint(name)}Choose one of {known}."
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
    while index < 0 or index >= length:
        index = -1 - index if index < 0 else 2 * length - 1 - index
    return index


def mirror(index: int, length: int) -> int:
    """Map an index outside by reflection about the centre of the last cell (it appears once)."""
    if length == 1:
        return 0
    while index < 0 or index >= length:
        index = -index if index < 0 else 2 * length - 2 - index
    return index


def wrap(index: int, length: int) -> int:
    """Map an index outside as if the picture repeated without end."""
    while index < 0 or index >= length:
        index = index + length if index < 0 else index - length
    return index


def _hint(name: object) -> str:
    """Return a sentence on what another library's name for a border is here; empty where none is called so."""
    if not isinstance(name, str):
        return "A border is given by its name. "
    word = name.strip().lower().removeprefix("cv2.")
    if word in list(Border):
        return f"Did you mean {word}? "
    if word not in _ELSEWHERE:
        return ""
    library, border = _ELSEWHERE[word]
    return f"What {library} calls {name.strip()} is {border} here. "


# Others' names that none of ours is spelt like. NumPy's reflect is mirror here, and nobody can see that it is meant.
_ELSEWHERE: dict[str, tuple[str, Border]] = {
    "nearest": ("SciPy", Border.REPLICATE),
    "grid-constant": ("SciPy", Border.CONSTANT),
    "grid-mirror": ("SciPy", Border.REFLECT),
    "grid-wrap": ("SciPy", Border.WRAP),
    "border_constant": ("OpenCV", Border.CONSTANT),
    "border_replicate": ("OpenCV", Border.REPLICATE),
    "border_reflect": ("OpenCV", Border.REFLECT),
    "border_reflect_101": ("OpenCV", Border.MIRROR),
    "border_reflect101": ("OpenCV", Border.MIRROR),
    "border_default": ("OpenCV", Border.MIRROR),
    "border_wrap": ("OpenCV", Border.WRAP),
    "edge": ("NumPy", Border.REPLICATE),
    "symmetric": ("NumPy", Border.REFLECT),
    "zeros": ("PyTorch", Border.ZERO),
    "circular": ("PyTorch", Border.WRAP),
}

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
