"""`Mask`: the weights of a filter, which of them lies on the pixel, and what is added at the end.

A mask cannot be changed; every method returns a new one. The 180° turn that makes a correlation a convolution
is made by `Mask.flipped` alone.
"""

import hashlib
import math
import operator
import os
import re
import reprlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from engine.errors import BadValue, MaskError
from engine.image.convert import host_array
from engine.mask.generator_table import number_text
from engine.mask.typed import TypedWeights, read_fraction

MAX_SIDE = 63
# Longest mask of one row or one column; equal, so that such a mask can always be transposed and turned.
MAX_LINE = 127
# Longest name that is read from a file: one line of a window or a table.
MAX_NAME_CHARACTERS = 200
# What a mask without a name is called.
CUSTOM = "custom"
SIDES_ALLOWED = (
    f"a side may have 1 to {MAX_SIDE} cells, or 1 to {MAX_LINE} in a mask of one row or one column"
)

Weights = npt.NDArray[np.float64]

_FLOAT32_MAX = float(np.finfo(np.float32).max)
_FLOAT64_EPS = float(np.finfo(np.float64).eps)

_ROWS = "Give rows of numbers, such as [[1, 0, -1]]"
_READ = "Read it with engine.parse_mask, or give it to engine.correlate as it is."
_DECODED = "read text: engine.parse_mask(data.decode())."
# Arguments that are no table of weights, why, and the remedy. NumPy would make an array of one element of
# most.
_NO_TABLES = (
    (type(None), "a mask is a table of numbers", f"{_ROWS}, or a preset: engine.preset('sobel-x')."),
    (os.PathLike, "it is the name of a file", "Give engine.correlate the name as text: str(path)."),
    (bytes | bytearray, "it is bytes, not numbers", f"{_ROWS}, or {_DECODED}"),
    (str, "it is text, not numbers", _READ),
)


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Mask:
    """Weights of a filter: 1 x 1 to 63 x 63 cells, odd or even, square or not; one row or column up to 127.

    Two masks are equal when their weights, anchor and offset are; the name is a label and does not count, and
    how the weights were typed neither. NumPy and SciPy take a mask for its weights:
    `scipy.ndimage.correlate(picture, mask)`; they know no anchor and no offset.

    Parameters
    ----------
    weights : array_like of shape (rows, columns), or TypedWeights
        Finite numbers, finite as float32 too. Copied to a read-only float64 array; -0.0 becomes 0.0. With
        `TypedWeights` the mask keeps the fractions and the divisor that its weights were typed with.
    anchor : (int, int), optional
        Row and column of the cell that lies on the pixel; by default `(rows // 2, columns // 2)`.
    offset : float
        Added to each result, in the units of the pixels.
    name : str
        What people call it; may be empty.

    Raises
    ------
    MaskError
        The weights are no such table, or the anchor lies outside it, or the offset is not finite.
    """

    weights: Weights
    anchor: tuple[int, int]
    offset: float
    name: str
    # As typed, where the weights do not say it. No field: what only computes needs none of it.
    _typed: ClassVar[TypedWeights | None] = None

    # Written by hand because what a caller may give (lists, None) is wider than what the mask holds.
    def __init__(
        self,
        weights: npt.ArrayLike | TypedWeights,
        anchor: tuple[int, int] | None = None,
        offset: float = 0.0,
        name: str = "",
    ) -> None:
        if isinstance(weights, TypedWeights):
            if not weights.is_plain:
                object.__setattr__(self, "_typed", weights)
            weights = weights.weights
        table = _table(weights)
        object.__setattr__(self, "weights", table)
        object.__setattr__(self, "anchor", _cell_on_pixel(anchor, table.shape[0], table.shape[1]))
        object.__setattr__(self, "offset", _finite_offset(offset))
        object.__setattr__(self, "name", str(name))

    def __post_init__(self) -> None:
        # What msgspec has read is checked as what a caller gives.
        Mask.__init__(self, self.weights, self.anchor, self.offset, self.name)

    # Through the constructor, because an array comes back from a pickle writable.
    def __reduce__(self) -> tuple[type["Mask"], tuple[Weights | TypedWeights, tuple[int, int], float, str]]:
        return Mask, (self._typed or self.weights, self.anchor, self.offset, self.name)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Mask):
            return NotImplemented
        same = (self.anchor, self.offset) == (other.anchor, other.offset)
        return same and np.array_equal(self.weights, other.weights)

    def __hash__(self) -> int:
        return hash((self.shape, self.weights.tobytes(), self.anchor, self.offset))

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.weights, dtype, copy=copy)

    def __repr__(self) -> str:
        label = f"{self.name!r}, " if self.name else ""
        return f"Mask({label}{self.rows} × {self.columns}, anchor {self.anchor}, offset {self.offset:g})"

    @property
    def rows(self) -> int:
        """Number of rows."""
        return int(self.weights.shape[0])

    @property
    def columns(self) -> int:
        """Number of columns."""
        return int(self.weights.shape[1])

    @property
    def shape(self) -> tuple[int, int]:
        """Rows, then columns."""
        return self.rows, self.columns

    @property
    def taps(self) -> int:
        """Number of cells, zeros included: the multiply-adds per pixel of a direct filter."""
        return self.rows * self.columns

    def cell_text(self, row: int, column: int) -> str:
        """Return a cell as it was typed, or its weight in its shortest digits."""
        if self._typed is not None:
            return self._typed.cells[row][column]
        return number_text(float(self.weights[row, column]))

    def cell_texts(self) -> set[str]:
        """Return the texts of all cells, each once."""
        if self._typed is not None:
            return {cell for row in self._typed.cells for cell in row}
        # Not np.unique, which loads numpy.ma: 4 MB of the window.
        return set(map(number_text, set(self.weights.ravel().tolist())))

    @property
    def more_than_weights(self) -> TypedWeights | None:
        """How the weights were typed where they do not say it: with fractions or a divisor; else None."""
        return self._typed

    @cached_property
    def typed(self) -> TypedWeights:
        """How the weights were typed: fractions and a divisor, or else the weights in their digits."""
        if self._typed is not None:
            return self._typed
        return TypedWeights(tuple(tuple(map(number_text, row)) for row in self.weights.tolist()))

    @cached_property
    def weights32(self) -> npt.NDArray[np.float32]:
        """The weights as kernels get them: float32, C-contiguous, read-only."""
        rounded = np.ascontiguousarray(self.weights, dtype=np.float32)
        rounded.setflags(write=False)
        return rounded

    @cached_property
    def weights_digest(self) -> str:
        """Digest of shape and weights: masks of one size and name may have other weights."""
        return hashlib.sha256(repr(self.shape).encode() + self.weights.tobytes()).hexdigest()[:16]

    @cached_property
    def total(self) -> float:
        """Sum of the weights, rounded once: what a uniform area is multiplied by."""
        return math.fsum(self.weights.flat)

    @property
    def title(self) -> str:
        """Its name; "custom" where it has none, because its weights were typed."""
        return self.name or CUSTOM

    @cached_property
    def magnitude(self) -> float:
        """Sum of the absolute weights: the most that samples of 1 can become."""
        return math.fsum(np.abs(self.weights).flat)

    def flipped(self) -> "Mask":
        """Return the mask and its anchor rotated by 180°: correlating with it is convolving with this one."""
        anchor = self.rows - 1 - self.anchor[0], self.columns - 1 - self.anchor[1]
        return self._moved(lambda cells: cells[::-1, ::-1], anchor, self.name)

    def normalised(self) -> "Mask":
        """Return the mask divided by the sum of its weights, so that a uniform area keeps its brightness.

        Raises MaskError where the sum is 0 within the rounding of the weights.
        """
        if abs(self.total) <= self.taps * _FLOAT64_EPS * self.magnitude:
            by = f"or divide it by the sum of its weights without signs ({self.magnitude:.6g})"
            remedy = f"Use it as it is, {by if self.magnitude > 0.0 else 'without normalising'}."
            raise MaskError("The mask cannot be normalised", "its weights add up to 0", remedy)
        return self.divided_by(self.total)

    def divided_by(self, divisor: float) -> "Mask":
        """Return the mask divided by a number; MaskError for 0, infinity, NaN or quotients beyond float32."""
        if divisor == 0.0 or not math.isfinite(divisor):
            what, why = f"The mask cannot be divided by {divisor:g}", "that gives no finite weights"
            raise MaskError(what, why, "Take another divisor, such as the sum of the weights.")
        # A quotient beyond float64 is refused in words by the constructor, not by a warning of NumPy's.
        with np.errstate(over="ignore"):
            weights = self.weights / divisor
        return Mask(weights, self.anchor, self.offset, self.name)

    def with_offset(self, offset: float) -> "Mask":
        """Return the mask with another number added to each result."""
        return Mask(self._typed or self.weights, self.anchor, offset, self.name)

    def with_anchor(self, anchor: tuple[int, int] | None) -> "Mask":
        """Return the mask with another cell on the pixel; None is the middle."""
        return Mask(self._typed or self.weights, anchor, self.offset, self.name)

    def with_name(self, name: str) -> "Mask":
        """Return the mask under another name."""
        # Not through the constructor: what was checked and computed holds, and texts of 63 x 63 cells take
        # 15 ms to read.
        named = object.__new__(Mask)
        named.__dict__.update(self.__dict__, name=str(name))
        return named

    def with_typed(self, typed: TypedWeights) -> "Mask":
        """Return the mask with other weights of the same shape, as typed, without its name."""
        return Mask(typed, self.anchor, self.offset)

    def with_cells(self, cells: Iterable[tuple[int, int]], text: str) -> "Mask":
        """Return the mask with one number or fraction typed into cells, without its name; raises MaskError.

        Where the mask has a divisor, the number is divided by it as the others are.
        """
        chosen = list(cells)
        for cell in chosen:
            _check_inside("The weight cannot be set", *cell, self.shape)
        if self._typed is None and "/" not in text:
            # The texts of 63 x 63 cells take 15 ms.
            weights = self.weights.copy()
            for cell in chosen:
                weights[cell] = read_fraction(text, "the weight").times
            return Mask(weights, self.anchor, self.offset)
        table = np.array(self.typed.cells, object)
        for cell in chosen:
            table[cell] = text
        return self.with_typed(TypedWeights(tuple(map(tuple, table.tolist())), self.typed.divisor))

    def with_weight(self, row: int, column: int, value: float) -> "Mask":
        """Return the mask with one weight changed, without its name; raises MaskError."""
        _check_inside("The weight cannot be set", row, column, self.shape)
        weights = self.weights.copy()
        weights[row, column] = value
        return Mask(weights, self.anchor, self.offset)

    def resized(self, rows: int, columns: int) -> "Mask":
        """Return the mask with more or fewer cells around its anchor; new cells are 0.

        An anchor in the middle stays in the middle. Growing and shrinking back gives the same mask. Raises
        MaskError where a side is below 1 or above 63 (127 in a mask of one row or one column).
        """
        _check_sides(rows, columns)
        (row, column), sides = self.anchor, (rows, columns)
        down, across = map(_shift, self.anchor, self.shape, sides)

        def resize(cells: np.ndarray) -> np.ndarray:
            kept = cells[max(0, -down) : rows - down, max(0, -across) : columns - across]
            made = np.full(sides, "0" if cells.dtype == object else 0, cells.dtype)
            top, left = max(0, down), max(0, across)
            made[top : top + kept.shape[0], left : left + kept.shape[1]] = kept
            return made

        return self._moved(resize, (row + down, column + across))

    def transposed(self) -> "Mask":
        """Return the mask with rows and columns exchanged, anchor included."""
        return self._moved(np.transpose, self.anchor[::-1])

    def rotated(self, quarter_turns: int) -> "Mask":
        """Return the mask and its anchor after quarter turns, counter-clockwise for positive ones."""
        (row, column), sides = self.anchor, self.shape
        for _ in range(quarter_turns % 4):
            row, column, sides = sides[1] - 1 - column, row, sides[::-1]
        return self._moved(lambda cells: np.rot90(cells, quarter_turns), (row, column))

    def _moved(
        self, move: Callable[[np.ndarray], np.ndarray], anchor: tuple[int, int], name: str = ""
    ) -> "Mask":
        """Return the mask with its cells in other places, weights and typed texts alike."""
        moved = Mask(move(self.weights), anchor, self.offset, name)
        if self._typed is not None:
            object.__setattr__(moved, "_typed", self._typed.moved(move))
        return moved


def _table(weights: npt.ArrayLike) -> Weights:
    what = "These weights are not a mask"
    for kind, why, remedy in _NO_TABLES:
        if isinstance(weights, kind):
            raise MaskError(f"{reprlib.repr(weights)} is not a mask", why, remedy)
    try:
        numbers = host_array(weights, "The table of weights")
    except BadValue as error:
        raise MaskError(error.what, error.why, error.remedy) from error
    if numbers.dtype.kind not in "biuf":
        raise MaskError(what, "not every cell is a number", "Give numbers only.")
    if numbers.ndim != 2:
        why = f"a mask has 2 dimensions, rows and columns, and this has {numbers.ndim}"
        raise MaskError(what, why, "Write a single row as [[1, 2, 1]].")
    _check_sides(*numbers.shape)
    # A private copy with one kind of zero: equal masks have equal hashes.
    table: Weights = np.array(numbers, dtype=np.float64, order="C") + 0.0
    # Everything above the largest float32 fails this comparison, and NaN does too.
    fits = np.abs(table) <= _FLOAT32_MAX
    if not fits.all():
        row, column = (int(index) for index in np.argwhere(~fits)[0])
        value = table[row, column]
        fault = f"{value:g}, beyond float32" if math.isfinite(value) else f"{value}, not a finite number"
        why = f"the weight in row {row + 1}, column {column + 1} is {fault}"
        raise MaskError(what, why, f"Keep weights between -{_FLOAT32_MAX:.3g} and {_FLOAT32_MAX:.3g}.")
    table.setflags(write=False)
    return table


def largest_sides(rows: int, columns: int) -> tuple[int, int]:
    """Return the most (rows, columns) of a mask of this form: one row, one column, or several of both."""
    if rows == 1:
        return 1, MAX_LINE
    return (MAX_LINE, 1) if columns == 1 else (MAX_SIDE, MAX_SIDE)


def is_size_allowed(rows: int, columns: int) -> bool:
    """Return whether a mask can have this number of rows and columns."""
    most = largest_sides(rows, columns)
    return 1 <= rows <= most[0] and 1 <= columns <= most[1]


def names_size(name: str, rows: int, columns: int) -> bool:
    """Return whether the name of a mask has its size, as "Gaussian 9 x 9, sigma 1.5" has."""
    return re.search(rf"(?<!\d){rows} [x×] {columns}(?!\d)", name) is not None


def _check_sides(rows: int, columns: int) -> None:
    if is_size_allowed(rows, columns):
        return
    what = f"A mask of {rows} × {columns} cells cannot be used"
    if rows < 1 or columns < 1:
        raise MaskError(what, "it has no cells", "Give it at least one row and one column.")
    nearest = " × ".join(map(str, map(min, (rows, columns), largest_sides(rows, columns))))
    raise MaskError(what, SIDES_ALLOWED, f"Make it {nearest} or smaller.")


def _cell_on_pixel(anchor: tuple[int, int] | None, rows: int, columns: int) -> tuple[int, int]:
    if anchor is None:
        return rows // 2, columns // 2
    try:
        row, column = map(operator.index, anchor)
    except (TypeError, ValueError) as error:
        what, why = f"The anchor {anchor!r} is not a cell", "an anchor is two whole numbers"
        remedy = "Give the row and the column, counted from 0, such as (1, 1)."
        raise MaskError(what, why, remedy) from error
    _check_inside(f"The anchor ({row}, {column}) cannot be used", row, column, (rows, columns))
    return row, column


def _check_inside(what: str, row: int, column: int, shape: tuple[int, int]) -> None:
    rows, columns = shape
    if not (0 <= row < rows and 0 <= column < columns):
        why = f"the mask has {rows} × {columns} cells, counted from 0; ({row}, {column}) is not among them"
        raise MaskError(what, why, f"Take a row from 0 to {rows - 1} and a column from 0 to {columns - 1}.")


def _finite_offset(offset: float) -> float:
    try:
        value = float(offset)
    except (TypeError, ValueError, OverflowError) as error:
        what = f"The offset {offset!r} cannot be used"
        raise MaskError(what, "it is not a number", "Give a number.") from error
    if not abs(value) <= _FLOAT32_MAX:
        what, why = f"The offset {value:g} cannot be used", "it is not a finite number of float32"
        raise MaskError(what, why, f"Keep it between -{_FLOAT32_MAX:.3g} and {_FLOAT32_MAX:.3g}.")
    return value + 0.0


def _shift(anchor: int, old_side: int, new_side: int) -> int:
    """Return how far cells move along one side when it changes, so that the anchor stays inside."""
    moved = anchor + new_side // 2 - old_side // 2
    return min(max(moved, 0), new_side - 1) - anchor
