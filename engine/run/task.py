"""What a task is, and a job of one: everything that verifying, measuring and sweeping need. No Numba in here.

A task is a folder of `engine.tasks` with its problem, oracle, verification and model of work, its variants,
how a request is resolved, one class that answers the questions below with them, and a line in
`engine.tasks.registry`. This package, the devices and the results know no task by name. Which device a
variant runs on is chosen here too, and what is refused before anything is made ready.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple

import numpy as np

from engine.device.backend import Backend, Buffers
from engine.device.devices import all_gpus, device_named
from engine.device.launches import DeviceKind, Pass, Prepared
from engine.device_info import ALL_GPUS, AUTO, INTERPRETED_PER_S, SIMULATOR, DeviceInfo
from engine.errors import DeviceUnavailable, Reason, TooLargeForSimulator
from engine.geometry.block import Block, Layout, Refusal, UnsupportedVariant
from engine.message import Message
from engine.results.problem import P, Work
from engine.run.variant import AnyVariant, V

if TYPE_CHECKING:
    from engine.verify.closeness import Verification


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


class Task(ABC, Generic[P, V]):
    """A kind of computation: its problem P, its variants V. It has no state."""

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

    def steps(self, job: "Job[P, V]") -> int:
        """Return the steps that a launch takes, of which `cpu_per_s` and `gpu_per_s` are done in a second."""
        count: int = job.problem.multiply_adds  # type: ignore[attr-defined]
        return count

    def expected_launch_s(self, job: "Job[P, V]", device: DeviceInfo) -> float:
        """Estimate one launch before any was seen, seconds."""
        per_second = self.gpu_per_s if device.kind == "cuda" else self.cpu_per_s
        return 0.5 + self.steps(job) / (INTERPRETED_PER_S if device.key == SIMULATOR else per_second)

    @abstractmethod
    def allocate(self, backend: Backend, job: "Job[P, V]", host_out: Any = None) -> Buffers:
        """Return buffers on a device; the result goes to `host_out` where that is given."""

    def verify(self, values: Any, job: "Job[P, V]", checkpoint: Callable[[float], None]) -> "Verification":
        """Compare a result with the oracle: the function `verify` of its module.

        `job.affordable` is how many multiply-adds it may spend (None: those of about its `verifying_s`), and
        `job.seed` that of what is checked where not everything can be. `checkpoint` is called with the
        fraction done; it may raise to stop.
        """
        how = {"seed": job.seed, "affordable": job.affordable, "checkpoint": checkpoint}
        proof: Verification = import_module(self.oracle).verify(values, *self.compared(job), **how)
        return proof

    def compared(self, job: "Job[P, V]") -> tuple[Any, ...]:
        """Return what `verify` of the oracle takes after the result."""
        raise NotImplementedError

    def refuse_operands(self, job: "Job[P, V]") -> None:
        """Refuse, with an `UnsupportedVariant`, operands that the job's variant cannot take."""

    def labels(self, job: "Job[P, V]") -> dict[str, Any]:
        """Return what else a `Measurement` records of the job, by the names of its fields."""
        return {}


class Choice(NamedTuple, Generic[V]):
    """The variant that runs with its block, and why `auto` chose it; no reason where it was named."""

    variant: V
    block: Block
    reason: Reason | None = None


@dataclass(frozen=True, eq=False)
class Job(Generic[P, V]):
    """What the pipeline computes: a task's problem with its operands, by one variant with one block."""

    task: Task[P, V]
    variant: V
    block: Block
    problem: P
    operands: Any  # what is copied to the device: a picture (H, W, C), a tuple of several arrays
    constant: Any = None  # what the variant is compiled with: a mask, a patch, planned steps, weights
    layout: Layout = Layout.PITCHED  # of a picture's rows on a CUDA device
    chosen_because: Reason | None = None  # the planner's reason where `auto` was requested
    # For the pixels that are verified where the oracle cannot afford everything, and for random operands.
    seed: int = 0
    affordable: int | None = None  # multiply-adds that the oracle may spend; None: the task's own

    @property
    def passes(self) -> tuple[Pass, ...]:
        """Its kernels, one per launch; none for a variant without kernels of ours."""
        return self.variant.passes(self.problem, self.constant, self.block)

    @property
    def work(self) -> Work | None:
        """Its model of work."""
        return self.variant.work(self.problem, self.block)

    def prepare(self) -> Prepared:
        """Compile its variant."""
        return self.variant.prepare(self.problem, self.constant, self.block)

    def filled(self, backend: Backend, host_out: Any = None) -> Buffers:
        """Return buffers on a device with the operands in them; the result goes to `host_out` where given."""
        buffers = self.task.allocate(backend, self, host_out)
        backend.upload(self.operands, buffers)
        return buffers

    def refuse(self, device: DeviceInfo) -> None:
        """Raise UnsupportedVariant or BadValue for what cannot be done on a device with these operands."""
        self.refuse_problem(device)
        self.task.refuse_operands(self)

    def refuse_problem(self, device: DeviceInfo) -> None:
        """Raise the same for what cannot be done whatever the operands are.

        UnsupportedVariant: another kind of device, an illegal block, or a limit of the variant itself; the
        reason may name other variants of the task. BadValue: a problem that is too large for the simulator.
        """
        variant, problem, block = self.variant, self.problem, self.block
        what = f"variant '{variant.key}' on {device.title}"
        remedy = "Choose another variant, or another device."
        if variant.device != device.kind:
            kind = variant.device.upper()
            why = f"It is written for {kind} devices."
            refusal = Refusal("other-device", f"Written for {kind} devices", why, remedy)
            raise UnsupportedVariant(what, refusal)
        if device.key == SIMULATOR and (library := variant.library):
            short = f"Its kernels are those of {library}"
            why = f"Its kernels are machine code of {library}; the simulator interprets PTX."
            raise UnsupportedVariant(what, Refusal("not-ptx", short, why, remedy))
        if device.key == SIMULATOR and (limit := problem.simulator_limit):
            why = f"too large for the simulator (limit {limit})"
            remedy = "Choose a smaller size or batch, or another device."
            raise TooLargeForSimulator(problem.subject, why, remedy)
        refused = variant.why_not(problem, self.constant, block, device.limits, self.task.variants)
        if refused is not None:
            # Where no other block would do, the block is not the reason.
            with_block = f" with a block of {block}" if refused.nearest_block else ""
            on_absent = "" if device.available else f" on {device.title}"
            raise UnsupportedVariant(f"variant '{variant.key}'{with_block}{on_absent}", refused)


ProblemJob = Job[P, Any]
"""A job of a problem P, whatever its variant is."""
AnyJob = Job[Any, Any]
AnyTask = Task[Any, Any]


def compute(job: AnyJob, backend: Backend, host_out: np.ndarray | None = None) -> np.ndarray:
    """Compute, unverified and untimed: a preview, or an answer, into `host_out` where that is given."""
    job.refuse(backend.info)
    with backend.selected():
        prepared, buffers = job.prepare(), job.filled(backend, host_out)
        backend.run(prepared, buffers)
        return backend.download(buffers)
