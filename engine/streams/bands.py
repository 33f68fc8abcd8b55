"""Bands: a picture cut into rows that are filtered apart, with the same bits in the results.

A band is filtered as a picture of its own. It carries the rows that its results read, so its edges inside the
picture change only results that are dropped. At the picture's own upper and lower edge the band ends where
the picture does, and the variant applies the border's rule itself, as it would to the whole: most rules map
the few rows outside to rows near that edge, which the band has. Where one does not (`wrap` reads the other
end), the band carries the rows that it maps to.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from engine.errors import BadValue
from engine.geometry.border import Border
from engine.geometry.refusal import Refusal, UnsupportedVariant
from engine.work.filtering.problem import Problem
from engine.work.filtering.variants import Variant


@dataclass(frozen=True, slots=True)
class Band:
    """Some rows of a result, and the rows of the picture that they depend on.

    Rows are first and past-the-last. `sources` are ranges of the picture's rows that make the band's picture,
    one below the other; its result has `skip` rows before the first wanted one.
    """

    top: int
    bottom: int
    sources: tuple[tuple[int, int], ...]
    skip: int

    @property
    def rows(self) -> int:
        """Rows of the band's picture."""
        return sum(last - first for first, last in self.sources)


def cut(problem: Problem, wanted_rows: int) -> tuple[Band, ...]:
    """Cut a picture into bands of about equal height, of `wanted_rows` of the result each.

    A band gets at least twice the mask's rows, so that it holds the rows that a border rule reflects, and a
    picture that is lower than two such bands stays whole.
    """
    mask_rows, height = problem.mask_shape[0], problem.height
    count = -(-height // max(wanted_rows, 2 * mask_rows, 1))
    if count == 1:
        return (Band(0, height, ((0, height),), 0),)
    return bands_between(problem, [height * number // count for number in range(count + 1)])


def bands_between(problem: Problem, edges: Sequence[int]) -> tuple[Band, ...]:
    """Return the bands of the results from each edge to the next one, for which `cut` says how far apart."""
    if tuple(edges) == (0, problem.height):
        return (Band(0, problem.height, ((0, problem.height),), 0),)
    return tuple(band(problem, top, bottom) for top, bottom in itertools.pairwise(edges))


def band(problem: Problem, top: int, bottom: int) -> Band:
    """Return the band of some rows of a result, first and past the last."""
    above = problem.anchor[0]
    below = problem.mask_shape[0] - 1 - above
    first, last = top - above, bottom + below
    inside = max(first, 0), min(last, problem.height)
    if stays_near(problem.border, problem.height, first, last):
        return Band(top, bottom, (inside,), top - inside[0])
    rule, height = problem.border.rule, problem.height
    above_it = [rule(row, height) for row in range(first, 0)]
    below_it = [rule(row, height) for row in range(height, last)]
    if min(*above_it, *below_it, 0) < 0:
        raise BadValue(
            f"border '{problem.border}' on a picture in bands",
            "its ghost cells depend on the height of the picture",
            "Raise chunk_bytes until the picture is one chunk.",
        )
    return Band(top, bottom, (*_ranges(above_it), inside, *_ranges(below_it)), above)


def refuse_cut(variant: Variant, cut: str, piece: str, remedy: str) -> None:
    """Raise UnsupportedVariant for a variant whose results depend on where a picture is cut.

    `cut` says what the picture is, such as "a picture in bands", and `piece` what each is: "band".
    """
    if variant.band_invariant:
        return
    raise UnsupportedVariant(
        f"variant '{variant.key}' on {cut}",
        Refusal(
            "not-in-bands",
            f"its sums run through the whole picture, so a {piece}'s results would differ in their last "
            "digits",
            remedy=remedy,
        ),
    )


def stays_near(border: Border, height: int, first: int, last: int) -> bool:
    """Return whether a border's rule does the same to rows first .. last - 1 alone as to all rows."""
    top, bottom = max(first, 0), min(last, height)
    rows = bottom - top

    def in_band(row: int) -> int:
        found = border.rule(row - top, rows)
        return found if found < 0 else found + top

    return all(in_band(row) == border.rule(row, height) for row in (*range(first, 0), *range(height, last)))


def _ranges(rows: list[int]) -> list[tuple[int, int]]:
    """Return rows of the picture as ranges of neighbours."""
    found: list[tuple[int, int]] = []
    for row in rows:
        if found and found[-1][1] == row:
            found[-1] = found[-1][0], row + 1
        else:
            found.append((row, row + 1))
    return found


def rows_of_chunk(problem: Problem, chunk_bytes: int) -> int:
    """Return the rows of a result whose larger copy, in or out, has about that many bytes; at least 1."""
    row = problem.width * problem.channels * max(problem.itemsize, problem.result_itemsize)
    return max(1, chunk_bytes // row)
