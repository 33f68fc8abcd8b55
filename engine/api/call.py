"""What the Python calls have in common: arguments that are checked, and a job that is run for its answer."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.device.devices import backend, device_named, own_process_needed
from engine.device_info import AUTO, DeviceInfo
from engine.errors import BadValue, EngineError, VerificationFailed
from engine.geometry.block import Block
from engine.geometry.block_rules import refuse_block
from engine.geometry.refusal import UnsupportedVariant
from engine.run.arguments import as_seconds
from engine.run.compute import compute
from engine.run.task import AnyJob

if TYPE_CHECKING:
    from engine.results.measurement import Measurement
    from engine.run.measure import OnValues, Outcome
    from engine.run.sampling import SamplingPlan

BlockLike = Block | tuple[int, int] | str


@dataclass(frozen=True, slots=True, eq=False)
class Applied:
    """A filtered picture with its verification and its times.

    Parameters
    ----------
    values : ndarray of the picture's shape, float32 or of the picture's type, as requested
    result : RunResult
        Variant, block, device, timing, verification.
    """

    values: np.ndarray
    result: "Measurement[Any]"


def as_device(device: str | None) -> str:
    """Return the key of a device; a `BadValue` for what is not a key."""
    wanted = AUTO if device is None else device
    if not isinstance(wanted, str):
        raise BadValue(
            f"device {wanted!r}", "a device is called by its key", "Write 'cpu', 'cuda:0' or 'auto'."
        )
    return wanted


def as_block(block: BlockLike | None) -> Block | None:
    """Return a block from any of its forms; a `BadValue` for what is none."""
    if block is None or isinstance(block, Block):
        return block
    if isinstance(block, str):
        return Block.parse(block)
    sides = block if isinstance(block, Iterable) else (block,)
    return Block.parse("x".join(str(side) for side in sides))


def plan_for(budget_s: float) -> "SamplingPlan":
    """Return a plan to sample for so many seconds; a `BadValue` says why they are none."""
    # What is measured and verified is loaded by the first call that does: a sixth of a first filter.
    from engine.run.sampling import SamplingPlan

    return SamplingPlan(budget_s=as_seconds(budget_s))


def computed(
    job: AnyJob, device: DeviceInfo, shape: tuple[int, ...], out: np.ndarray | None = None
) -> np.ndarray:
    """Return what a job computes in that shape, unverified (but verified in the simulator).

    It lies in `out`, where that is given and the device is one of this process.
    """
    if own_process_needed(device):
        return measured(job, device, shape, plan_for(0.0)).values
    return compute(job, backend(device.key), out).reshape(shape)


def measured(
    job: AnyJob,
    device: DeviceInfo,
    shape: tuple[int, ...],
    plan: "SamplingPlan",
    on_values: "OnValues | None" = None,
) -> Applied:
    """Return what a job computes with its verification and its times; raise what `as_applied` raises.

    In the simulator nothing is sampled. `on_values` is as of `engine.run.measure.measure`.
    """
    # As in `plan_for`.
    from engine.host.executor import executor_for
    from engine.run.executor import outcome_of

    return as_applied(outcome_of(job, device, plan, executor_for, on_values), shape)


class Call:
    """A request with its arguments resolved by `ResolvedFilter` or `ResolvedOperation`, ready to run."""

    asked: Any
    device: DeviceInfo
    result_shape: tuple[int, ...]
    """Shape of what the variant writes: rows, columns, channels."""

    @property
    def choice(self) -> Any:
        """The variant and its block."""
        raise NotImplementedError

    def job(self) -> AnyJob:
        """Return the job for the pipeline."""
        raise NotImplementedError

    def refuse_unused(self) -> None:
        """Raise an EngineError for an unknown device and for an illegal block, also where neither is used.

        A CPU variant runs on the CPU on any choice of a device, and ignores a block.
        """
        asked = self.asked
        if asked.variant != AUTO and asked.device != AUTO:
            device_named(asked.device)
        if asked.block is not None and not self.choice.variant.uses_block:
            refusal = refuse_block(asked.block, self.device.limits)
            if refusal is not None:
                raise UnsupportedVariant("The block cannot be used", refusal)

    def filter(self, out: np.ndarray | None = None) -> np.ndarray:
        """Return what the variant writes, unverified (but verified in the simulator).

        It lies in `out`, an array of `result_shape` and of the result's type, where that is given and the
        device is one of this process.
        """
        return computed(self.job(), self.device, self.result_shape, out)

    def measure(self, plan: "SamplingPlan", on_values: "OnValues | None" = None) -> Applied:
        """Return what the variant writes with its verification and its times, as `measured` does."""
        return measured(self.job(), self.device, self.result_shape, plan, on_values)


def as_applied(outcome: "Outcome", shape: tuple[int, ...]) -> Applied:
    """Return the outcome of a run in that shape; raise its error, or `VerificationFailed`."""
    if outcome.values is None:
        raise outcome.error or EngineError(str(outcome.result.failure))
    verification = outcome.result.verification
    if verification is not None and not verification.passed:
        raise VerificationFailed(
            f"The result of '{outcome.result.variant}'", verification.reason, "Choose another variant."
        )
    return Applied(outcome.values.reshape(shape), outcome.result)
