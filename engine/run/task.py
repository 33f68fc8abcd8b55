"""What a task is, and a job of one: everything that verifying, measuring and sweeping need. No Numba in here.

A task is a folder of `engine.tasks` with its problem, oracle, verification and model of work, its variants,
how a request is resolved, one class that answers the questions below with them, and a line in
`engine.tasks.registry`. This room, the devices and the results know no task by name. Which device a variant
runs on is said here too, and what is refused before anything is made ready.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, TypeVar

import numpy as np

from engine.device.backend import Backend, Buffers
from engine.device.devices import all_gpus, device_named
from engine.device.launches import DeviceKind, Pass, Prepared
from engine.device_info import ALL_GPUS, AUTO, INTERPRETED_PER_S, SIMULATOR, DeviceInfo
from engine.errors import DeviceUnavailable, Reason, TooLargeForSimulator
from engine.geometry.block import Block, Refusal, UnsupportedVariant
from engine.geometry.border import Reach
from engine.message import Message
from engine.results.problem import P, Work
from engine.run.variant import AnyVariant, C, V, VariantOf

if TYPE_CHECKING:
    from engine.verify.verification import Verification


def device_for(variant: AnyVariant, wanted: str) -> DeviceInfo:
    """Return the device that a variant runs on when `wanted` is chosen: a CPU variant always runs on the CPU.

    Raises DeviceUnavailable for a CUDA variant without a CUDA device that works; the reason says why.
    """
    if variant.device == DeviceKind.CPU:
        return device_named("cpu")
    if wanted != AUTO:
        return device_named(wanted)
    try:
        return device_named("cuda")
    except DeviceUnavailable as error:
        remedy = "Choose a CPU variant, or the simulator."
        raise DeviceUnavailable(f"variant '{variant.key}' needs a CUDA device", error.why, remedy) from error


def devices_for(variant: AnyVariant | None, wanted: str) -> tuple[DeviceInfo, ...]:
    """Return the devices that share the work when `wanted` is chosen: every GPU for "cuda:all", else one.

    Without a variant, it is chosen for the first of them. Raises as `device_for` and `device_named` do.
    """
    gpus = all_gpus() if wanted == ALL_GPUS else ()
    key = gpus[0].key if gpus else wanted
    device = device_named(key) if variant is None else device_for(variant, key)
    return gpus if gpus and device.is_usable_gpu else (device,)


def refuse_unsuitable(
    variant: VariantOf[P, C],
    problem: P,
    constant: C,
    block: Block,
    device: DeviceInfo,
    known: Iterable[VariantOf[P, C]] = (),
) -> None:
    """Refuse what a variant of any task cannot do on a device; `constant` is what it is compiled with.

    Of the `known` variants the reason may name others.

    Raises UnsupportedVariant for another kind of device, an illegal block, or a limit of the variant itself,
    and BadValue for a problem that is too large for the simulator.
    """
    if variant.device != device.kind:
        raise UnsupportedVariant(
            f"variant '{variant.key}' on {device.title}",
            Refusal(
                "other-device",
                f"Written for {variant.device.upper()} devices",
                f"It is written for {variant.device.upper()} devices.",
                "Choose another variant, or another device.",
            ),
        )
    if device.key == SIMULATOR and variant.library:
        raise UnsupportedVariant(
            f"variant '{variant.key}' on {device.title}",
            Refusal(
                "not-ptx",
                f"Its kernels are those of {variant.library}",
                f"Its kernels are machine code of {variant.library}; the simulator interprets PTX.",
                "Choose another variant, or another device.",
            ),
        )
    if device.key == SIMULATOR and (limit := problem.simulator_limit):
        why = f"too large for the simulator (limit {limit})"
        raise TooLargeForSimulator(problem.subject, why, "Choose a smaller size or batch, or another device.")
    refusal = variant.why_not(problem, constant, block, device.limits, known)
    if refusal is not None:
        # Where no other block would do, the block is not the reason.
        with_block = f" with a block of {block}" if refusal.nearest_block else ""
        on_absent = "" if device.available else f" on {device.title}"
        what = f"variant '{variant.key}'{with_block}{on_absent}"
        raise UnsupportedVariant(what, refusal)


O = TypeVar("O")  # noqa: E741 - P: problem, O: operands, V: variant


class Task(ABC, Generic[P, O, V]):
    """A kind of computation: its problem P, its operands O, its variants V. It has no state."""

    problem: ClassVar[type[Message]]
    oracle: ClassVar[str]  # the module with its `verify`, loaded by the first proof: a preview needs none
    heading: ClassVar[str] = ""  # above its variants in the list of the command `variants`; empty: not there
    # What plain loops on one core and a plain kernel on a small GPU make of what `steps` counts.
    cpu_per_s: ClassVar[float] = 3e8
    gpu_per_s: ClassVar[float] = 1e10
    verifying_s: ClassVar[float] = 2.0  # how long the oracle takes between two checkpoints, seconds
    variants: Sequence[V] = ()  # every one, in teaching order
    proof_rows: ClassVar[int] = 0  # of float32 that the oracle takes for each row that a result depends on
    static_counts: ClassVar[bool] = False  # whether the model of work is shown of what did not run, too

    def problem_fields(self, data: dict[str, object]) -> dict[str, object]:
        """Return the fields of a problem in a file as its dataclass takes them."""
        return data

    def steps(self, job: "Job[P, O, V]") -> int:
        """Return the steps that a launch takes, of which `cpu_per_s` and `gpu_per_s` are done in a second."""
        found: int = job.problem.multiply_adds  # type: ignore[attr-defined]
        return found

    def expected_launch_s(self, job: "Job[P, O, V]", device: DeviceInfo) -> float:
        """Estimate one launch before any was seen, seconds."""
        per_second = self.gpu_per_s if device.kind == "cuda" else self.cpu_per_s
        return 0.5 + self.steps(job) / (INTERPRETED_PER_S if device.key == SIMULATOR else per_second)

    @abstractmethod
    def allocate(self, backend: Backend, job: "Job[P, O, V]", host_out: Any = None) -> Buffers:
        """Return buffers on a device; the result goes to `host_out` where that is given."""

    @abstractmethod
    def upload(self, backend: Backend, operands: O, buffers: Buffers) -> None:
        """Copy the operands to the device and wait for them."""

    def verify(self, values: Any, job: "Job[P, O, V]", checkpoint: Callable[[float], None]) -> "Verification":
        """Compare a result with the oracle, which may spend `job.affordable` multiply-adds."""
        how = {"seed": job.seed, "affordable": job.affordable, "checkpoint": checkpoint}
        found: Verification = import_module(self.oracle).verify(values, *self.compared(job), **how)
        return found

    def compared(self, job: "Job[P, O, V]") -> tuple[Any, ...]:
        """Return what `verify` of the oracle takes after the result."""
        raise NotImplementedError

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


def compute(job: AnyJob, backend: Backend, host_out: np.ndarray | None = None) -> np.ndarray:
    """Compute, unverified and untimed: a preview, or an answer, into `host_out` where that is given."""
    task, operands = job.task, job.operands
    job.refuse(backend.info)
    with backend.selected():
        prepared = task.prepare(job)
        buffers = task.allocate(backend, job, host_out)
        task.upload(backend, operands, buffers)
        backend.run(prepared, buffers)
        return backend.download(buffers)
