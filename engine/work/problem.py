"""The problems of work on pictures: everything but pixels, weights and steps. No Numba in here.

And pictures as the variants of every task take them: types and axes, random ones to measure with.
"""

import sys
import warnings
from collections.abc import Hashable
from functools import cached_property
from typing import ClassVar, Self

import numpy as np
from msgspec.structs import replace

from engine.device_info import SIMULATOR_PIXELS
from engine.errors import BadValue
from engine.geometry.border import Border, Reach
from engine.image.convert import shape_refusal
from engine.message import Message

DTYPES = ("uint8", "uint16", "float32")
MAX_CHANNELS = 4
EXACT_LIMIT = 2**24
"""Whole numbers up to this size are exact in float32."""

# By the kind of NumPy's type, where "Convert the picture to float32." does not help or does not say how.
_REMEDIES = {
    "c": "Filter its parts one by one, image.real and image.imag.",
    "V": "Take one field of its records, or convert the picture to float32.",
    "O": "Look for what is no number in it, and convert it, such as with image.astype(numpy.float32).",
} | dict.fromkeys("MmSUT", "Convert the picture to numbers first, such as with image.astype(numpy.float32).")
MAX_SIDE = 1 << 24
RESULT_TYPES = ("float32", "same")
"""Names of the sample types of results in requests: "same" is that of the picture."""
Value = int | float | str
Shape = tuple[int, int, int]


def other_shape(what: str, shape: tuple[int, ...], wanted: tuple[int, ...]) -> BadValue:
    """Return the error of an array of another shape than a plan's."""
    remedy = "Pass one of that shape, or make another plan."
    return BadValue(f"{what} of shape {shape}", f"the plan is for {wanted}", remedy)


def as_samples(image: np.ndarray) -> np.ndarray:
    """Return a picture as (H, W, C), C-contiguous, aligned, of native order; refuse it as `sample_type`."""
    array = np.asarray(image)
    if array.ndim == 0 and array.dtype.kind in "OUS":
        what, remedy = f"the text {str(image)[:40]!r}", "Open a file with engine.open_image first."
        if array.dtype == object:
            what = f"a value of type {type(array.item()).__name__}"
            remedy = "Pass an array of shape (H, W) or (H, W, C)."
        raise BadValue(what, "a picture is an array", remedy)
    dtype = sample_type(array.shape, array.dtype)
    if array.dtype.kind in "iu" and array.dtype.itemsize > 2:
        _warn_of_rounding(array)
    # float64 samples past float32's range become infinite, as they would in any float32 program.
    with np.errstate(over="ignore"):
        samples = np.require(array, dtype, ["C", "A"])
    return samples if samples.ndim == 3 else samples.reshape(*samples.shape, 1)


def _warn_of_rounding(array: np.ndarray) -> None:
    if int(array.max()) <= EXACT_LIMIT and int(array.min()) >= -EXACT_LIMIT:
        return
    level, frame = 1, sys._getframe()
    # The line that called the engine.
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "engine":
        level, frame = level + 1, frame.f_back
    warnings.warn(
        f"{array.dtype} is filtered as float32: values beyond {EXACT_LIMIT:,} are rounded to 24 "
        "significant bits",
        stacklevel=level,
    )


def sample_type(shape: tuple[int, ...], dtype: np.dtype) -> np.dtype:
    """Return the type that a picture of this shape and type is filtered in.

    uint8, uint16 and float32 stay as they are; booleans become uint8; other real types become float32. Raises
    BadValue: not two or three axes, an empty axis, more than four channels, or not real numbers.
    """
    if len(shape) not in (2, 3):
        what = f"an array of {len(shape)} {'axis' if len(shape) == 1 else 'axes'}"
        apart = ", one of a stack at a time" if len(shape) > 3 else ""
        remedy = f"Pass an array of shape (H, W) or (H, W, C){apart}."
        raise BadValue(what, "a picture has rows and columns, and may have channels", remedy)
    if 0 in shape:
        raise BadValue(f"an array of shape {shape}", "it has no pixels", "Pass at least one pixel.")
    if len(shape) == 3 and shape[2] > MAX_CHANNELS:
        raise BadValue("this array is not a picture", *shape_refusal(shape))
    if dtype.kind not in "buif":
        remedy = _REMEDIES.get(dtype.kind, "Convert the picture to float32.")
        raise BadValue(f"samples of type {dtype}", "only real numbers can be filtered", remedy)
    native = np.dtype(np.uint8) if dtype.kind == "b" else dtype.newbyteorder("=")
    return native if native.name in DTYPES else np.dtype(np.float32)


def random_picture(shape: tuple[int, int, int], dtype: str, seed: int) -> np.ndarray:
    """Return a random picture: whole numbers of the full range, or float32 from 0 to 1."""
    random = np.random.default_rng(seed)
    if dtype == "float32":
        return random.random(shape, np.float32)
    return random.integers(0, np.iinfo(dtype).max, shape, dtype, endpoint=True)


class PictureProblem:
    """A problem with a picture: its size, its types, and what follows from them."""

    task: ClassVar[str]
    columns_module: ClassVar[str] = "engine.work.columns"
    checked_unit: ClassVar[str] = "pixel"

    # Fields of those that derive from this.
    height: int
    width: int
    channels: int
    dtype: str
    result_dtype: str
    __struct_fields__: ClassVar[tuple[str, ...]]

    def refuse_picture(self, computed: str, remedy: str) -> None:
        """Raise BadValue for a size below 1, more than 4 channels (with this remedy), or an unknown dtype."""
        if not (1 <= self.height <= MAX_SIDE and 1 <= self.width <= MAX_SIDE):
            what, why = f"a picture of {self.height} × {self.width}", f"each side must have 1 to {MAX_SIDE:,}"
            raise BadValue(what, f"{why} pixels", "Use a picture within these sizes.")
        if not 1 <= self.channels <= MAX_CHANNELS:
            what = f"a picture of {self.channels} channels"
            raise BadValue(what, f"1 to {MAX_CHANNELS} channels can be {computed}", remedy)
        if self.dtype not in DTYPES:
            what, why = f"samples of type {self.dtype}", f"the variants take {', '.join(DTYPES)}"
            raise BadValue(what, why, "Convert the picture to float32 first.")

    @property
    def samples(self) -> int:
        """Samples of the picture: height x width x channels."""
        return self.height * self.width * self.channels

    @property
    def values(self) -> int:
        """Values that are computed: the samples of the result."""
        return self.samples

    @cached_property
    def itemsize(self) -> int:
        """Bytes of one sample of the picture."""
        return int(np.dtype(self.dtype).itemsize)

    @cached_property
    def result_itemsize(self) -> int:
        """Bytes of one sample of the result."""
        return int(np.dtype(self.result_dtype).itemsize)

    @property
    def copied_bytes(self) -> int:
        """Bytes of the picture and of the result."""
        return self.samples * self.itemsize + self.values * self.result_itemsize

    def rows_of(self, size: int) -> int:
        """Return how many rows have about that many bytes, of the picture or of the result; at least 1."""
        row = self.width * self.channels * max(self.itemsize, self.result_itemsize)
        return max(1, size // row)

    def of_size(self, height: int, width: int) -> Self:
        """Return the same for a picture, or a part of one, of another size."""
        return self._with(height=height, width=width)

    def of_type(self, dtype: str) -> Self:
        """Return the same for a picture whose samples are of another type."""
        return self._with(dtype=dtype)

    def _with(self, **fields: object) -> Self:
        # What derives from this is a Struct.
        return replace(self, **fields)  # type: ignore[type-var]

    @property
    def simulator_limit(self) -> str:
        """What the simulator takes at most, in words, where this is more; else empty."""
        is_larger = self.height * self.width > SIMULATOR_PIXELS
        return f"{SIMULATOR_PIXELS:,} pixels" if is_larger else ""

    @property
    def subject(self) -> str:
        """The picture in words."""
        return f"a picture of {self.width} × {self.height}"

    @property
    def comparable(self) -> Hashable:
        """What two runs must share so that their times can be compared."""
        return self

    @property
    def result_shape(self) -> tuple[int, int, int]:
        """Rows, columns and channels of the array that a variant writes."""
        return self.height, self.width, self.channels

    @property
    def is_quantised(self) -> bool:
        """Whether results are rounded to whole numbers of 8 or 16 bit, and could be float32."""
        return self.result_dtype != "float32"

    @property
    def quantised(self) -> Self | None:
        """The same with results of the picture's 8 or 16 bit; None where it has none."""
        return None if self.dtype == "float32" else self._with(result_dtype=self.dtype)

    def csv_columns(self) -> dict[str, str | int | float | None]:
        """Return the problem under the names of its columns in CSV files; here what all of them have."""
        size = {"width_px": self.width, "height_px": self.height, "channels": self.channels}
        return size | {"dtype": self.dtype, "result_dtype": self.result_dtype}

    @property
    def size_text(self) -> str:
        """Width x height and channels, as people write it."""
        colour = {1: "grey", 3: "RGB"}.get(self.channels, f"{self.channels} channels")
        return f"{self.width} × {self.height} {colour}"

    @property
    def picture_text(self) -> str:
        """Size, colours and type of the picture, and the type of its results where another is possible."""
        results = f", {self.result_dtype} results" if self.is_quantised else ""
        return f"{self.size_text} {self.dtype}{results}"


class ChainProblem(Message, PictureProblem, frozen=True, dict=True):
    """Shape and type of a picture, the steps in words, type of the result; refused as `refuse_picture`."""

    task: ClassVar[str] = "chain"

    height: int
    width: int
    channels: int
    dtype: str
    chain: str  # the title, or that of its steps
    steps: str  # each in words (`Chain.text`)
    result_dtype: str = "float32"

    def __post_init__(self) -> None:
        self.refuse_picture("filtered", "Filter the channels in groups of at most 4.")

    @property
    def comparable(self) -> Hashable:
        """What two runs must share, with their digest: that of the steps, however these are written."""
        return replace(self, chain="", steps="")

    def csv_columns(self) -> dict[str, str | int | float | None]:
        """Return the problem under the names of its columns in CSV files."""
        return super().csv_columns() | {"chain": self.chain, "steps": self.steps}


class Problem(Message, PictureProblem, frozen=True, dict=True):
    """Shape, type, mask shape and border of one filtering.

    Raises BadValue for a size below 1, more than 4 channels, an unknown dtype, an anchor outside the mask, or
    a result that is neither float32 nor of the picture's type.
    """

    task: ClassVar[str] = "filtering"

    # Picture size in pixels; at least 1 x 1.
    height: int
    width: int
    channels: int = 1  # interleaved channels that are filtered, 1 to 4
    dtype: str = "float32"  # sample type of the picture: "uint8", "uint16" or "float32"
    mask_shape: tuple[int, int] = (3, 3)  # (rows, columns) of the mask
    anchor: tuple[int, int] = (1, 1)  # (row, column) of the mask cell that lies on the pixel
    border: Border = Border.ZERO  # the rule for ghost cells
    # Value of a ghost cell for a border that takes one (`Border.CONSTANT`), in the picture's own units.
    cval: float = 0.0
    # Sample type of the result: "float32", or the picture's own. In 8 and 16 bit a result is the float32 one
    # with the offset, saturated and rounded half to even; NaN becomes 0, infinity an end of the range.
    result_dtype: str = "float32"

    def __post_init__(self) -> None:
        self.refuse_picture("filtered", "Filter the channels in groups of at most 4.")
        rows, columns = self.mask_shape
        if not (0 <= self.anchor[0] < rows and 0 <= self.anchor[1] < columns):
            what = f"anchor {self.anchor}"
            remedy = f"Choose a row from 0 to {rows - 1} and a column from 0 to {columns - 1}."
            raise BadValue(what, f"the mask has {rows} × {columns} cells, counted from (0, 0)", remedy)
        if self.result_dtype not in ("float32", self.dtype):
            own = "" if self.dtype == "float32" else f" or {self.dtype}, as the picture"
            what = f"a result of type {self.result_dtype} from a picture of {self.dtype}"
            why = "a result is float32, or it has the picture's own type"
            raise BadValue(what, why, f"Choose float32{own}.")

    @property
    def reach(self) -> Reach:
        """The cells under the mask."""
        sides = zip(self.anchor, self.mask_shape, strict=True)
        rows, columns = ((before, side - 1 - before) for before, side in sides)
        return Reach(rows, columns, self.border)

    @property
    def taps(self) -> int:
        """Cells of the mask: multiply-adds for each sample of the result."""
        return self.mask_shape[0] * self.mask_shape[1]

    @property
    def comparable(self) -> Hashable:
        """What two runs must share to have comparable times; `cval` counts only where it is used."""
        return self if self.cval == self.ghost_value else replace(self, cval=self.ghost_value)

    def csv_columns(self) -> dict[str, str | int | float | None]:
        """Return the problem under the names of its columns in CSV files."""
        names = "mask_rows", "mask_columns", "anchor_row", "anchor_column"
        columns = super().csv_columns() | dict(zip(names, self.mask_shape + self.anchor, strict=True))
        return columns | {"border": str(self.border), "border_value": self.ghost_value}

    @property
    def multiply_adds(self) -> int:
        """Multiply-adds of the whole filtering, computed directly."""
        return self.samples * self.taps

    @property
    def ghost_value(self) -> float:
        """Value of a ghost cell: `cval` for a border that takes a value, else 0."""
        return self.cval if self.border.takes_value else 0.0


class Parameters(tuple[tuple[str, Value], ...]):
    """The parameters of an operation in their order: pairs of a name and its value."""

    __slots__ = ()

    def __str__(self) -> str:
        """Return them as files have them: "left=10,top=20"."""
        return ",".join(self.texts)

    @property
    def texts(self) -> tuple[str, ...]:
        """Each as it is written on the command line: "size=5"."""
        return tuple(f"{name}={value}" for name, value in self)

    def after(self, operation: str) -> str:
        """Return them in words, after the operation that has them: "median (size=5)"."""
        return f"{operation} ({', '.join(self.texts)})" if self else operation


NO_SETTINGS = Parameters()


class OperationProblem(Message, PictureProblem, frozen=True, dict=True):
    """Shape and type of a picture, an operation, its parameters, its result; refused as `refuse_picture`."""

    task: ClassVar[str] = "operation"
    # Its results are of one type.
    is_quantised: ClassVar[bool] = False
    quantised: ClassVar[None] = None

    operation: str  # key of `engine.work.operations.contract.OPERATIONS`
    height: int
    width: int
    channels: int
    dtype: str  # of the picture's samples: "uint8", "uint16" or "float32"
    # The array that a variant writes: rows, columns and channels; its type.
    result_shape: tuple[int, int, int]
    result_dtype: str
    settings: Parameters = NO_SETTINGS

    def __post_init__(self) -> None:
        self.refuse_picture("computed with", "Use fewer channels.")

    @cached_property
    def parameters(self) -> dict[str, Value]:
        """The parameters by name."""
        return dict(self.settings)

    def of_size(self, height: int, width: int) -> "OperationProblem":
        """Return the same for another picture, of an operation whose result has the picture's size."""
        result = height, width, self.result_shape[2]
        return replace(self, height=height, width=width, result_shape=result)

    def whole(self, name: str) -> int:
        """Return a parameter that is a whole number."""
        return int(self.parameters[name])

    @property
    def is_float(self) -> bool:
        """Whether the picture's samples are float32."""
        return self.dtype == "float32"

    @property
    def full_scale(self) -> float:
        """White: 255, 65535, or 1 for float32."""
        return 1.0 if self.is_float else float(np.iinfo(self.dtype).max)

    @property
    def pixels(self) -> int:
        """Height x width."""
        return self.height * self.width

    @property
    def values(self) -> int:
        """Values that are computed: those of the result."""
        rows, columns, channels = self.result_shape
        return rows * columns * channels

    @property
    def operation_text(self) -> str:
        """The operation with its parameters."""
        return self.settings.after(self.operation)

    def csv_columns(self) -> dict[str, str | int | float | None]:
        """Return the problem under the names of its columns in CSV files."""
        return {"operation": self.operation, "settings": str(self.settings), **super().csv_columns()}
