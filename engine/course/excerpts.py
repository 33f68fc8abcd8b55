"""Our code beside a paper's: the functions that do what a row is about, and its kernels.

Lines are found in the sources by the texts that they have, so that no number has to be kept.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

from engine.course.paper import Cell, CodePlace, CourseKernel, CourseTable, Excerpt, TableText
from engine.explain.code.kernel_source import function_source, source_of
from engine.explain.code.source import SourceFunction
from engine.explain.examples import example_of, variant_named

_HEADING = "In our code"


def with_excerpts(table: CourseTable, text: TableText) -> CourseTable:
    """Return a table of words with a last column: where our code does what each row is about."""
    found = tuple(
        tuple(_excerpt(row[0].printed, place) for place in text.code.get(row[0].printed, ()))
        for row in table.rows
    )
    cells = (Cell("", "; ".join(f"`{one.code}`: {one.where}" for one in of_row)) for of_row in found)
    rows = tuple((*row, cell) for row, cell in zip(table.rows, cells, strict=True))
    return replace(table, headings=(*table.headings, _HEADING), rows=rows, excerpts=found)


def kernels_of(kernel: CourseKernel) -> tuple[Excerpt, ...]:
    """Return our kernels behind a paper's."""
    found = source_of(example_of(variant_named(kernel.variant))).kernels
    return tuple(Excerpt(kernel.name, _called(kernel.variant, one, found), one) for one in found)


@cache
def _excerpt(about: str, place: CodePlace) -> Excerpt:
    function, code = _function(place)
    lit = tuple(at for at, line in enumerate(function.lines) if any(text in line for text in place.lit))
    return Excerpt(about, code, function, lit)


def _function(place: CodePlace) -> tuple[SourceFunction, str]:
    """Return the function of a place, and what it is called: of a variant's the first with all its texts."""
    module, _, name = place.code.partition(":")
    if name:
        function = function_source(module, name)
        return function, function.name
    kernels = source_of(example_of(variant_named(place.code))).kernels
    has_all = (one for one in kernels if all(text in one.text for text in place.lit))
    function = next(has_all, kernels[0])
    return function, _called(place.code, function, kernels)


def _called(key: str, function: SourceFunction, kernels: Sequence[SourceFunction]) -> str:
    """Return the key of a variant, with the name of a kernel where it has several."""
    return f"{key}: {function.name}" if len(kernels) > 1 else key
