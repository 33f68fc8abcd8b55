"""What a result, and all that makes one, asks of the problem of any task."""

from collections.abc import Hashable
from dataclasses import Field
from typing import ClassVar, Protocol, TypeVar


class TaskProblem(Protocol):
    """What pipeline and results ask of the problem of any task, a frozen dataclass that derives from this.

    `task` is the stable key of the task; `columns_module` has its `METRICS` and `FACTS`, by its key, which
    tables and files have beside those of every task; `checked_unit` is what is verified: "pixel".
    """

    __slots__ = ()
    task: ClassVar[str]
    columns_module: ClassVar[str]
    checked_unit: ClassVar[str]
    __dataclass_fields__: ClassVar[dict[str, Field[object]]]

    @property
    def size_text(self) -> str:
        """The size in words for people."""

    @property
    def subject(self) -> str:
        """What is computed with, in words: "a picture of 65 x 20"."""

    @property
    def simulator_limit(self) -> str:
        """What the simulator takes at most, in words, where this is more; else empty."""

    @property
    def values(self) -> int:
        """Values that are computed."""

    @property
    def copied_bytes(self) -> int:
        """Bytes that are copied to the device and back."""

    @property
    def comparable(self) -> Hashable:
        """What two runs must share so that their times can be compared."""

    def csv_columns(self) -> dict[str, str | int | float | None]:
        """Return the problem under the names of its columns in CSV files."""


P = TypeVar("P", bound=TaskProblem)
P_co = TypeVar("P_co", bound=TaskProblem, covariant=True)
P_contra = TypeVar("P_contra", bound=TaskProblem, contravariant=True)
