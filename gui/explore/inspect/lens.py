"""What the lens sees at a pixel: cells, weights, the kernel's sum, the stored result. No widgets in here."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.geometry.border import Border
from engine.verify.closeness import SMALLEST_SUBNORMAL, relative_bound
from engine.work.filtering.one_pixel import PixelWindow, Samples, stored, window_of
from engine.work.filtering.sum_order import PixelSum, SumOrder, sum_of
from engine.work.messages import PictureJob
from engine.work.steps import CombineStep, MaskStep

if TYPE_CHECKING:
    from engine.work.one_combination import Combination


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
