"""What a task is, and a job of one: everything that verifying, measuring and sweeping need. No Numba in here.

A task is a folder of `engine.tasks` with its problem, oracle, verification and model of work, its variants,
how a request is resolved, one class that answers the questions below with them, and a line in
`engine.tasks.registry`. This room, the devices and the results know no task by name.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, TypeVar

from engine.device.backend import Backend, Buffers
from engine.device.launches import Pass, Prepared
from engine.device_info import DeviceInfo
from engine.geometry.block import Block
from engine.geometry.cut import Reach
from engine.message import Message
from engine.reason import Reason
from engine.results.problem import P
from engine.results.work import Work
from engine.run.device_choice import refuse_unsuitable
from engine.run.registered import V

if TYPE_CHECKING:
    from engine.verify.verification import Verification

O = TypeVar("O")  # noqa: E741 - P: problem, O: operands, V: variant


class Task(ABC, Generic[P, O, V]):
    """A kind of computation: its problem P, its operands O, its variants V. It has no state."""

    problem: ClassVar[type[Message]]
    heading: ClassVar[str] = ""  # above its variants in the list of the command `variants`; empty: not there
    verifying_s: ClassVar[float] = 2.0  # how long the oracle takes between two checkpoints, seconds
    variants: Sequence[V] = ()  # every one, in teaching order
    proof_rows: ClassVar[int] = 0  # of float32 that the oracle takes for each row that a result depends on
    static_counts: ClassVar[bool] = False  # whether the model of work is shown of what did not run, too

    def problem_fields(self, data: dict[str, object]) -> dict[str, object]:
        """Return the fields of a problem in a file as its dataclass takes them."""
        return data

    @abstractmethod
    def expected_launch_s(self, job: "Job[P, O, V]", device: DeviceInfo) -> float:
        """Estimate one launch before any was seen, seconds."""

    @abstractmethod
    def allocate(self, backend: Backend, job: "Job[P, O, V]", host_out: Any = None) -> Buffers:
        """Return buffers on a device; the result goes to `host_out` where that is given."""

    @abstractmethod
    def upload(self, backend: Backend, operands: O, buffers: Buffers) -> None:
        """Copy the operands to the device and wait for them."""

    @abstractmethod
    def verify(self, values: Any, job: "Job[P, O, V]", checkpoint: Callable[[float], None]) -> "Verification":
        """Compare a result with the oracle, which may spend `job.affordable` multiply-adds."""

    def constant(self, operands: O) -> object:
        """Return the operand that a variant is compiled with; None where there is none."""
        return None

    def prepare(self, job: "Job[P, O, V]") -> Prepared:
        """Compile the job's variant."""
        prepared: Prepared = job.variant.prepare(job.problem, job.constant, job.block)
        return prepared

    def refuse(self, variant: V, problem: P, constant: object, block: Block, device: DeviceInfo) -> None:
        """Refuse as `refuse_unsuitable` does; the reason may name other variants of the task."""
        refuse_unsuitable(variant, problem, constant, block, device, self.variants)

    def refuse_operands(self, variant: V, operands: O) -> None:
        """Refuse, with an `UnsupportedVariant`, operands that a variant cannot take."""

    def reach(self, job: "Job[P, O, V]") -> Reach:
        """Return how far the cells lie that a sample of the result depends on."""
        return Reach(whole=job.variant.key)

    def between(self, job: "Job[P, O, V]") -> int:
        """Return how many pictures of float32 there are beside the picture and the result, on the CPU."""
        return 0

    def part(self, job: "Job[P, O, V]", samples: Any) -> "Job[P, O, V]":
        """Return the same job for a part of its picture, as a picture of its own."""
        raise NotImplementedError

    def refuse_samples(self, job: "Job[P, O, V]") -> None:
        """Refuse samples of a picture, or of a part of one, that the job cannot take."""
        self.refuse_operands(job.variant, job.operands)

    def labels(self, job: "Job[P, O, V]") -> dict[str, Any]:
        """Return what else a `Measurement` records of the job, by the names of its fields."""
        return {}


class Choice(NamedTuple, Generic[V]):
    """The variant that runs with its block, and why `auto` chose it; no reason where it was named."""

    variant: V
    block: Block
    reason: Reason | None = None


@dataclass(frozen=True, eq=False)
class Job(Generic[P, O, V]):
    """What the pipeline computes: a task's problem with its operands, by one variant with one block."""

    task: Task[P, O, V]
    variant: V
    block: Block
    problem: P
    operands: O
    chosen_because: Reason | None = None  # the planner's reason where `auto` was asked for
    # For the pixels that are verified where the oracle cannot afford everything, and for random operands.
    seed: int = 0
    affordable: int | None = None  # multiply-adds that the oracle may spend; None: the task's own

    @property
    def constant(self) -> Any:
        """What its variant is compiled with; None where there is nothing."""
        return self.task.constant(self.operands)

    @property
    def passes(self) -> tuple[Pass, ...]:
        """Its kernels, one per launch; none for a variant without kernels of ours."""
        found: tuple[Pass, ...] = self.variant.passes(self.problem, self.constant, self.block)
        return found

    @property
    def work(self) -> Work | None:
        """Its model of work."""
        work: Work | None = self.variant.work(self.problem, self.block)
        return work

    def refuse(self, device: DeviceInfo) -> None:
        """Raise UnsupportedVariant or BadValue for what cannot be done on a device with these operands."""
        self.refuse_problem(device)
        self.task.refuse_operands(self.variant, self.operands)

    def refuse_problem(self, device: DeviceInfo) -> None:
        """Raise the same for what cannot be done whatever the operands are."""
        self.task.refuse(self.variant, self.problem, self.constant, self.block, device)


ProblemJob = Job[P, Any, Any]
"""A job of a problem P, whatever its operands and its variant are."""
AnyJob = Job[Any, Any, Any]
AnyTask = Task[Any, Any, Any]
