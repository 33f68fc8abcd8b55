"""What the panel Code shows, as rows: sources, listings, diffs. No widgets in here."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from engine.explain.code.code_diff import Change, Diff
from engine.explain.code.listing import CodeLine, SourceLine
from engine.explain.code.shown_code import KernelSource, ListedKernel


class Look(StrEnum):
    """How a row is drawn."""

    CODE = "code"
    HEADING = "heading"
    REMOVED = "removed"
    ADDED = "added"
    GAP = "gap"  # lines are left out, or only the other side has one


@dataclass(frozen=True, slots=True)
class Row:
    """A row: its text, the number of its line, and the line of the source that it is, or comes from."""

    text: str
    look: Look = Look.CODE
    number: int | None = None
    source: SourceLine | None = None


_MARKS = {Look.REMOVED: "−", Look.ADDED: "+"}
_UNIFIED = {Change.SAME: Look.CODE, Change.REMOVED: Look.REMOVED, Change.ADDED: Look.ADDED}
_EMPTY = Row("", Look.HEADING)


def number_text(row: Row) -> str:
    """Return what stands before a row: its number, and whether a side alone has it."""
    number = "" if row.number is None else str(row.number)
    return f"{number} {_MARKS[row.look]}" if row.look in _MARKS else number


def source_rows(source: KernelSource) -> tuple[Row, ...]:
    """Return each function under its heading."""
    return tuple(_source_rows(source))


def _source_rows(source: KernelSource) -> Iterator[Row]:
    for one in source.functions:
        if one is not source.functions[0]:
            yield _EMPTY
        yield Row(f"{one.role} {one.name}: {one.path}", Look.HEADING)
        for number, line in enumerate(one.lines, start=one.first_line):
            yield Row(line, number=number, source=SourceLine(one.path, number))


def listing_rows(kernels: Sequence[ListedKernel]) -> tuple[Row, ...]:
    """Return the listing of each kernel under its heading."""
    return tuple(_listing_rows(kernels))


def _listing_rows(kernels: Sequence[ListedKernel]) -> Iterator[Row]:
    for one in kernels:
        listing = one.listing
        passes = "" if one.passes == (listing.kernel,) else f" ({', '.join(one.passes)})"
        if one is not kernels[0]:
            yield _EMPTY
        yield Row(
            f"{listing.kernel}{passes}: {listing.form.upper()} for {listing.architecture}", Look.HEADING
        )
        for number, line in enumerate(listing.lines, start=1):
            yield Row(line.text.expandtabs(8), number=number, source=line.source)


def kernel_at(kernels: Sequence[ListedKernel], row: int) -> ListedKernel | None:
    """Return the kernel whose listing has a row of `listing_rows`."""
    found = _place_of(kernels, row)
    return found[0] if found else None


def line_at(kernels: Sequence[ListedKernel], row: int) -> CodeLine | None:
    """Return the line that a row of `listing_rows` shows; None for a heading."""
    found = _place_of(kernels, row)
    lines = found[0].listing.lines if found else ()
    return lines[found[1]] if found and 0 <= found[1] < len(lines) else None


def _place_of(kernels: Sequence[ListedKernel], row: int) -> tuple[ListedKernel, int] | None:
    """Return the kernel of a row, and the number of the line in its listing, from 0."""
    for one in kernels:
        # Its heading stands above its lines, and an empty row below them.
        rows = len(one.listing.lines) + 2
        if row < rows:
            return one, row - 1
        row -= rows
    return None


def unified_rows(diff: Diff, around: int) -> tuple[Row, ...]:
    """Return a diff in one column, with so many equal lines around each difference."""
    rows = []
    for line in diff.unified(around):
        number = line.left_number if line.right_number is None else line.right_number
        look = Look.GAP if number is None else _UNIFIED[line.change]
        rows.append(Row("⋯" if number is None else line.text.expandtabs(8), look, number))
    return tuple(rows)


def side_rows(diff: Diff) -> tuple[tuple[Row, ...], tuple[Row, ...]]:
    """Return a diff in two columns of as many rows."""
    left, right = [], []
    for one in diff.rows:
        is_same = one.change is Change.SAME
        left.append(_side(one.left_number, one.left, Look.CODE if is_same else Look.REMOVED))
        right.append(_side(one.right_number, one.right, Look.CODE if is_same else Look.ADDED))
    return tuple(left), tuple(right)


def _side(number: int | None, text: str, look: Look) -> Row:
    return Row("", Look.GAP) if number is None else Row(text.expandtabs(8), look, number)
