"""ChainProblem: everything about a chain on a picture but the pixels and the weights."""

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import ClassVar

from engine.work.picture_problem import PictureProblem


@dataclass(frozen=True)
class ChainProblem(PictureProblem):
    """Shape and type of a picture, and the steps in words; results are float32.

    Raises BadValue for a size below 1, more than 4 channels, or an unknown dtype.
    """

    task: ClassVar[str] = "chain"
    columns_module: ClassVar[str] = "engine.work.columns"
    checked_unit: ClassVar[str] = "pixel"

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
    def result_shape(self) -> tuple[int, int, int]:
        """Rows, columns and channels of the result: those of the picture."""
        return self.height, self.width, self.channels

    @property
    def comparable(self) -> Hashable:
        """What two runs must share, with their digest: that of the steps, however these are written."""
        return replace(self, chain="", steps="")

    def csv_columns(self) -> dict[str, str | int | float | None]:
        """Return the problem under the names of its columns in CSV files."""
        return {
            "width_px": self.width,
            "height_px": self.height,
            "channels": self.channels,
            "dtype": self.dtype,
            "chain": self.chain,
            "steps": self.steps,
        }
