"""In which order a kernel adds up the products of one result, and the very same sum, step by step.

Float32 sums depend on their order, so the same pixel has other last digits in another kernel. A `SumOrder`
says enough of a kernel that its sum can be formed again for one pixel, with the same roundings: which
products make a partial sum, whether a multiply-add rounds once (fused) or twice, and when the offset comes.
It is plain data and NumPy, so that the window can follow the mouse with it.

The cells under a mask at one pixel, how its sum is stored, and two samples combined are here too.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from engine.geometry.border import Border
from engine.mask.factors import UNIT_ROUNDOFF

Float32Array = NDArray[np.float32]
Float64Array = NDArray[np.float64]

# The bits of a float64 number that float32 has no room for, and those of a number in the middle between two.
_PAST_FLOAT32, _MIDDLE = (1 << 29) - 1, 1 << 28
_SMALLEST_NORMAL = 2.0**-126


@dataclass(frozen=True, slots=True)
class SumOrder:
    """The order of a kernel's sums; without `part` and `row` not known, or of other cells than the mask's."""

    words: str
    part: int = 0  # products of each partial sum, row after row; those of the mask: one sum of all
    is_fused: bool = False  # a multiply-add rounds once
    is_double: bool = False  # products are rounded to float32, their one sum is float64
    begins_with_offset: bool = False  # else the offset comes last
    # The mask is a column times this row: the cells of each row are added up first, then the rows.
    row: tuple[float, ...] = ()
    column: tuple[float, ...] = ()
    taps: tuple[int, ...] = ()  # the order of the row's weights; empty: from left to right
    pairs: int = 0  # cells from both ends of the row that are added before they are multiplied
    added_error: float = 0.0  # what a result may be off beyond the bound of a direct sum, where that is all
    ghost_row: float | None = None  # what a row of ghost cells adds up to; None: as any other row

    @property
    def is_known(self) -> bool:
        """Whether the sum can be formed again."""
        return bool(self.part or self.row)

    @property
    def rounding(self) -> str:
        """How products are added, in words."""
        if self.is_double:
            return "Each product is rounded to float32; their sum is float64 and is rounded once."
        if self.is_fused:
            return "Each product is added with one rounding (a fused multiply-add)."
        return "Each product is rounded to float32, and each sum."


class PixelSum(NamedTuple):
    """The sum of one pixel, for each channel."""

    row_sums: Float32Array  # what each part, or each row, adds up to: (parts, channels)
    totals: Float32Array  # the sum after each of them
    value: Float32Array  # the sum with the offset: (channels,)


_TWO_PASSES = (
    "Each row is added up with the row's weights from left to right, then these sums with the column's "
    "weights from the top, then the offset."
)
RUNNING_SUMS = SumOrder(
    "It adds cells to sums that many pixels share, and takes others away again: no sum of this pixel alone "
    "is formed."
)
TRANSFORM = SumOrder(
    "It multiplies the Fourier transforms of picture and mask: no sum of this pixel alone is formed."
)
PRODUCTS = SumOrder("It adds several columns times rows, each summed along the rows and then down.")
TENSOR_CORES = SumOrder("Tensor cores add several products at once, in an order that the device chooses.")


def by_rows(columns: int, *, is_fused: bool) -> SumOrder:
    """Return the order of most kernels: a partial sum for each mask row, from left to right."""
    words = "Each row is added up from left to right, then the rows from the top, then the offset."
    return SumOrder(words, part=columns, is_fused=is_fused)


def one_chain(taps: int) -> SumOrder:
    """Return the order of one sum of all products that begins with the offset."""
    words = "One sum that begins with the offset, row after row from left to right."
    return SumOrder(words, part=taps, is_fused=True, begins_with_offset=True)


def two_passes(
    row: Float32Array, column: Float32Array, *, is_fused: bool = True, words: str = "", **more: Any
) -> SumOrder:
    """Return the order of a column times a row; `more` are fields of `SumOrder`."""
    factors: Any = {"row": tuple(row.tolist()), "column": tuple(column.tolist())}
    return SumOrder(words or _TWO_PASSES, is_fused=is_fused, **factors, **more)


def sum_of(order: SumOrder, window: "PixelWindow", weights: Float32Array, offset: float) -> PixelSum:
    """Form the sum of one pixel, of the cells under the mask and of its weights, as the kernel does."""
    with np.errstate(over="ignore", invalid="ignore"):
        if order.row:
            return _sum_of_products(order, window, offset)
        return _sum_of_parts(order, window.cells, weights, offset)


def _sum_of_parts(order: SumOrder, cells: Float32Array, weights: Float32Array, offset: float) -> PixelSum:
    taps, channels = weights.size, cells.shape[2]
    part = min(order.part, taps)
    parts = -(-taps // part)
    # What is missing of the last part is a product of zeros, which changes no sum.
    ones = np.zeros((parts * part, channels), np.float32)
    others = np.zeros(parts * part, np.float32)
    ones[:taps], others[:taps] = cells.reshape(taps, channels), weights.reshape(-1)
    products = ones.astype(np.float64) * others.astype(np.float64)[:, np.newaxis]
    if order.is_double:
        running = np.cumsum(products.astype(np.float32).astype(np.float64), axis=0)
        ends = running[np.arange(1, weights.shape[0] + 1) * weights.shape[1] - 1]
        sums, value = np.diff(ends, axis=0, prepend=0.0), running[-1].astype(np.float32) + np.float32(offset)
        return PixelSum(sums.astype(np.float32), ends.astype(np.float32), value)
    by_part = products.reshape(parts, part, channels).swapaxes(0, 1)
    start = np.float32(offset if order.begins_with_offset else 0.0)
    if order.begins_with_offset and parts == 1:
        chain = _chain(np.full((1, channels), start), by_part, order.is_fused)
        at = np.minimum(np.arange(1, weights.shape[0] + 1) * weights.shape[1], taps)
        totals = chain[at, 0]
        return PixelSum(np.diff(totals, axis=0, prepend=np.full((1, channels), start)), totals, chain[-1, 0])
    sums = _chain(np.zeros((parts, channels), np.float32), by_part, order.is_fused)[-1]
    totals = _chain(np.full((1, channels), start), sums[:, np.newaxis].astype(np.float64), True)[1:, 0]
    value = totals[-1] if order.begins_with_offset else totals[-1] + np.float32(offset)
    return PixelSum(sums, totals, value)


def _sum_of_products(order: SumOrder, window: "PixelWindow", offset: float) -> PixelSum:
    row, column, cells = np.array(order.row, np.float32), np.array(order.column, np.float32), window.cells
    taps, pairs = row.size, order.pairs
    paired = cells[:, :pairs] + cells[:, taps - pairs :][:, ::-1]
    taken, factors = np.concatenate([paired, cells[:, pairs : taps - pairs]], 1), row[: taps - pairs]
    if order.taps:
        taken, factors = taken[:, list(order.taps)], factors[list(order.taps)]
    products = taken.astype(np.float64) * factors.astype(np.float64)[:, np.newaxis]
    nothing = np.zeros((len(column), cells.shape[2]), np.float32)
    sums = _chain(nothing, products.swapaxes(0, 1), order.is_fused)[-1]
    if order.ghost_row is not None:
        # Rows that have ghost cells only.
        sums[window.source_rows < 0] = order.ghost_row
    down = sums.astype(np.float64) * column.astype(np.float64)[:, np.newaxis]
    start = np.full((1, cells.shape[2]), np.float32(offset if order.begins_with_offset else 0.0))
    totals = _chain(start, down[:, np.newaxis], order.is_fused)[1:, 0]
    value = totals[-1] if order.begins_with_offset else totals[-1] + np.float32(offset)
    return PixelSum(sums, totals, value)


def _chain(start: Float32Array, products: Float64Array, is_fused: bool) -> Float32Array:
    """Return the start, and the sums after each of the products, which are exact, along their first axis."""
    added = products if is_fused else products.astype(np.float32).astype(np.float64)
    # Where every sum is a float32 number nothing is ever rounded, as with whole numbers.
    running = np.cumsum(np.concatenate([start[np.newaxis].astype(np.float64), added]), axis=0)
    rounded: Float32Array = running.astype(np.float32)
    if (rounded == running).all():
        return rounded
    # Hardly any sum needs more than the float64 sum rounded, and without it all take a fifth of the time.
    totals = np.empty_like(added)
    for step, product in enumerate(added):
        np.add(rounded[step], product, out=totals[step])
        rounded[step + 1] = totals[step]
    # Such a sum may not be the exact one rounded once only where it was rounded to the middle between two
    # float32 numbers; of subnormal ones the middle lies elsewhere.
    is_middle = totals.view(np.int64) & _PAST_FLOAT32 == _MIDDLE
    errors = _error_of(rounded[:-1].astype(np.float64), added, totals)
    if ((is_middle | (np.abs(totals) < _SMALLEST_NORMAL)) & (np.abs(errors) > 0)).any():
        for step, product in enumerate(added):
            rounded[step + 1] = _rounded_sum(rounded[step].astype(np.float64), product)
    return rounded


def _error_of(one: Float64Array, other: Float64Array, total: Float64Array) -> Float64Array:
    """Return by how much the sum of two float64 numbers was rounded, exactly."""
    part = total - one
    return (one - (total - part)) + (other - part)


def _rounded_sum(one: Float64Array, other: Float64Array) -> Float32Array:
    """Return the exact sum of two float64 numbers, rounded once to float32.

    The float64 sum is rounded to odd first: then the second rounding cannot go the wrong way (Boldo and
    Melquiond, "Emulation of a FMA and correctly rounded sums", IEEE Transactions on Computers 57, 2008).
    """
    total = one + other
    error, bits = _error_of(one, other, total), total.view(np.int64)
    is_off = (np.abs(error) > 0) & (bits & 1 == 0)
    towards = np.where((error > 0) == (total > 0), 1, -1)
    odd = np.where(is_off, bits + towards, bits).view(np.float64)
    return odd.astype(np.float32)


class Samples(Protocol):
    """A picture whose values are read as those of an array (H, W, C): by rows and columns."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows, columns and channels."""

    def __getitem__(self, place: Any) -> np.ndarray:
        """Return the values at some places."""


class PixelWindow(NamedTuple):
    """The cells under a mask, and where each comes from."""

    cells: NDArray[np.float32]  # as kernels take them, ghost cells with theirs: (rows, columns, channels)
    # The row of the picture that each row of cells lies at; outside it before 0 or past the last.
    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    outside: NDArray[np.bool_]  # which cells lie outside the picture: (rows, columns)
    source_rows: NDArray[np.int64]  # the row that the border takes in its place; -1 for ghost cells
    source_columns: NDArray[np.int64]


def window_of(
    image: Samples,
    pixel: tuple[int, int],
    mask_shape: tuple[int, int],
    anchor: tuple[int, int],
    border: Border,
    cval: float,
) -> PixelWindow:
    """Return the cells under a mask at a pixel (row, column) of a picture of shape (H, W, C)."""
    sides = zip(pixel, anchor, mask_shape, strict=True)
    wanted = [np.arange(at - before, at - before + count) for at, before, count in sides]
    rows, columns = wanted
    down, across = (
        np.array([int(at) if 0 <= at < length else border.rule(int(at), length) for at in places])
        for places, length in zip(wanted, image.shape, strict=False)
    )
    beyond_rows = (rows < 0) | (rows >= image.shape[0])
    beyond_columns = (columns < 0) | (columns >= image.shape[1])
    # In the place of ghost cells something is read that is near: what is read may have to be requested.
    near = [np.where(places < 0, at, places) for places, at in zip((down, across), pixel, strict=True)]
    cells = image[np.ix_(*near)].astype(np.float32)
    ghosts = (down < 0)[:, np.newaxis] | (across < 0)
    cells[ghosts] = np.float32(cval if border.takes_value else 0.0)
    outside = beyond_rows[:, np.newaxis] | beyond_columns
    return PixelWindow(cells, rows, columns, outside, down, across)


def stored(value: NDArray[np.float32], dtype: np.dtype) -> np.ndarray:
    """Return a sum as a kernel stores it: clipped and rounded half to even in 8 and 16 bit; NaN becomes 0."""
    if dtype.kind != "u":
        return value
    held = np.fmin(np.fmax(value, np.float32(0)), np.float32(np.iinfo(dtype).max))
    return np.rint(held).astype(dtype)


class Combination(NamedTuple):
    """What a step makes of two samples, for each channel."""

    # Each sample as it is added: times its weight, or its square; of the larger the samples themselves.
    terms: tuple[Float32Array, Float32Array]
    value: Float32Array  # the result, each multiplication and addition rounded to float32, as on the CPU
    # How far another order of the same roundings, such as a fused multiply-add, may be from it.
    bound: NDArray[np.float64]


def combined(
    how: str, weights: tuple[float, float] | None, first: Float32Array, second: Float32Array
) -> Combination:
    """Combine the samples of a pixel; `how` and `weights` are those of a `CombineStep`."""
    with np.errstate(over="ignore", invalid="ignore"):
        if how == "maximum":
            larger = np.maximum(first, second)
            return Combination((first, second), larger, np.zeros(larger.shape))
        if weights is None:
            squares = first * first, second * second
            root = np.sqrt(squares[0] + squares[1])
            size = root.astype(np.float64)
            # The square of a smaller length is subnormal, or 0.
            return Combination(squares, root, 5 * UNIT_ROUNDOFF * size + 2.0**-62 * (size > 0))
        one, other = map(np.float32, weights)
        terms = one * first, other * second
        size = np.abs(terms[0]).astype(np.float64) + np.abs(terms[1])
        return Combination(terms, terms[0] + terms[1], 4 * UNIT_ROUNDOFF * size + 4 * 2.0**-149)
