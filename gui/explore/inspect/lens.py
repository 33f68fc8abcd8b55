"""What the lens sees at a pixel, and what it says of it. No widgets in here."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.geometry.border import Border
from engine.image.convert import shown_level
from engine.verify.closeness import SMALLEST_SUBNORMAL, relative_bound
from engine.work.filtering.sum_order import (
    PixelSum,
    PixelWindow,
    Samples,
    SumOrder,
    stored,
    sum_of,
    window_of,
)
from engine.work.messages import PictureJob
from engine.work.steps import CombineStep, MaskStep
from gui.explore.picture.tiled import value_text

if TYPE_CHECKING:
    from engine.work.filtering.sum_order import Combination


class InChain(NamedTuple):
    """Which step of a chain a result is of, and what that reads, in words; empty where there is no chain."""

    step: str = ""
    reads: tuple[str, ...] = ()


_ALONE = InChain()


@dataclass(frozen=True, slots=True, eq=False)
class FilterLens:
    """A result of a convolution: each array has a number for each channel."""

    job: PictureJob
    step: MaskStep
    pixel: tuple[int, int]
    window: PixelWindow
    order: SumOrder
    sum: PixelSum | None
    """None where the kernel forms no sum of this pixel alone."""
    shown: NDArray[Any]
    """The result that is shown, as the kernel stored it."""
    exact: NDArray[np.float64]
    """The same sum in float64."""
    bound: NDArray[np.float64]
    """How far the kernel's sum may be from it."""
    is_outside_region: bool = False
    """Whether only a region is filtered and this is not in it."""
    chain: InChain = _ALONE

    @property
    def channels(self) -> int:
        """How many channels there are."""
        return len(self.shown)

    @property
    def products(self) -> NDArray[np.float32]:
        """Each cell times its weight: (rows, columns, channels)."""
        with np.errstate(all="ignore"):  # of NaN and infinity
            products: NDArray[np.float32] = self.window.cells * self.step.applied.weights32[..., np.newaxis]
        return products

    @property
    def remade(self) -> NDArray[Any]:
        """What the kernel stores of its sum, or of the float64 sum where it has none."""
        value = self.exact.astype(np.float32) if self.sum is None else self.sum.value
        return stored(value, self.shown.dtype)

    @property
    def is_equal(self) -> bool:
        """Whether that is the result that is shown, to the last bit."""
        return bool(np.array_equal(self.remade, self.shown, equal_nan=True))


@dataclass(frozen=True, slots=True, eq=False)
class OperationLens:
    """A result of another operation: the cells that it depends on, where these are a window."""

    pixel: tuple[int, int]
    title: str
    teaches: str
    cells: NDArray[Any] | None
    """(rows, columns, channels), cells outside the picture repeated; None: it depends on more."""
    own: NDArray[Any]
    """The sample in its middle."""
    shown: NDArray[Any] | None
    white: float
    """What is white in the picture."""
    outside: NDArray[np.bool_] | None = None
    chain: InChain = _ALONE

    @property
    def channels(self) -> int:
        """How many channels there are."""
        return len(self.own)


@dataclass(frozen=True, slots=True, eq=False)
class CombineLens:
    """A result that a step of a chain makes of two others: each array has a number for each channel."""

    step: CombineStep
    pixel: tuple[int, int]
    formula: str
    """How both become one, as a sentence."""
    read: tuple[NDArray[np.float32], NDArray[np.float32]]
    made: "Combination"
    shown: NDArray[Any]
    range_mode: str
    white: float
    chain: InChain

    @property
    def channels(self) -> int:
        """How many channels there are."""
        return len(self.shown)

    @property
    def is_equal(self) -> bool:
        """Whether what is made of both is the result that is shown, to the last bit."""
        return bool(np.array_equal(self.made.value, self.shown, equal_nan=True))


Lens = FilterLens | OperationLens | CombineLens


def filter_lens(
    job: PictureJob,
    order: SumOrder,
    pixel: tuple[int, int],
    original: Samples,
    result: Samples,
    chain: InChain = _ALONE,
) -> FilterLens:
    """Look at a pixel (row, column) of what is filtered, of shape (H, W, C), and of its result."""
    step = job.filter
    assert step is not None
    mask = step.applied
    window = window_of(original, pixel, mask.shape, mask.anchor, step.border, step.cval)
    made = None
    if order.is_known:
        made = sum_of(order, window.cells, window.ghost_rows, mask.weights32, mask.offset)
    offset = float(np.float32(mask.offset))
    with np.errstate(invalid="ignore", over="ignore"):
        products = window.cells.astype(np.float64) * mask.weights32.astype(np.float64)[..., np.newaxis]
        exact = products.sum((0, 1)) + offset
        magnitudes = np.abs(products).sum((0, 1)) + abs(offset)
        bound = relative_bound(mask.taps + 2) * magnitudes + (mask.taps + 1) * SMALLEST_SUBNORMAL
    region = job.region
    is_outside = region is not None and not (
        region.top <= pixel[0] < region.bottom and region.left <= pixel[1] < region.right
    )
    shown = np.atleast_1d(result[pixel])
    bound += order.added_error
    return FilterLens(job, step, pixel, window, order, made, shown, exact, bound, is_outside, chain)


def operation_lens(
    title: str,
    teaches: str,
    half_side: int | None,
    pixel: tuple[int, int],
    original: Samples,
    result: Samples | None,
    white: float,
    chain: InChain = _ALONE,
) -> OperationLens:
    """Look at a pixel of another operation, whose results depend on cells so far on each side."""
    own = np.atleast_1d(original[pixel])
    has_place = result is not None and pixel[0] < result.shape[0] and pixel[1] < result.shape[1]
    shown = np.atleast_1d(result[pixel]) if has_place and result is not None else None
    if half_side is None:
        return OperationLens(pixel, title, teaches, None, own, shown, white, chain=chain)
    side = 2 * half_side + 1
    anchor = half_side, half_side
    window = window_of(original, pixel, (side, side), anchor, Border.REPLICATE, 0.0)
    cells = original[np.ix_(window.source_rows, window.source_columns)]
    return OperationLens(pixel, title, teaches, cells, own, shown, white, window.outside, chain)


CHANNELS = ("red", "green", "blue")
# Masks of more rows are summed up: their largest products, not each row.
MOST_ROWS = 7
_LARGEST = 6
RESULT = "Result"
# By how two results become one: whether each is multiplied, and what is made of both then.
_COMBINED = {
    "add": (False, "Sum"),
    "subtract": (False, "First less second"),
    "magnitude": (True, "Root of the sum"),
    "maximum": (False, "Larger of both"),
    "blend": (True, "Sum"),
}


class Step(NamedTuple):
    """A line of the way from the cells to the screen."""

    name: str
    adds: str = ""
    total: str = ""
    is_end: bool = False


def channel_name(channel: int, channels: int) -> str:
    """Return the name of a channel; empty for grey."""
    return CHANNELS[channel] if channels == len(CHANNELS) else f"channel {channel}" if channels > 1 else ""


def place(pixel: tuple[int, int]) -> str:
    """Return where a pixel is."""
    return f"Row {pixel[0]}, column {pixel[1]}"


def place_of(lens: Lens) -> str:
    """Return where its pixel is, and in a chain which step's result it is of."""
    return place(lens.pixel) + (f" of {lens.chain.step}" if lens.chain.step else "")


def read_words(chain: InChain) -> str:
    """Return what a step of a chain reads, as the end of a line; empty where there is no chain."""
    return f" of {' and '.join(chain.reads)}" if chain.reads else ""


def read_numbers(chain: InChain) -> list[str]:
    """Return what a step reads without its titles: step 1; the picture."""
    return [name.partition(" (")[0] for name in chain.reads]


def number(value: Any) -> str:
    """Return a float32 number with the digits that tell it from all others."""
    single = np.float32(value) + np.float32(0)
    text = np.format_float_positional(single, unique=True, trim="-")
    if len(text) > 12:
        text = np.format_float_scientific(single, unique=True, trim="-")
    return text.replace("-", "−").replace("inf", "∞").replace("nan", "NaN")


def steps(lens: FilterLens, channel: int, range_mode: str, white: float) -> list[Step]:
    """Return the steps from the cells to the screen."""
    made, offset = lens.sum, np.float32(lens.step.applied.offset)
    lines: list[Step] = []
    if made is not None and len(made.totals) <= MOST_ROWS:
        sums, totals = made.row_sums[:, channel], made.totals[:, channel]
        lines += [
            Step(f"{_part(lens)} {at}", number(one), number(total))
            for at, (one, total) in enumerate(zip(sums, totals, strict=True), 1)
        ]
    else:
        lines += _largest(lens, channel)
        if made is not None:
            lines.append(
                Step(f"All {lens.step.applied.taps:,} products", total=number(made.totals[-1, channel]))
            )
    if made is None:
        lines.append(Step("Sum in float64", total=f"{lens.exact[channel]:.9g}".replace("-", "−")))
    elif lens.order.begins_with_offset:
        lines.insert(0, Step("Offset, first", total=number(offset)))
    else:
        lines.append(Step("Offset", number(offset), number(made.value[channel])))
    if lens.shown.dtype.kind == "u":
        lines.append(Step("Clipped and rounded", total=str(int(lens.remade[channel]))))
    return lines + _to_the_screen(lens, channel, range_mode, white)


def combine_steps(lens: CombineLens, channel: int) -> list[Step]:
    """Return the steps from two samples to the screen."""
    made, step = lens.made, lens.step
    names = [name.removeprefix("the ").capitalize() for name in read_numbers(lens.chain)]
    samples, terms = ([number(one[channel]) for one in pair] for pair in (lens.read, made.terms))
    factors: Iterable[str] = samples
    if step.how == "blend":
        factors = map(number, step.weights or ())
    has_factors, words = _COMBINED[step.how]
    lines = [
        Step(name, f"{factor} × {sample}", term) if has_factors else Step(name, total=sample)
        for name, factor, sample, term in zip(names, factors, samples, terms, strict=True)
    ]
    lines.append(Step(words, total=number(made.value[channel])))
    return lines + _to_the_screen(lens, channel, lens.range_mode, lens.white)


def _to_the_screen(lens: FilterLens | CombineLens, channel: int, range_mode: str, white: float) -> list[Step]:
    """Return the last steps: the result, and the level that is shown of it."""
    shown = lens.shown[channel]
    name = f"{RESULT} of {lens.chain.step}" if lens.chain.step else RESULT
    lines = [Step(name, total=number(shown) if shown.dtype.kind == "f" else str(int(shown)))]
    if (level := shown_level(float(shown), range_mode, white)) is not None:
        words = _clipped(float(shown), range_mode, white)
        if words:
            lines.append(Step("Out of range", words))
        lines.append(Step(f"Screen, {range_mode}", total=f"{level} of 255"))
    lines[-1] = lines[-1]._replace(is_end=True)
    return lines


def _part(lens: FilterLens) -> str:
    return (
        "Row"
        if lens.order.row or len(lens.window.rows) == len(lens.sum.totals if lens.sum else ())
        else "Part"
    )


def _largest(lens: FilterLens, channel: int) -> list[Step]:
    products = lens.products[..., channel]
    order = np.argsort(-np.abs(products), axis=None)[:_LARGEST]
    lines = []
    for at in order.tolist():
        row, column = divmod(at, products.shape[1])
        cell, weight = lens.window.cells[row, column, channel], lens.step.applied.weights32[row, column]
        name = f"{_short(cell)} × {_short(weight)}"
        lines.append(Step(f"Cell {row}, {column}", name, _short(products[row, column])))
    return lines


def _short(value: np.float32) -> str:
    return number(value) if value == np.rint(value) else value_text(value)


def _clipped(value: float, range_mode: str, white: float) -> str:
    if range_mode == "clip" and value < 0:
        return "below 0, so black"
    if range_mode in ("clip", "absolute") and abs(value) > white:
        return "above full scale, so white"
    return "NaN, so black" if np.isnan(value) else ""


def border_sentence(lens: FilterLens) -> str:
    """Return which cells lie outside the picture, and what they hold."""
    window, step = lens.window, lens.step
    count, taps = int(window.outside.sum()), step.mask.taps
    if not count:
        return f"All {taps:,} cells lie in the picture." if taps > 1 else "The cell lies in the picture."
    which = f"{count:,} of {taps:,} cells lie outside (hatched). Border {step.border}: "
    if not (window.source_rows.min() >= 0 and window.source_columns.min() >= 0):
        held = step.cval if step.border.takes_value else 0
        return f"{which}they hold {held:g}."
    row, column = np.argwhere(window.outside)[0].tolist()
    there = f"row {window.rows[row]}, column {window.columns[column]}"
    source = f"row {window.source_rows[row]}, column {window.source_columns[column]}"
    return f"{which}they repeat cells inside; {there} is {source}.".replace(" -", " −")


def order_sentence(lens: FilterLens) -> str:
    """Return how the kernel adds, and whether that is what is shown."""
    if lens.is_outside_region:
        return "This pixel lies outside the region, which alone is filtered: it keeps its value."
    if lens.sum is None:
        differences = np.abs(lens.shown.astype(np.float64) - lens.remade.astype(np.float64))
        bound = lens.bound + (1.0 if lens.shown.dtype.kind == "u" else 0.0)
        return (
            f"{lens.order.words} It differs from the float64 sum by {differences.max():.3g}; the bound is "
            f"{bound.max():.3g}."
        )
    words = f"{lens.order.words} {lens.order.rounding}"
    if lens.is_equal:
        return words
    difference = np.nanmax(np.abs(lens.shown.astype(np.float64) - lens.remade.astype(np.float64)))
    return f"{words} Here it differs from that by {difference:.3g}; the bound is {lens.bound.max():.3g}."


def verdict(lens: FilterLens | CombineLens) -> str:
    """Return whether the steps end in the result that is shown, in a few words."""
    if isinstance(lens, FilterLens) and lens.is_outside_region:
        return "outside the region"
    if lens.is_equal:
        return "exactly the result shown"
    return "within the bound" if is_within(lens) else "not the result shown"


def is_within(lens: FilterLens | CombineLens) -> bool:
    """Whether the result that is shown lies within the bound of the float64 sum, or of other roundings."""
    if isinstance(lens, CombineLens):
        errors = np.abs(lens.shown.astype(np.float64) - lens.made.value)
        return bool((~(errors > lens.made.bound)).all())
    slack = 1.0 if lens.shown.dtype.kind == "u" else 0.0
    wanted = lens.remade.astype(np.float64) if slack else lens.exact
    errors = np.abs(lens.shown.astype(np.float64) - wanted)
    return bool((~(errors > lens.bound + slack)).all())


def operation_sentence(lens: OperationLens, channel: int) -> str:
    """Return what another operation makes of a pixel."""
    own = value_text(lens.own[min(channel, len(lens.own) - 1)]) + read_words(lens.chain)
    result = "–" if lens.shown is None else value_text(lens.shown[min(channel, len(lens.shown) - 1)])
    if lens.chain.step:
        result += f" in {lens.chain.step}"
    if lens.cells is None:
        return f"{own} becomes {result}: it depends on more of the picture than a window around the pixel."
    if lens.cells.size == lens.cells.shape[2]:
        return f"{own} becomes {result}: each pixel by itself."
    values = sorted_values(lens, channel)
    if lens.shown is not None and (places := np.flatnonzero(values == lens.shown[channel])).size:
        return f"{own} becomes {result}: number {places[0] + 1} of the {len(values)} sorted values."
    return f"{own} becomes {result}, from the {len(values)} values of its window."


def sorted_values(lens: OperationLens, channel: int) -> Any:
    """Return the values of the window in order."""
    assert lens.cells is not None
    return np.sort(lens.cells[..., channel], axis=None)
