"""What a task is: everything that the pipeline of `engine.run` needs of one. No Numba in here.

A task is a folder of this room with its problem, oracle, verification and model of work, one class that
answers the questions below with them, and a line in `engine.tasks.registry`. The pipeline (resolve, verify,
measure, sample, sweep), the host and the results know no task by name.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar

from engine.device_info import DeviceInfo

if TYPE_CHECKING:
    from engine.device.backend import Backend, Buffers
    from engine.device.launches import Prepared
    from engine.run.job import Job
    from engine.variants.contract import AnyVariant
    from engine.verify.verification import Verification


class TaskProblem(Protocol):
    """What pipeline and results ask of the problem of any task, a frozen dataclass of plain values.

    `task` is the stable key of the task; `checked_unit` is what the verification counts: "pixel", "element".
    """

    task: ClassVar[str]
    checked_unit: ClassVar[str]
    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def size_text(self) -> str:
        """The size in words for people."""

    @property
    def subject(self) -> str:
        """What is computed with, in words: "a picture of 65 x 20"."""

    @property
    def longest_side(self) -> int:
        """The longest of its sides, which the simulator limits."""

    def limit_text(self, side: int) -> str:
        """Return what a limit of the longest side means, in words: "64 x 64"."""

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
O = TypeVar("O")  # noqa: E741 - P: problem, O: operands, V: variant
V = TypeVar("V", bound="AnyVariant[Any, Any]")


class Task(ABC, Generic[P, O, V]):
    """A kind of computation: its problem P, its operands O, its variants V. It has no state."""

    problem: ClassVar[type]
    verifying_s: ClassVar[float] = 2.0  # how long the oracle takes between two checkpoints, seconds
    counts_unrun: ClassVar[bool] = False  # whether the model of work is shown of what did not run, too

    @abstractmethod
    def expected_launch_s(self, job: "Job[P, O, V]", device: DeviceInfo) -> float:
        """Estimate one launch before any was seen, seconds."""

    @abstractmethod
    def allocate(self, backend: "Backend", job: "Job[P, O, V]", host_out: Any = None) -> "Buffers":
        """Return buffers on a device; the result goes to `host_out` where that is given."""

    @abstractmethod
    def upload(self, backend: "Backend", operands: O, buffers: "Buffers") -> None:
        """Copy the operands to the device and wait for them."""

    @abstractmethod
    def verify(self, values: Any, job: "Job[P, O, V]", checkpoint: Callable[[float], None]) -> "Verification":
        """Compare a result with the oracle, which may spend `job.affordable` multiply-adds."""

    def constant(self, operands: O) -> Any:
        """Return the operand that a variant is compiled with; None where there is none."""
        return None

    def prepare(self, job: "Job[P, O, V]") -> "Prepared":
        """Compile the job's variant."""
        prepared: Prepared = job.variant.prepare(job.problem, self.constant(job.operands), job.block)
        return prepared

    def refuse_operands(self, variant: V, operands: O) -> None:
        """Refuse, with an `UnsupportedVariant`, operands that a variant cannot take."""

    def labels(self, job: "Job[P, O, V]") -> dict[str, Any]:
        """Return what else a `Measurement` records of the job, by the names of its fields."""
        return {}
