"""What the panel Code shows, as rows: sources and listings. No widgets in here."""

from collections.abc import Iterator, Sequence

from engine.explain.code.listing import CodeLine, ListedKernel
from engine.explain.code.source import KernelSource
from gui.widgets.code.rows import Look, Row, function_rows

_EMPTY = Row("", Look.HEADING)


def source_rows(source: KernelSource) -> tuple[Row, ...]:
    """Return each function under its heading."""
    return tuple(_source_rows(source))


def _source_rows(source: KernelSource) -> Iterator[Row]:
    for one in source.functions:
        if one is not source.functions[0]:
            yield _EMPTY
        yield Row(f"{one.role} {one.name}: {one.path}", Look.HEADING)
        yield from function_rows(one)


def listing_rows(kernels: Sequence[ListedKernel]) -> tuple[Row, ...]:
    """Return the listing of each kernel under its heading."""
    return tuple(_listing_rows(kernels))


def _listing_rows(kernels: Sequence[ListedKernel]) -> Iterator[Row]:
    for one in kernels:
        if one is not kernels[0]:
            yield _EMPTY
        yield Row(one.heading, Look.HEADING)
        for number, line in enumerate(one.listing.lines, start=1):
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
