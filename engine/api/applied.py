"""A call that is measured. What measures and verifies takes a sixth of a first filter to load."""

from dataclasses import dataclass
from typing import Any

from engine.api.calls import array_text
from engine.api.request import PictureCall
from engine.device.devices import backend
from engine.errors import EngineError
from engine.results.measurement import Measurement
from engine.results.text_forms import Shown
from engine.run.measure import OnValues, Outcome, SamplingPlan, measure


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
    result: Measurement[Any]

    def _shown(self) -> list[tuple[str, str]]:
        return [("Values", array_text(self.values)), *self.result.summary.items()]


def as_applied(outcome: Outcome[Any], shape: tuple[int, ...]) -> Applied:
    """Return the outcome of a run in that shape; raise its error, or `VerificationFailed`."""
    if outcome.values is None:
        raise outcome.error or EngineError(str(outcome.result.failure))
    verification = outcome.result.verification
    if verification is not None:
        verification.refuse_wrong(f"The result of '{outcome.result.variant}'")
    return Applied(outcome.values.reshape(shape), outcome.result)


def measured(call: PictureCall, plan: SamplingPlan, on_values: OnValues | None = None) -> Applied:
    """Return what the variant writes with its verification and its times; in the simulator no sample.

    `on_values` is as of `engine.run.measure.measure`. Raises what `as_applied` raises.
    """
    outcome = measure(call.job(), backend(call.device.key), plan, on_values=on_values)
    return as_applied(outcome, call.problem.result_shape)
