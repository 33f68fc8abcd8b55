"""What a paper is: its kernels, its tables and their cells. Plain data, no Numba, no device."""

from dataclasses import dataclass

from engine.geometry.block import Block
from engine.tasks.filtering.problem import Problem
from engine.tasks.product.problem import MatrixProduct


@dataclass(frozen=True, slots=True)
class Configuration:
    """How a kernel of a paper is run here: what one click loads.

    Parameters
    ----------
    variant : str
        Key of a filter variant, or of a matrix product.
    mask : str
        Preset name or mask text; empty for a matrix product.
    block : Block, optional
        The paper's own block; None where it names none.
    border, layout, task : str
    """

    variant: str
    mask: str = ""
    block: Block | None = None
    border: str = "zero"
    layout: str = "pitched"
    task: str = Problem.task

    @property
    def is_product(self) -> bool:
        """Whether it is a product of matrices, and not a filter."""
        return self.task == MatrixProduct.task


@dataclass(frozen=True, slots=True)
class CourseKernel:
    """A kernel of a paper and where it is found here.

    Parameters
    ----------
    name : str
        As the paper calls it, such as "convolution_1D_tiled_kernel".
    place : str
        Section, page heading or slide in the paper.
    here : Configuration
    difference : str
        What is not as in the paper, and why; empty if nothing.
    """

    name: str
    place: str
    here: Configuration
    difference: str = ""


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
class Cell:
    """One value of a table: what the paper printed, and what was measured or counted `here`.

    Each is empty where there is none; then `reason` says why `here` is. `not_verified` tells that the reason
    is a result that is wrong.
    """

    printed: str = ""
    here: str = ""
    reason: str = ""
    not_verified: bool = False


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
    """A table of a paper, for this machine.

    Parameters
    ----------
    title : str
    headings : tuple of str
        The paper's column headings.
    rows : tuple of tuple of Cell
        As many cells as headings; the first ones name the row and have only `printed`.
    notes : tuple of str
        What a reader must know: conditions, misprints of the paper, formulas.
    figure : Figure, optional
        Where the paper also draws the table.
    """

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()
    figure: Figure | None = None
