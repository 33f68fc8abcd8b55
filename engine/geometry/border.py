"""Borders: the values of the cells that a mask reads outside a picture.

Each border is one index rule: a plain function `rule(index, length)` that maps a row or column outside 0 ..
length - 1 to the one inside whose value it has, or to -1 for a ghost cell, whose value is a constant.
The oracle calls the rules as they are; CPU and CUDA variants compile these very functions, so a border means
the same everywhere, also where the mask is larger than the picture. A new border is one entry of `Border` and
one such function; all else follows from the entry. No Numba in here.

Reflection and repetition go back and forth instead of dividing: a cell further outside than the picture is
long is rare, and a division of 64 bits takes a GPU a hundred instructions. Each is one loop with one end; of
two loops, one a direction, a compiler makes the division again. docs/glossary.md has the names of other
libraries beside each other.

`RANGE_MODES` say what becomes of values outside the range of a picture, when they are shown or saved.

`cut` says which cells of a picture a rectangle of a result is computed from, and where it lies there. A part
is computed as a picture of its own. It carries the cells that its results read, so its edges inside the
picture change only results that are dropped. At the picture's own edges the part ends where the picture does,
and what computes it applies the border's rule itself, as it would to the whole: most rules map the few cells
outside to cells near that edge, which the part has. Where one does not (`wrap` reads the other end), the part
carries the cells that it maps to.
"""

import itertools
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from msgspec import Struct

from engine.errors import BadValue, UnknownName

IndexRule = Callable[[int, int], int]
RangeMode = Literal["clip", "absolute", "offset", "rescale"]

# What happens to values outside the range, each in a sentence, in the order in which they are offered.
RANGE_MODES: Mapping[RangeMode, str] = MappingProxyType(
    {
        "clip": "Values below 0 become 0 and values above full scale become full scale.",
        "absolute": "The sign is dropped, so that both directions of an edge are bright.",
        "offset": "Half of full scale is added, so that 0 is middle grey and negative values are darker.",
        "rescale": "The smallest value becomes 0 and the largest full scale; a constant picture becomes 0.",
    }
)
_LENGTH = 1000


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


class Border(StrEnum):
    """The policies for ghost cells, by their names in files; a new one is an entry here and its index rule.

    An entry has its name, its rule, whether the value of its ghost cells can be chosen, which is 0 otherwise,
    a sentence on what it does, and its names in other libraries, in lower case, the usual one first; who
    types one that is a name of ours means ours. (NumPy's reflect is mirror here, and which one is meant
    cannot be known.)
    """

    _value_: str
    rule: IndexRule
    takes_value: bool
    sentence: str
    elsewhere: Mapping[str, tuple[str, ...]]

    # Any: type checkers take `Border("wrap")`, which looks a member up, for a call of this.
    def __new__(cls, name: str, *entry: Any) -> "Border":
        """Return the member that an entry makes."""
        member = str.__new__(cls, name)
        member._value_ = name
        member.rule, member.takes_value, member.sentence, member.elsewhere = entry
        return member

    # fmt: off
    ZERO = (
        "zero", ghost, False, "Cells outside the picture count as 0; edges darken under a blur.",
        {"PyTorch": ("zeros",)})
    CONSTANT = (
        "constant", ghost, True, "Cells outside the picture have one value that you choose.",
        {"SciPy": ("grid-constant",), "OpenCV": ("border_constant",)})
    REPLICATE = (
        "replicate", replicate, False, "Cells outside repeat the nearest cell of the picture.",
        {"SciPy": ("nearest",), "OpenCV": ("border_replicate",), "NumPy": ("edge",)})
    REFLECT = (
        "reflect", reflect, False,
        "The picture is reflected at its edge; the last cell appears twice (b a | a b).",
        {"SciPy": ("reflect", "grid-mirror"), "OpenCV": ("border_reflect",), "NumPy": ("symmetric",)})
    MIRROR = (
        "mirror", mirror, False,
        "The picture is reflected at the centre of its last cell, which appears once (c b | a b).",
        {"SciPy": ("mirror",), "NumPy": ("reflect",),
         "OpenCV": ("border_reflect_101", "border_reflect101", "border_default")})
    WRAP = (
        "wrap", wrap, False, "The picture repeats without end, as on a torus.",
        {"SciPy": ("wrap", "grid-wrap"), "OpenCV": ("border_wrap",), "NumPy": ("wrap",),
         "PyTorch": ("circular",)})
    # fmt: on

    @property
    def has_ghost_cells(self) -> bool:
        """Whether cells outside have a value that is not one of the picture's."""
        return self.rule(-1, 1) < 0

    def refuse_unused(self, cval: float, what: str = "cval") -> None:
        """Raise BadValue for a value of the cells outside, called `what`, that the border does not take."""
        if cval != 0.0 and not self.takes_value:
            takers = " or ".join(border for border in Border if border.takes_value)
            why = f"it is the value of the cells outside with the border {takers}"
            remedy = f"Leave it out, or choose the border {takers}."
            raise BadValue(f"{what} {cval:g} with the border {self}", why, remedy)

    @classmethod
    def named(cls, name: "str | Border") -> "Border":
        """Return the border of that name; raises UnknownName with our name for another library's."""
        try:
            return cls(name)
        except ValueError:
            remedy = f"{_hint(name)}Choose one of {', '.join(cls)}."
            raise UnknownName(f"border '{name}'", "there is no such border", remedy) from None


def _hint(name: object) -> str:
    """Return what another library's name for a border is here; empty where it is no such name."""
    if not isinstance(name, str):
        return "A border is given by its name. "
    word = name.strip().lower().removeprefix("cv2.")
    if word in list(Border):
        return f"Did you mean {word}? "
    for border in Border:
        for library, names in border.elsewhere.items():
            if word in names:
                return f"What {library} calls {name.strip()} is {border} here. "
    return ""


class Reach(Struct, frozen=True):
    """The cells that a sample of a result depends on, and the rule for those outside the picture."""

    rows: tuple[int, int] = (0, 0)  # above and below
    columns: tuple[int, int] = (0, 0)  # left and right
    border: Border = Border.REPLICATE
    whole: str = ""  # what makes a result depend on all of the picture; empty where a picture can be cut
    exact: bool = True  # else results differ in their last digits where the picture is cut elsewhere

    @property
    def height(self) -> int:
        """Rows that a sample depends on."""
        return sum(self.rows) + 1


class Span(Struct, frozen=True):
    """A part along one axis: first and past-the-last of a result, and the cells that it depends on."""

    first: int
    last: int
    sources: tuple[tuple[int, int], ...]  # ranges of the picture that make the part, one after the other
    skip: int  # cells that its result has before the first wanted one

    @property
    def length(self) -> int:
        """Cells of the part."""
        return sum(last - first for first, last in self.sources)

    @property
    def inside(self) -> slice:
        """Where the wanted results lie among those of the part."""
        return slice(self.skip, self.skip + self.last - self.first)


class Cut(NamedTuple):
    """A rectangle of a result: its rows, and its columns."""

    rows: Span
    columns: Span

    @property
    def inside(self) -> tuple[slice, slice]:
        """Where the rectangle lies in the result of the part."""
        return self.rows.inside, self.columns.inside


def cut(reach: Reach, sides: tuple[int, int], rows: slice, columns: slice) -> Cut:
    """Return what a rectangle of the result of a picture, of (height, width), is computed from."""
    along = zip((reach.rows, reach.columns), sides, (rows, columns), strict=True)
    return Cut(*(span(near, reach.border, length, at.start, at.stop) for near, length, at in along))


def bands(reach: Reach, height: int, wanted_rows: int) -> tuple[Span, ...]:
    """Cut the rows of a picture into bands of about equal height, of `wanted_rows` of the result each."""
    # Of lower bands most would be halo.
    count = -(-height // max(wanted_rows, 2 * reach.height))
    return bands_between(reach, height, [height * number // count for number in range(count + 1)])


def bands_between(reach: Reach, height: int, edges: Sequence[int]) -> tuple[Span, ...]:
    """Return the bands of the results from each edge to the next one."""
    return tuple(
        span(reach.rows, reach.border, height, top, bottom) for top, bottom in itertools.pairwise(edges)
    )


def span(reach: tuple[int, int], border: Border, length: int, first: int, last: int) -> Span:
    """Return what results `first` .. `last` - 1 along an axis are computed from."""
    before, after = reach
    begin, end = first - before, last + after
    top, bottom = inside = max(begin, 0), min(end, length)

    def does_the_same(index: int) -> bool:
        """Return whether the rule does the same to a cell outside of the part alone as of the whole axis."""
        in_part, wanted = border.rule(index - top, bottom - top), border.rule(index, length)
        return wanted == (in_part if in_part < 0 else in_part + top)

    outside = range(begin, 0), range(length, end)
    if all(map(does_the_same, itertools.chain(*outside))):
        return Span(first, last, (inside,), first - top)
    above, below = (_ranges([border.rule(index, length) for index in indices]) for indices in outside)
    return Span(first, last, (*above, inside, *below), before)


def common_border(borders: Sequence[Border]) -> Border | None:
    """Return the rule by which a picture is cut for steps with these borders; None where it cannot be.

    What steps make beyond an edge of the picture has the values that the next step finds there only where
    all repeat the picture, or where no step needs such cells, because all read them near the edge.
    """
    if all(is_near(border) for border in borders):
        return Border.REPLICATE
    first, *others = set(borders)
    repeats = first.rule(-1, _LENGTH) == _LENGTH - 1 and first.rule(_LENGTH, _LENGTH) == 0
    return first if not others and (len(borders) == 1 or repeats) else None


def is_near(border: Border) -> bool:
    """Return whether a rule maps cells outside a picture to those near its edge, or to none."""
    before, after = border.rule(-1, _LENGTH), border.rule(_LENGTH, _LENGTH)
    return before <= 1 and (after < 0 or after >= _LENGTH - 2)


def _ranges(indices: list[int]) -> list[tuple[int, int]]:
    ranges: list[tuple[int, int]] = []
    for index in indices:
        if ranges and ranges[-1][1] == index:
            ranges[-1] = ranges[-1][0], index + 1
        else:
            ranges.append((index, index + 1))
    return ranges
