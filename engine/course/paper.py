"""What a paper is: its kernels, its tables and their cells. Plain data, no Numba, no device."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from engine.explain.code_lines import SourceFunction
from engine.geometry.block import Block
from engine.tasks.product.problem import MatrixProduct
from engine.work.problem import Problem

MISPRINT = "†"
"""Marks a misprinted value, and begins the note that says what is wrong."""


@dataclass(frozen=True, slots=True)
class CourseKernel:
    """A kernel of a paper, and how it is run here, with what one click loads.

    `name` is the paper's, `place` its section, page heading or slide. `variant` is the key of a filter
    variant, of a matrix product or of a stage of the network, as `task` says; `mask` a preset's name or a
    mask's text (empty but for a filter), `block` the paper's own; None where it names none. `difference` says
    what is not as in the paper, and why. `names` are what the paper calls the names of our kernel, where it
    prints its own.
    """

    name: str
    place: str
    variant: str
    mask: str = ""
    block: Block | None = None
    border: str = "zero"
    layout: str = "pitched"
    task: str = Problem.task
    difference: str = ""
    names: Mapping[str, str] = field(default_factory=dict, hash=False)

    @property
    def is_product(self) -> bool:
        """Whether it is a product of matrices."""
        return self.task == MatrixProduct.task


@dataclass(frozen=True, slots=True)
class Paper:
    """A course paper; `key` is its stable name for the command line, `tables` are titles of its tables."""

    key: str
    title: str
    authors: str
    source: str
    about: str
    kernels: tuple[CourseKernel, ...]
    tables: tuple[str, ...]

    @property
    def citation(self) -> str:
        """Title, authors and source in a line."""
        return " ".join(f"{part.rstrip('.')}." for part in (self.title, self.authors, self.source))


@dataclass(frozen=True, slots=True)
class CodePlace:
    """Where a step is done in our code.

    `code` is the key of a variant, whose kernel it is, or a function as "module:name" within the engine;
    `lit` are texts that only the lines which do it have.
    """

    code: str
    lit: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A function of ours; its lines that do a step are lit.

    `about` is what is done, by a table's row or a paper's kernel.
    """

    about: str
    code: str  # the key of a variant, or the name of a function
    function: SourceFunction
    lit: tuple[int, ...] = ()  # positions in its lines

    @property
    def where(self) -> str:
        """The file with the lit lines, or all of them."""
        lit = self.lit or (0, len(self.function.lines) - 1)
        first, last = (self.function.first_line + at for at in (lit[0], lit[-1]))
        return f"{self.function.path}, " + (f"lines {first} to {last}" if last > first else f"line {first}")


@dataclass(frozen=True, slots=True)
class TableText:
    """The part of a paper's table that `assets/course/papers.toml` has.

    `headings` stand apart by " | "; `notes` are conditions, formulas and the paper's misprints; `printed` has
    its values by the names of their rows, joined by ", ", and the mark behind those that a note says are
    wrong. `values` are those of a worked example, `rows` the texts of a table of words; `code` has the places
    in our code of a row by its first cell.
    """

    title: str
    headings: str
    notes: tuple[str, ...] = ()
    printed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    values: Mapping[str, Any] = field(default_factory=dict)
    rows: tuple[tuple[str, ...], ...] = ()
    code: Mapping[str, tuple[CodePlace, ...]] = field(default_factory=dict)


def unmarked(printed: str) -> str:
    """Return a printed value without the mark of its note."""
    return printed.rstrip(f" {MISPRINT}")


@dataclass(frozen=True, slots=True)
class Cell:
    """One value of a table: what the paper printed, and what was measured or counted `here`.

    Each is empty where there is none; then `reason` says why `here` is. With `not_verified` the reason is a
    wrong result. With `is_misprint` a note, which begins with the same mark, says what is wrong in the paper.
    `recorded` is what another machine measured, where that is shown too.
    """

    printed: str = ""
    here: str = ""
    reason: str = ""
    not_verified: bool = False
    is_misprint: bool = False
    recorded: str = ""

    @property
    def marked(self) -> str:
        """What the paper printed, to read: a misprint with the mark of its note."""
        return f"{self.printed} {MISPRINT}" if self.is_misprint else self.printed


@dataclass(frozen=True, slots=True)
class Series:
    """A curve of a figure: x and y; None where y was not measured.

    `variant` is the key of the variant whose values these are, for its colour; empty where there is none.
    """

    name: str
    x: tuple[float, ...]
    y: tuple[float | None, ...]
    variant: str = ""


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of a paper, for this machine; `printed` are the paper's own curves where it has numbers."""

    title: str
    x_label: str
    y_label: str
    series: tuple[Series, ...]
    printed: tuple[Series, ...] = ()
    log_y: bool = False


@dataclass(frozen=True, slots=True)
class CourseTable:
    """A table of a paper, for this machine; `figure` where the paper also draws it.

    Each row has as many cells as there are headings; the first ones name the row and have only `printed`.
    With `excerpts`, those of each row, the last cell says where our code does what the row is about.
    """

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()
    figure: Figure | None = None
    excerpts: tuple[tuple[Excerpt, ...], ...] = ()
