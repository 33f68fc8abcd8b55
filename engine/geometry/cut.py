"""How a picture is cut: which of its cells a rectangle of a result is computed from, and where it lies there.

A part is computed as a picture of its own. It carries the cells that its results read, so its edges inside
the picture change only results that are dropped. At the picture's own edges the part ends where the picture
does, and what computes it applies the border's rule itself, as it would to the whole: most rules map the few
cells outside to cells near that edge, which the part has. Where one does not (`wrap` reads the other end),
the part carries the cells that it maps to.
"""

import itertools
from collections.abc import Sequence
from typing import NamedTuple

from msgspec import Struct

from engine.geometry.border import Border


class Reach(Struct, frozen=True):
    """The cells that a sample of a result depends on, and the rule for those outside the picture.

    `whole` names what makes a result depend on all of the picture; empty where a picture can be cut. Results
    that are not `exact` differ in their last digits where the picture is cut elsewhere.
    """

    rows: tuple[int, int] = (0, 0)  # above and below
    columns: tuple[int, int] = (0, 0)  # left and right
    border: Border = Border.REPLICATE
    whole: str = ""
    exact: bool = True

    @property
    def height(self) -> int:
        """Rows that a sample depends on."""
        return sum(self.rows) + 1


class Span(Struct, frozen=True):
    """A part along one axis: first and past-the-last of a result, and the cells that it depends on.

    `sources` are ranges of the picture that make the part, one after the other; its result has `skip` cells
    before the first wanted one.
    """

    first: int
    last: int
    sources: tuple[tuple[int, int], ...]
    skip: int

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
    return Cut(
        span(reach.rows, reach.border, sides[0], rows.start, rows.stop),
        span(reach.columns, reach.border, sides[1], columns.start, columns.stop),
    )


def bands(reach: Reach, height: int, wanted_rows: int) -> tuple[Span, ...]:
    """Cut the rows of a picture into bands of about equal height, of `wanted_rows` of the result each.

    A band has at least twice the rows that a sample depends on: of lower ones most would be halo.
    """
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
    inside = max(begin, 0), min(end, length)
    if stays_near(border, length, begin, end):
        return Span(first, last, (inside,), first - inside[0])
    outside_before = [border.rule(index, length) for index in range(begin, 0)]
    outside_after = [border.rule(index, length) for index in range(length, end)]
    return Span(first, last, (*_ranges(outside_before), inside, *_ranges(outside_after)), before)


def stays_near(border: Border, length: int, begin: int, end: int) -> bool:
    """Return whether a border's rule does the same to cells begin .. end - 1 alone as to the whole axis."""
    first, last = max(begin, 0), min(end, length)
    outside = (*range(begin, 0), *range(length, end))

    def in_part(index: int) -> int:
        found = border.rule(index - first, last - first)
        return found if found < 0 else found + first

    return all(in_part(index) == border.rule(index, length) for index in outside)


def common_border(borders: Sequence[Border]) -> Border | None:
    """Return the rule by which a picture is cut for steps with these borders; None where it cannot be.

    What steps make beyond an edge of the picture has the values that the next step finds there only where
    all repeat the picture, or where no step needs such cells, because all read them near the edge.
    """
    if all(is_near(border) for border in borders):
        return Border.REPLICATE
    if len(borders) == 1 or (len(set(borders)) == 1 and _repeats(borders[0])):
        return borders[0]
    return None


_LENGTH = 1000


def is_near(border: Border) -> bool:
    """Return whether a rule maps cells outside a picture to those near its edge, or to none."""
    before, after = border.rule(-1, _LENGTH), border.rule(_LENGTH, _LENGTH)
    return before <= 1 and (after < 0 or after >= _LENGTH - 2)


def _repeats(border: Border) -> bool:
    return border.rule(-1, _LENGTH) == _LENGTH - 1 and border.rule(_LENGTH, _LENGTH) == 0


def _ranges(indices: list[int]) -> list[tuple[int, int]]:
    """Return indices as ranges of neighbours."""
    found: list[tuple[int, int]] = []
    for index in indices:
        if found and found[-1][1] == index:
            found[-1] = found[-1][0], index + 1
        else:
            found.append((index, index + 1))
    return found
