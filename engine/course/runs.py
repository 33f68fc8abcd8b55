"""What a paper's tables measure, as plain data that can be a key, and the cells that show the values.

`engine.course.bench` does the runs. No Numba in here.
"""

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import ClassVar, NamedTuple

import numpy as np

from engine.course.paper import MISPRINT, Cell, CourseTable, Figure, TableText, unmarked
from engine.geometry.block import Block, Layout
from engine.mask.mask import Mask
from engine.work.steps import Chain, MaskStep, PictureRequest


@dataclass(frozen=True, slots=True)
class Amount:
    """A number, or why there is none; what is computed from a missing one is missing for the same reason.

    With `not_verified` the reason is a wrong result.
    """

    number: float | None = None
    reason: str = ""
    not_verified: bool = False

    def __add__(self, other: "Amount | float") -> "Amount":
        return _computed(operator.add, self, other)

    def __sub__(self, other: "Amount | float") -> "Amount":
        return _computed(operator.sub, self, other)

    def __mul__(self, other: "Amount | float") -> "Amount":
        return _computed(operator.mul, self, other)

    def __truediv__(self, other: "Amount | float") -> "Amount":
        return _computed(operator.truediv, self, other)

    def __rtruediv__(self, other: float) -> "Amount":
        return _computed(operator.truediv, other, self)


def _computed(operation: Callable[[float, float], float], *parts: Amount | float) -> Amount:
    left, right = (part if isinstance(part, Amount) else Amount(part) for part in parts)
    if left.number is None or right.number is None:
        return next((part for part in (left, right) if part.reason), Amount())
    try:
        return Amount(operation(left.number, right.number))
    except ZeroDivisionError:
        return Amount()


def significant(value: float, digits: int = 4) -> str:
    """Return a number rounded to significant digits, never in powers of ten: 0.0001296, 50.8, 24.32."""
    if value == 0:
        return "0"
    return np.format_float_positional(value, precision=digits, unique=False, fractional=False, trim="-")


Value = Amount | float | str
Row = tuple[tuple[object, ...], Iterable[Value]]
"""The cells that name a row, and the values: numbers, or words."""


class Content(NamedTuple):
    """The content of a table here: its rows, notes that follow those in papers.toml, and a figure."""

    rows: Iterable[Row]
    notes: tuple[str, ...] = ()
    figure: Figure | None = None


Tables = Iterator[Content]
"""Those of a paper in its order."""
Sizes = tuple[int, ...] | None
"""Sides of pictures or matrices; None for the paper's own."""


def course_table(text: TableText, content: Content) -> CourseTable:
    """Return a table: this machine's values beside the printed ones.

    Whole numbers are counts and written in full; others have four digits.
    """
    rows = []
    for names, values in content.rows:
        words = [str(name) for name in names]
        key = ", ".join(words)
        pairs = zip_longest(values, text.printed.get(key, ()), fillvalue="")
        cells = (
            replace(_cell(value, unmarked(printed)), is_misprint=printed.endswith(MISPRINT))
            for value, printed in pairs
        )
        rows.append((*map(Cell, words), *cells))
    headings = tuple(text.headings.split(" | "))
    return CourseTable(text.title, headings, tuple(rows), (*text.notes, *content.notes), content.figure)


def _cell(value: Value, printed: str) -> Cell:
    if isinstance(value, str):
        return Cell(printed, value)
    amount = value if isinstance(value, Amount) else Amount(value)
    if amount.number is None:
        return Cell(printed, "", amount.reason, amount.not_verified)
    return Cell(printed, str(amount.number) if isinstance(amount.number, int) else significant(amount.number))


COPY_KEY = "copy"
"""The key of the copy of a picture, which is measured as a variant."""
NOT_YET = "not measured yet"
BEING_COUNTED = "being counted"


class _Labelled:
    """A run whose label is put together of its fields."""

    __slots__ = ()
    words: ClassVar[str]

    @property
    def label(self) -> str:
        """What is measured, in a line."""
        return self.words.format(self)


class FilterRun(PictureRequest, frozen=True, kw_only=True):
    """A filtering of a square grey float32 picture with the zero border.

    Gives "kernel_ms", and on CUDA "copy_in_ms" and "copy_out_ms".
    """

    side: int

    @property
    def label(self) -> str:
        """What is measured, in a line."""
        block = f", block {self.block}" if self.block else ""
        layout = "" if self.layout is Layout.PITCHED else f", {self.layout} rows"
        return f"{self.variant}, {self.side} × {self.side}, {self.mask.name}{block}{layout}"


def filter_run(
    mask: Mask, variant: str, side: int, *, block: Block | None = None, layout: Layout = Layout.PITCHED
) -> FilterRun:
    """Return the run of a mask by a variant on a picture of a size."""
    step = MaskStep(mask=mask, variant=variant, block=block)
    return FilterRun(chain=Chain((step,)), side=side, layout=layout)


@dataclass(frozen=True, slots=True)
class BankRun:
    """Several square Gaussian masks on one picture in one launch of `implicit-gemm`: "kernel_ms" of all."""

    mask_side: int
    masks: int
    side: int

    @property
    def label(self) -> str:
        """What is measured, in a line."""
        masks = "1 mask" if self.masks == 1 else f"{self.masks} masks"
        return f"implicit-gemm, {self.side} × {self.side}, {masks} of {self.mask_side} × {self.mask_side}"


@dataclass(frozen=True, slots=True)
class TimerRun(_Labelled):
    """A filtering timed by device events ("kernel_ms") and by the host's clock, wait included ("host_ms")."""

    filtering: FilterRun
    words = "both timers on {0.filtering.label}"


@dataclass(frozen=True, slots=True)
class AllocationRun(_Labelled):
    """Fresh memory of the device for a grey float32 picture and its result: "allocate_ms", "free_ms"."""

    side: int
    words = "allocating and freeing, {0.side} × {0.side}"


@dataclass(frozen=True, slots=True)
class StreamsRun(_Labelled):
    """A filtering of some pictures on one stream and on two: "one_stream_ms", "two_streams_ms" for each."""

    filtering: FilterRun
    pictures: int = 8
    words = "one stream and two, {0.pictures} times {0.filtering.label}"


@dataclass(frozen=True, slots=True)
class AttributesRun:
    """What the driver states of the GPU: the fields of `GpuAttributes`."""

    label: str = "the device's attributes"


@dataclass(frozen=True, slots=True)
class ProductRun(_Labelled):
    """A product of two square float32 matrices: "kernel_ms", "gflops"."""

    variant: str
    side: int
    tile: int
    words = "{0.variant}, {0.side} × {0.side}, tile {0.tile}"


@dataclass(frozen=True, slots=True)
class StageRun(_Labelled):
    """A stage of the CNN report's network on a batch of digits.

    Gives "kernel_ms", and "running_ms": from the drawings in the host's memory to the scores there.
    """

    stage: str
    batch: int
    words = "{0.stage}, {0.batch:,} drawings"


JobRun = FilterRun | BankRun | ProductRun | StageRun
"""A run that is one job."""
Run = JobRun | TimerRun | AllocationRun | StreamsRun | AttributesRun


Measured = Mapping[str, float] | Amount
"""The values of a run by name (durations are medians), or a quantity that says why there are none."""


@dataclass(frozen=True)
class Results:
    """The values of a paper's runs; a run that is not among them was not measured yet.

    `transactions` counts the transactions per request of a run's kernels without a device, up to a second;
    without it their cells say that they are being counted. `needed` are the runs whose values are requested.
    """

    done: Mapping[Run, Measured]
    transactions: Callable[[JobRun], Amount] = lambda run: Amount(reason=BEING_COUNTED)
    needed: dict[Run, None] = field(default_factory=dict)

    def value(self, run: Run, name: str = "kernel_ms") -> Amount:
        """Return a value of a run, or why there is none."""
        self.needed[run] = None
        measured = self.done.get(run, Amount(reason=NOT_YET))
        return measured if isinstance(measured, Amount) else Amount(measured.get(name))
