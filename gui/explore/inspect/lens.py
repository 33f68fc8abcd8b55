"""What the lens reads at a pixel, and its words about it. No widgets in here."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.geometry.border import Border
from engine.image.convert import full_scale_of, shown_level
from engine.verify.closeness import SMALLEST_SUBNORMAL, relative_bound
from engine.work.filtering.sum_order import Samples, SumOrder, combined, stored, sum_of, window_of
from engine.work.messages import PictureJob
from engine.work.steps import HOW, CombineStep
from gui.explore.picture.tiled import value_text

Pixel = tuple[int, int]
CHANNELS = ("red", "green", "blue")
PRODUCTS, CELLS, WEIGHTS = "products", "cells", "weights"
"""What the table of a mask can have."""
RESULT = "Result"
# Masks of more rows are summed up: their largest products, not each row.
_MOST_ROWS, _LARGEST = 7, 6
_MOST_SORTED = 49
# What is made of two results; of these ways each is multiplied before.
_COMBINED = {
    "add": "Sum", "subtract": "First less second", "magnitude": "Root of the sum",
    "maximum": "Larger of both", "blend": "Sum",
}  # fmt: skip
_MULTIPLIED = "magnitude", "blend"


class InChain(NamedTuple):
    """Which step of a chain a result is of, and what that reads, in words; empty where there is no chain."""

    step: str = ""
    reads: tuple[str, ...] = ()

    @property
    def read_words(self) -> str:
        """What it reads, as the end of a line."""
        return f" of {' and '.join(self.reads)}" if self.reads else ""

    @property
    def read_numbers(self) -> list[str]:
        """What it reads without its titles: step 1; the picture."""
        return [name.partition(" (")[0] for name in self.reads]


class Looked(NamedTuple):
    """What the lens shows: the result of a job at a pixel, and what that reads, each (H, W, C)."""

    job: PictureJob
    pixel: Pixel
    read: Sequence[Samples]
    result: Samples | None
    chain: InChain = InChain()


class LensStep(NamedTuple):
    """A line of the way from the cells to the screen."""

    name: str
    adds: str = ""
    total: str = ""
    is_end: bool = False


class Table(NamedTuple):
    """Values (rows, columns) around a pixel."""

    values: NDArray[Any]
    white: float | None  # what is white among samples; None for values that are none
    framed: tuple[int, int]
    hatched: NDArray[np.bool_] | None = None


class Lens:
    """A result at a pixel: each array has a number for each channel."""

    heading = ""  # what stands beside the choice of the table
    is_equal = False  # whether the steps end in the result that is shown, to the last bit

    def __init__(self, at: Looked) -> None:
        self.job, self.pixel, _, result, self.chain = at
        self.white = full_scale_of(np.dtype(self.job.picture.dtype))  # what is white in the picture
        row, column = self.pixel
        has_place = result is not None and row < result.shape[0] and column < result.shape[1]
        self._shown = np.atleast_1d(result[row, column]) if result is not None and has_place else None

    @property
    def shown(self) -> NDArray[Any]:
        """The result that is shown, as the kernel stored it."""
        assert self._shown is not None
        return self._shown

    @property
    def channels(self) -> int:
        return len(self.shown)

    @property
    def place(self) -> str:
        """Where the pixel is, and in a chain which step's result it is of."""
        return place(self.pixel) + (f" of {self.chain.step}" if self.chain.step else "")

    @property
    def verdict(self) -> str:
        """Whether the steps end in the result, in a few words; nothing of other operations."""
        return ""

    @property
    def border_words(self) -> str:
        """Which cells of a mask lie outside the picture, and what they hold."""
        return ""

    def steps(self, channel: int) -> list[LensStep]:
        """Return the steps from the cells to the screen."""
        raise NotImplementedError

    def words(self, channel: int) -> str:
        """Return how the result comes about."""
        raise NotImplementedError

    def table(self, kind: str, channel: int) -> Table | None:
        """Return the window around the pixel; None where there is none."""
        return None

    def _to_the_screen(self, channel: int) -> list[LensStep]:
        """Return the last steps: the result, and the level that is shown of it."""
        shown, mode = self.shown[channel], self.job.range_mode
        name = f"{RESULT} of {self.chain.step}" if self.chain.step else RESULT
        lines = [LensStep(name, total=number(shown) if shown.dtype.kind == "f" else str(int(shown)))]
        if (level := shown_level(float(shown), mode, self.white)) is not None:
            if words := _clipped(float(shown), mode, self.white):
                lines.append(LensStep("Out of range", words))
            lines.append(LensStep(f"Screen, {mode}", total=f"{level} of 255"))
        lines[-1] = lines[-1]._replace(is_end=True)
        return lines


class FilterLens(Lens):
    """A result of a convolution."""

    def __init__(self, at: Looked, order: SumOrder) -> None:
        assert at.job.filter is not None
        self.step, self.order = step, _ = at.job.filter, order
        mask, weights, pixel = step.applied, step.applied.weights32, at.pixel
        border = step.border, step.cval
        self.window = window = window_of(at.read[0], pixel, mask.shape, mask.anchor, *border)
        super().__init__(at)
        has_sum = order.is_known
        self.sum = sum_of(order, window, weights, mask.offset) if has_sum else None
        """None where the kernel forms no sum of this pixel alone."""
        offset = float(np.float32(mask.offset))
        with np.errstate(all="ignore"):  # of NaN and infinity
            self.products = window.cells * weights[..., np.newaxis]
            """Each cell times its weight: (rows, columns, channels)."""
            products = window.cells.astype(np.float64) * weights.astype(np.float64)[..., np.newaxis]
            self.exact = products.sum((0, 1)) + offset
            """The same sum in float64."""
            magnitudes = np.abs(products).sum((0, 1)) + abs(offset)
            bound = relative_bound(mask.taps + 2) * magnitudes + (mask.taps + 1) * SMALLEST_SUBNORMAL
        self.bound = bound + order.added_error  # how far the kernel's sum may be from it
        sides = zip(pixel, at.job.region.ranges if at.job.region is not None else (), strict=False)
        # Whether only a region is filtered and this is not in it.
        self.is_outside_region = any(at not in along for at, along in sides)
        value = self.exact.astype(np.float32) if self.sum is None else self.sum.value
        self.remade = stored(value, self.shown.dtype)
        """What the kernel stores of its sum, or of the float64 sum where it has none."""
        self.is_equal = bool(np.array_equal(self.remade, self.shown, equal_nan=True))
        self.heading = f"{mask.rows} × {mask.columns}{at.chain.read_words}"

    @property
    def verdict(self) -> str:
        slack = 1.0 if self.shown.dtype.kind == "u" else 0.0
        wanted = self.remade.astype(np.float64) if slack else self.exact
        is_within = bool((~(np.abs(self.shown.astype(np.float64) - wanted) > self.bound + slack)).all())
        return "outside the region" if self.is_outside_region else _verdict(self.is_equal, is_within)

    def steps(self, channel: int) -> list[LensStep]:
        made, mask = self.sum, self.step.applied
        lines: list[LensStep] = []
        if made is not None and len(made.totals) <= _MOST_ROWS:
            part = "Row" if self.order.row or len(self.window.rows) == len(made.totals) else "Part"
            sums = enumerate(zip(made.row_sums[:, channel], made.totals[:, channel], strict=True), start=1)
            lines += [LensStep(f"{part} {at}", number(one), number(total)) for at, (one, total) in sums]
        else:
            lines += self._largest(channel)
            if made is not None:
                lines.append(LensStep(f"All {mask.taps:,} products", total=number(made.totals[-1, channel])))
        if made is None:
            lines.append(LensStep("Sum in float64", total=f"{self.exact[channel]:.9g}".replace("-", "−")))
        elif self.order.begins_with_offset:
            lines.insert(0, LensStep("Offset, first", total=number(mask.offset)))
        else:
            lines.append(LensStep("Offset", number(mask.offset), number(made.value[channel])))
        if self.shown.dtype.kind == "u":
            lines.append(LensStep("Clipped and rounded", total=str(int(self.remade[channel]))))
        return lines + self._to_the_screen(channel)

    def _largest(self, channel: int) -> list[LensStep]:
        products, lines = self.products[..., channel], []
        for at in np.argsort(-np.abs(products), axis=None)[:_LARGEST].tolist():
            row, column = divmod(at, products.shape[1])
            cell, weight = self.window.cells[row, column, channel], self.step.applied.weights32[row, column]
            name = f"{_short(cell)} × {_short(weight)}"
            lines.append(LensStep(f"Cell {row}, {column}", name, _short(products[row, column])))
        return lines

    def words(self, channel: int) -> str:
        """Return how the kernel adds, and whether that is what is shown."""
        if self.is_outside_region:
            return "This pixel lies outside the region, which alone is filtered: it keeps its value."
        words = self.order.words if self.sum is None else f"{self.order.words} {self.order.rounding}"
        if self.is_equal and self.sum is not None:
            return words
        differences = np.abs(self.shown.astype(np.float64) - self.remade.astype(np.float64))
        if self.sum is None:
            bound = self.bound.max() + (1.0 if self.shown.dtype.kind == "u" else 0.0)
            by = f"It differs from the float64 sum by {differences.max():.3g}"
        else:
            by, bound = f"Here it differs from that by {np.nanmax(differences):.3g}", self.bound.max()
        return f"{words} {by}; the bound is {bound:.3g}."

    @property
    def border_words(self) -> str:
        window, step = self.window, self.step
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

    def table(self, kind: str, channel: int) -> Table:
        mask, window = self.step.applied, self.window
        if kind == WEIGHTS:
            return Table(mask.weights32, None, mask.anchor)
        if kind == CELLS:
            return Table(window.cells[..., channel], self.white, mask.anchor, window.outside)
        return Table(self.products[..., channel], None, mask.anchor, window.outside)


class OperationLens(Lens):
    """A result of another operation: the cells that it depends on, where these are a window."""

    def __init__(self, at: Looked) -> None:
        assert at.job.operation is not None
        known, pixel, original = at.job.operation.known, at.pixel, at.read[0]
        half = None if known.window is None else known.window(known.read(dict(at.job.operation.settings)))
        self.teaches = known.teaches
        self.own = np.atleast_1d(original[pixel])  # the sample in its middle
        self.cells: NDArray[Any] | None = None
        """(rows, columns, channels), cells outside the picture repeated; None: it depends on more."""
        if half is not None:
            side = 2 * half + 1
            window = window_of(original, pixel, (side, side), (half, half), Border.REPLICATE, 0.0)
            self.cells = original[np.ix_(window.source_rows, window.source_columns)]
            self._outside = window.outside
        super().__init__(at)
        has_window = half is not None and half > 0
        self.heading = f"{known.title}{at.chain.read_words or (': the window' if has_window else '')}"

    @property
    def channels(self) -> int:
        return len(self.own)

    def steps(self, channel: int) -> list[LensStep]:
        """Return the sorted window, some values to a line."""
        values = () if self.cells is None else self._sorted(channel)
        if not 1 < len(values) <= _MOST_SORTED:
            return []
        side, texts = round(len(values) ** 0.5), [value_text(value) for value in values]
        lines = [", ".join(texts[at : at + side]) for at in range(0, len(texts), side)]
        return [LensStep("" if at else "Sorted", line) for at, line in enumerate(lines)]

    def sentence(self, channel: int) -> str:
        """Return what the operation makes of the pixel."""
        shown, at = self._shown, min(channel, len(self.own) - 1)
        own = value_text(self.own[at]) + self.chain.read_words
        result = "–" if shown is None else value_text(shown[min(channel, len(shown) - 1)])
        made = f"{own} becomes {result}{f' in {self.chain.step}' if self.chain.step else ''}"
        if self.cells is None:
            return f"{made}: it depends on more of the picture than a window around the pixel."
        if self.cells.size == self.cells.shape[2]:
            return f"{made}: each pixel by itself."
        values = self._sorted(channel)
        if shown is not None and (places := np.flatnonzero(values == shown[channel])).size:
            return f"{made}: number {places[0] + 1} of the {len(values)} sorted values."
        return f"{made}, from the {len(values)} values of its window."

    def words(self, channel: int) -> str:
        return f"{self.sentence(channel)} {self.teaches}"

    def table(self, kind: str, channel: int) -> Table | None:
        if self.cells is None or len(self.cells) == 1:
            return None
        middle = len(self.cells) // 2
        values = self.cells[..., channel].astype(np.float64)
        return Table(values, self.white, (middle, middle), self._outside)

    def _sorted(self, channel: int) -> NDArray[Any]:
        assert self.cells is not None
        return np.sort(self.cells[..., channel], axis=None)


class CombineLens(Lens):
    """A result that a step of a chain makes of two others."""

    def __init__(self, at: Looked, step: CombineStep) -> None:
        first, second = (np.atleast_1d(one[at.pixel]).astype(np.float32) for one in at.read)
        super().__init__(at)
        self.step, self.read = step, (first, second)
        self.made = combined(step.how, step.weights, first, second)
        self.is_equal = bool(np.array_equal(self.made.value, self.shown, equal_nan=True))
        self.heading = f"Of {' and '.join(at.chain.read_numbers)}"

    @property
    def verdict(self) -> str:
        errors = np.abs(self.shown.astype(np.float64) - self.made.value)
        return _verdict(self.is_equal, bool((~(errors > self.made.bound)).all()))

    def steps(self, channel: int) -> list[LensStep]:
        made, step = self.made, self.step
        names = [name.removeprefix("the ").capitalize() for name in self.chain.read_numbers]
        samples, terms = ([number(one[channel]) for one in pair] for pair in (self.read, made.terms))
        factors: Iterable[str] = map(number, step.weights or ()) if step.how == "blend" else samples
        lines = [
            LensStep(name, f"{factor} × {sample}", term)
            if step.how in _MULTIPLIED
            else LensStep(name, total=sample)
            for name, factor, sample, term in zip(names, factors, samples, terms, strict=True)
        ]
        both = LensStep(_COMBINED[step.how], total=number(made.value[channel]))
        return [*lines, both, *self._to_the_screen(channel)]

    def words(self, channel: int) -> str:
        """Return how both become one, and what they are."""
        formula = f"{self.step.title.capitalize()}: {HOW[self.step.how].partition(';')[0]}."
        return f"{formula.replace('-', '−')} It reads {' and '.join(self.chain.reads)}."


def channel_name(channel: int, channels: int) -> str:
    """Return the name of a channel; empty for grey."""
    return CHANNELS[channel] if channels == len(CHANNELS) else f"channel {channel}" if channels > 1 else ""


def place(pixel: Pixel) -> str:
    """Return where a pixel is."""
    return f"Row {pixel[0]}, column {pixel[1]}"


def number(value: Any) -> str:
    """Return a float32 number with the digits that tell it from all others."""
    single = np.float32(value) + np.float32(0)
    text = np.format_float_positional(single, unique=True, trim="-")
    if len(text) > 12:
        text = np.format_float_scientific(single, unique=True, trim="-")
    return text.replace("-", "−").replace("inf", "∞").replace("nan", "NaN")


def _short(value: np.float32) -> str:
    return number(value) if value == np.rint(value) else value_text(value)


def _clipped(value: float, range_mode: str, white: float) -> str:
    if range_mode == "clip" and value < 0:
        return "below 0, so black"
    if range_mode in ("clip", "absolute") and abs(value) > white:
        return "above full scale, so white"
    return "NaN, so black" if np.isnan(value) else ""


def _verdict(is_equal: bool, is_within: bool) -> str:
    """Say whether the steps end in the result that is shown, or within the bound of other roundings."""
    if is_equal:
        return "exactly the result shown"
    return "within the bound" if is_within else "not the result shown"
