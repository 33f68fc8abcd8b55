"""What the problems of tasks that compute pictures share, and that of a chain."""

from collections.abc import Hashable
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from msgspec.structs import replace

from engine.device_info import SIMULATOR_PIXELS
from engine.errors import BadValue
from engine.message import Message
from engine.work.pictures import DTYPES, MAX_CHANNELS

MAX_SIDE = 1 << 24


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
            reason = f"each side must have 1 to {MAX_SIDE:,} pixels"
            what = f"a picture of {self.height} × {self.width}"
            raise BadValue(what, reason, "Use a picture within these sizes.")
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
        problem: Any = self
        same: Self = replace(problem, **fields)
        return same

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

    @property
    def picture_columns(self) -> dict[str, str | int | float | None]:
        """The picture and the type of the result under the names of their columns in CSV files."""
        return {
            "width_px": self.width,
            "height_px": self.height,
            "channels": self.channels,
            "dtype": self.dtype,
            "result_dtype": self.result_dtype,
        }

    def csv_columns(self) -> dict[str, str | int | float | None]:
        """Return the problem under the names of its columns in CSV files."""
        raise NotImplementedError

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
    """Shape and type of a picture, the steps in words, and the type of the result.

    Raises BadValue for a size below 1, more than 4 channels, or an unknown dtype.
    """

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
        return self.picture_columns | {"chain": self.chain, "steps": self.steps}
