"""How Dask's chunks cut the rows or the columns of a picture, and which halo each chunk gets.

A chunk with its halo is filtered as a picture of its own, as a band is (`engine.geometry.cut`): at the
picture's own edges it ends where the picture does, so that the variant applies the border's rule itself.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from engine.errors import BadValue
from engine.geometry.border import Border
from engine.geometry.cut import stays_near

Reach = tuple[int, int]
"""Cells before and after a sample that its result reads along an axis."""


@dataclass(frozen=True)
class Cut:
    """One axis: the chunks of the result, and the halo of each on both sides.

    Where the picture `wraps`, the first and the last chunk have a halo from its other end.
    """

    chunks: tuple[int, ...]
    before: int = 0
    after: int = 0
    wraps: bool = False

    @property
    def depth(self) -> Reach | int:
        """The halo as `dask.array.overlap` takes it."""
        return self.before if self.wraps else (self.before, self.after)

    def skip(self, number: int) -> int:
        """Return the length of the halo before a chunk."""
        return self.before if number or self.wraps else 0

    def own(self, number: int) -> slice:
        """Return where a chunk lies within itself with its halo."""
        return slice(self.skip(number), self.skip(number) + self.chunks[number])

    def begin(self, number: int) -> int:
        """Return where a chunk with its halo begins in the picture; below 0 at the other end of it."""
        return sum(self.chunks[:number]) - self.skip(number)


def cut(chunks: Iterable[int], reach: Reach, border: Border) -> Cut:
    """Return how an axis is cut for results that read so far.

    Chunks shorter than what a result reads are joined with those after them: a halo comes from neighbours
    alone, and the first and last chunk must have the cells that a rule reflects.
    """
    before, after = reach
    lengths = _joined(chunks, before + after + 1)
    length = sum(lengths)
    if len(lengths) == 1 or reach == (0, 0):
        return Cut(lengths)
    if stays_near(border, length, -before, lengths[0] + after) and stays_near(
        border, length, length - lengths[-1] - before, length + after
    ):
        return Cut(lengths, before, after)
    outside = (*range(-before, 0), *range(length, length + after))
    if any(border.rule(index, length) != index % length for index in outside):
        raise BadValue(
            f"border '{border}' on an array in chunks",
            "its ghost cells depend on the size of the picture",
            "Make it one chunk: array.rechunk(-1).",
        )
    # Dask takes a periodic boundary with one depth for both sides.
    return Cut(lengths, max(reach), max(reach), wraps=True)


def _joined(chunks: Iterable[int], least: int) -> tuple[int, ...]:
    """Return lengths of chunks, each with as many of its successors as make it `least` long."""
    found: list[int] = []
    held = 0
    for length in chunks:
        held += length
        if held >= least:
            found.append(held)
            held = 0
    # What is left is too short for a chunk of its own.
    if found:
        found[-1] += held
    else:
        found.append(held)
    return tuple(found)
