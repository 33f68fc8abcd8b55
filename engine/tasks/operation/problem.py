"""OperationProblem: everything about an operation on a picture but the pixels."""

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from engine.errors import BadValue
from engine.tasks.operation import KEY
from engine.tasks.pictures import DTYPES, MAX_CHANNELS

MAX_SIDE = 1 << 24

Value = int | float | str
Shape = tuple[int, int, int]


class Settings(tuple[tuple[str, Value], ...]):
    """The parameters of an operation in their order: pairs of a name and its value."""

    __slots__ = ()

    def __str__(self) -> str:
        """Return them as files have them: "left=10,top=20"."""
        return ",".join(self.texts)

    @property
    def texts(self) -> tuple[str, ...]:
        """Each as it is written on the command line: "size=5"."""
        return tuple(f"{name}={value}" for name, value in self)


NO_SETTINGS = Settings()


@dataclass(frozen=True)
class OperationProblem:
    """Shape and type of a picture, the operation, its parameters, and the shape of the result.

    Raises BadValue for a size below 1, more than 4 channels, or an unknown dtype.
    """

    task: ClassVar[str] = KEY
    columns_module: ClassVar[str] = "engine.tasks.operation.columns"
    checked_unit: ClassVar[str] = "pixel"

    operation: str  # key of `engine.tasks.operation.operations.OPERATIONS`
    height: int
    width: int
    channels: int
    dtype: str  # of the picture's samples: "uint8", "uint16" or "float32"
    # Of the array that a variant writes: rows, columns and channels; its type.
    result_shape: tuple[int, int, int]
    result_dtype: str
    settings: Settings = NO_SETTINGS

    def __post_init__(self) -> None:
        if not (1 <= self.height <= MAX_SIDE and 1 <= self.width <= MAX_SIDE):
            what = f"a picture of {self.height} × {self.width}"
            reason = f"each side must have 1 to {MAX_SIDE:,} pixels"
            raise BadValue(what, reason, "Use a picture within these sizes.")
        if not 1 <= self.channels <= MAX_CHANNELS:
            what = f"a picture of {self.channels} channels"
            raise BadValue(what, f"1 to {MAX_CHANNELS} channels can be computed with", "Use fewer channels.")
        if self.dtype not in DTYPES:
            what, why = f"samples of type {self.dtype}", f"the variants take {', '.join(DTYPES)}"
            raise BadValue(what, why, "Convert the picture to float32 first.")

    @cached_property
    def parameters(self) -> dict[str, Value]:
        """The parameters by name."""
        return dict(self.settings)

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
    def is_quantised(self) -> bool:
        """Whether results of another type could stand beside these: an operation has one type of result."""
        return False

    @property
    def pixels(self) -> int:
        """Height x width."""
        return self.height * self.width

    @property
    def samples(self) -> int:
        """Samples of the picture: height x width x channels."""
        return self.pixels * self.channels

    @property
    def values(self) -> int:
        """Values that are computed: those of the result."""
        rows, columns, channels = self.result_shape
        return rows * columns * channels

    @property
    def itemsize(self) -> int:
        """Bytes of a sample of the picture."""
        return int(np.dtype(self.dtype).itemsize)

    @property
    def result_itemsize(self) -> int:
        """Bytes of a value of the result."""
        return int(np.dtype(self.result_dtype).itemsize)

    @property
    def copied_bytes(self) -> int:
        """Bytes of the picture and of the result."""
        return self.samples * self.itemsize + self.values * self.result_itemsize

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
        """What two runs must share so that their times can be compared."""
        return self

    @property
    def size_text(self) -> str:
        """Width x height and channels, as people write it."""
        colour = {1: "grey", 3: "RGB"}.get(self.channels, f"{self.channels} channels")
        return f"{self.width} × {self.height} {colour}"

    @property
    def picture_text(self) -> str:
        """Size, colours and type of the picture."""
        return f"{self.size_text} {self.dtype}"

    @property
    def operation_text(self) -> str:
        """The operation with its parameters."""
        return f"{self.operation} ({', '.join(self.settings.texts)})" if self.settings else self.operation

    def csv_columns(self) -> dict[str, str | int | float | None]:
        """Return the problem under the names of its columns in CSV files."""
        return {
            "operation": self.operation,
            "settings": str(self.settings),
            "width_px": self.width,
            "height_px": self.height,
            "channels": self.channels,
            "dtype": self.dtype,
            "result_dtype": self.result_dtype,
        }
