"""Problem: everything about a filtering but the pixels and the weights."""

from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from engine.errors import BadValue
from engine.geometry.border import Border
from engine.tasks.pictures import DTYPES, MAX_CHANNELS

RESULT_TYPES = ("float32", "same")
"""Names of the sample types of results in requests: "same" is that of the picture."""
MAX_SIDE = 1 << 24


@dataclass(frozen=True)
class Problem:
    """Shape, type, mask shape and border of one filtering.

    Raises BadValue for a size below 1, more than 4 channels, an unknown dtype, an anchor outside the mask, or
    a result that is neither float32 nor of the picture's type.
    """

    task: ClassVar[str] = "filtering"
    columns_module: ClassVar[str] = "engine.tasks.filtering.columns"
    checked_unit: ClassVar[str] = "pixel"

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
        if not (1 <= self.height <= MAX_SIDE and 1 <= self.width <= MAX_SIDE):
            reason = f"each side must have 1 to {MAX_SIDE:,} pixels"
            what = f"a picture of {self.height} × {self.width}"
            raise BadValue(what, reason, "Use a picture within these sizes.")
        if not 1 <= self.channels <= MAX_CHANNELS:
            raise BadValue(
                f"a picture of {self.channels} channels",
                f"1 to {MAX_CHANNELS} channels can be filtered",
                "Filter the channels in groups of at most 4.",
            )
        if self.dtype not in DTYPES:
            raise BadValue(
                f"samples of type {self.dtype}",
                f"the variants take {', '.join(DTYPES)}",
                "Convert the picture to float32 first.",
            )
        rows, columns = self.mask_shape
        if not (0 <= self.anchor[0] < rows and 0 <= self.anchor[1] < columns):
            raise BadValue(
                f"anchor {self.anchor}",
                f"the mask has {rows} × {columns} cells, counted from (0, 0)",
                f"Choose a row from 0 to {rows - 1} and a column from 0 to {columns - 1}.",
            )
        if self.result_dtype not in ("float32", self.dtype):
            own = "" if self.dtype == "float32" else f" or {self.dtype}, as the picture"
            raise BadValue(
                f"a result of type {self.result_dtype} from a picture of {self.dtype}",
                "a result is float32, or it has the picture's own type",
                f"Choose float32{own}.",
            )

    @property
    def taps(self) -> int:
        """Cells of the mask: multiply-adds for each sample of the result."""
        return self.mask_shape[0] * self.mask_shape[1]

    @property
    def samples(self) -> int:
        """Samples of the picture, and of the result: height x width x channels."""
        return self.height * self.width * self.channels

    @property
    def values(self) -> int:
        """Values that are computed: the samples of the result."""
        return self.samples

    @property
    def copied_bytes(self) -> int:
        """Bytes of the picture and of the result."""
        return self.samples * (self.itemsize + self.result_itemsize)

    @property
    def longest_side(self) -> int:
        """The longer side of the picture, pixels."""
        return max(self.height, self.width)

    def limit_text(self, side: int) -> str:
        """Return what a limit of the longest side means, in words."""
        return f"{side} × {side}"

    @property
    def subject(self) -> str:
        """The picture in words."""
        return f"a picture of {self.width} × {self.height}"

    @property
    def comparable(self) -> Hashable:
        """What two runs must share to have comparable times; `cval` counts only where it is used."""
        return self if self.cval == self.ghost_value else replace(self, cval=self.ghost_value)

    def csv_columns(self) -> dict[str, str | int | float | None]:
        """Return the problem under the names of its columns in CSV files."""
        return {
            "width_px": self.width,
            "height_px": self.height,
            "channels": self.channels,
            "dtype": self.dtype,
            "result_dtype": self.result_dtype,
            "mask_rows": self.mask_shape[0],
            "mask_columns": self.mask_shape[1],
            "anchor_row": self.anchor[0],
            "anchor_column": self.anchor[1],
            "border": str(self.border),
            "border_value": self.ghost_value,
        }

    @property
    def multiply_adds(self) -> int:
        """Multiply-adds of the whole filtering, computed directly."""
        return self.samples * self.taps

    @cached_property
    def itemsize(self) -> int:
        """Bytes of one sample of the picture."""
        return int(np.dtype(self.dtype).itemsize)

    @cached_property
    def result_itemsize(self) -> int:
        """Bytes of one sample of the result."""
        return int(np.dtype(self.result_dtype).itemsize)

    @property
    def is_quantised(self) -> bool:
        """Whether results are rounded to whole numbers of 8 or 16 bit."""
        return self.result_dtype != "float32"

    @property
    def ghost_value(self) -> float:
        """Value of a ghost cell: `cval` for a border that takes a value, else 0."""
        return self.cval if self.border.takes_value else 0.0

    @property
    def size_text(self) -> str:
        """Width x height x channels, as people write it."""
        colour = {1: "grey", 3: "RGB"}.get(self.channels, f"{self.channels} channels")
        return f"{self.width} × {self.height} {colour}"

    @property
    def picture_text(self) -> str:
        """Size, colours and type of the picture, and the type of its results where it is not float32."""
        results = f", {self.result_dtype} results" if self.is_quantised else ""
        return f"{self.size_text} {self.dtype}{results}"
