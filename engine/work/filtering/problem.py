"""Problem: everything about a filtering but the pixels and the weights."""

from collections.abc import Hashable
from typing import ClassVar

from msgspec.structs import replace

from engine.errors import BadValue
from engine.geometry.border import Border
from engine.geometry.cut import Reach
from engine.message import Message
from engine.work.picture_problem import PictureProblem

RESULT_TYPES = ("float32", "same")
"""Names of the sample types of results in requests: "same" is that of the picture."""


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
        return self.picture_columns | {
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

    @property
    def ghost_value(self) -> float:
        """Value of a ghost cell: `cval` for a border that takes a value, else 0."""
        return self.cval if self.border.takes_value else 0.0
