"""What a result, and all that makes one, asks of the problem of any task."""

from collections.abc import Hashable
from typing import ClassVar, Protocol, TypeVar, runtime_checkable


@runtime_checkable
class TaskProblem(Protocol):
    """What pipeline and results ask of the problem of any task, which is an `engine.message.Message`.

    `task` is the stable key of the task; `columns_module` has its `METRICS` and `FACTS`, by its key, which
    tables and files have beside those of every task; `checked_unit` is what is verified: "pixel".
    """

    task: ClassVar[str]
    columns_module: ClassVar[str]
    checked_unit: ClassVar[str]
    __struct_fields__: ClassVar[tuple[str, ...]]

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
