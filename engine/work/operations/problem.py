"""OperationProblem: everything about an operation on a picture but the pixels."""

from functools import cached_property
from typing import ClassVar

import numpy as np
from msgspec.structs import replace

from engine.message import Message
from engine.work.operations import KEY
from engine.work.picture_problem import PictureProblem

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


class OperationProblem(Message, PictureProblem, frozen=True, dict=True):
    """Shape and type of a picture, the operation, its parameters, and the shape of the result.

    Raises BadValue for a size below 1, more than 4 channels, or an unknown dtype.
    """

    task: ClassVar[str] = KEY
    # Its results are of one type.
    is_quantised: ClassVar[bool] = False
    quantised: ClassVar[None] = None

    operation: str  # key of `engine.work.operations.table.OPERATIONS`
    height: int
    width: int
    channels: int
    dtype: str  # of the picture's samples: "uint8", "uint16" or "float32"
    # The array that a variant writes: rows, columns and channels; its type.
    result_shape: tuple[int, int, int]
    result_dtype: str
    settings: Settings = NO_SETTINGS

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
        return f"{self.operation} ({', '.join(self.settings.texts)})" if self.settings else self.operation

    def csv_columns(self) -> dict[str, str | int | float | None]:
        """Return the problem under the names of its columns in CSV files."""
        return {"operation": self.operation, "settings": str(self.settings), **self.picture_columns}
