"""What the Python calls of every task share: choices of device and block, computing, the checked outcome."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.api.arguments import as_seconds
from engine.device.devices import backend, device_named
from engine.device_info import ALL_GPUS, AUTO, DeviceInfo
from engine.errors import EngineError
from engine.geometry.block import UnsupportedVariant, refuse_block
from engine.results.text_forms import Shown
from engine.run.task import AnyJob, compute

if TYPE_CHECKING:
    # What is measured and verified is loaded by the first call that does: a sixth of a first filter.
    from engine.results.measurement import Measurement
    from engine.run.measure import OnValues, Outcome
    from engine.run.sampling import SamplingPlan
    from engine.work.resolve import Resolved


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Applied(Shown):
    """A filtered picture with its verification and its times.

    Parameters
    ----------
    values : array of the picture's shape and kind, float32 or of the picture's type, as requested
    result : Measurement
        Variant, block, device, timing, verification.
    """

    values: Any
    result: "Measurement[Any]"

    def _shown(self) -> list[tuple[str, str]]:
        return [("Values", array_text(self.values)), *self.result.summary.items()]


def array_text(array: np.ndarray) -> str:
    """Return what an array is: float32, 512 × 512 × 3."""
    return f"{array.dtype}, {' × '.join(map(str, array.shape))}"


def check_choices(variant: str, device: str) -> None:
    """Refuse an unknown device. A variant of the CPU runs there on any choice, but that is still an error."""
    if variant != AUTO and device not in (AUTO, ALL_GPUS):
        device_named(device)


def check_named(resolved: "Resolved") -> None:
    """Refuse an unknown device, and an illegal block also with a variant that ignores it."""
    asked, device = resolved.asked, resolved.device
    check_choices(asked.variant, asked.device)
    if asked.block is not None and not resolved.choice.variant.uses_block:
        refusal = refuse_block(asked.block, device.limits)
        if refusal is not None:
            raise UnsupportedVariant("The block cannot be used", refusal)


def plan_for(budget_s: float) -> "SamplingPlan":
    """Return a plan to sample for so many seconds; a `BadValue` says why they are none."""
    # Only what is measured needs what measures: 40 ms.
    from engine.run.sampling import SamplingPlan

    return SamplingPlan(budget_s=as_seconds(budget_s))


def computed(
    job: AnyJob, device: DeviceInfo, shape: tuple[int, ...], out: np.ndarray | None = None
) -> np.ndarray:
    """Return the result of a job in that shape, unverified; it lies in `out`, where that is given."""
    return compute(job, backend(device.key), out).reshape(shape)


def measured(
    job: AnyJob,
    device: DeviceInfo,
    shape: tuple[int, ...],
    plan: "SamplingPlan",
    on_values: "OnValues | None" = None,
) -> Applied:
    """Return the result of a job in that shape with its verification and its times.

    In the simulator nothing is sampled. `on_values` is as of `engine.run.measure.measure`. Raises what
    `as_applied` raises.
    """
    # As in `plan_for`.
    from engine.run.measure import measure_on

    return as_applied(measure_on(job, device.key, plan, on_values=on_values), shape)


def as_applied(outcome: "Outcome[Any]", shape: tuple[int, ...]) -> Applied:
    """Return the outcome of a run in that shape; raise its error, or `VerificationFailed`."""
    if outcome.values is None:
        raise outcome.error or EngineError(str(outcome.result.failure))
    verification = outcome.result.verification
    if verification is not None:
        verification.refuse_wrong(f"The result of '{outcome.result.variant}'")
    return Applied(outcome.values.reshape(shape), outcome.result)
