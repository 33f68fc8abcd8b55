"""What the Python calls of every task share: choices of device and block, the checked outcome.

Arrays in a GPU's memory are copied to the host once for those that need them there, and results back.
"""

from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from engine.device.device_arrays import Given, library_of
from engine.device.devices import device_named
from engine.device_info import ALL_GPUS, AUTO
from engine.errors import EngineError
from engine.geometry.block import UnsupportedVariant, refuse_block
from engine.results.text_forms import Shown, sides_text

if TYPE_CHECKING:
    # What is measured and verified is loaded by the first call that does: a sixth of a first filter.
    from engine.results.measurement import Measurement
    from engine.run.measure import Outcome
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
    return f"{array.dtype}, {sides_text(array.shape)}"


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


def as_applied(outcome: "Outcome[Any]", shape: tuple[int, ...]) -> Applied:
    """Return the outcome of a run in that shape; raise its error, or `VerificationFailed`."""
    if outcome.values is None:
        raise outcome.error or EngineError(str(outcome.result.failure))
    verification = outcome.result.verification
    if verification is not None:
        verification.refuse_wrong(f"The result of '{outcome.result.variant}'")
    return Applied(outcome.values.reshape(shape), outcome.result)


class HostCopy(NamedTuple):
    """An array on the host, the device that was asked for, and the array in a GPU's memory that it was."""

    array: Any
    device: str | None
    was: Given | None = None

    def back(self, values: np.ndarray) -> Any:
        """Return values of the kind and on the device of the array that was given."""
        return values if self.was is None else device_calls().on_device(values, self.was)


def host_copy(array: object, device: str | None = None) -> HostCopy:
    """Return a copy on the host of an array in a GPU's memory, which chooses that device; others as they are.

    Raises BadValue for another device, and while a graph is captured on its stream.
    """
    library = None if type(array) is np.ndarray else library_of(array)
    if library is None:
        return HostCopy(array, device)
    calls = device_calls()
    was = calls.given(library, array)
    own = calls.device_for(was, device)
    calls.refuse_capture(was, "Copying to the host")
    return HostCopy(calls.on_host(was), own, was)


# Importing what is there already takes 2 us.
@cache
def device_calls() -> ModuleType:
    """Return what calls with arrays in a GPU's memory, which needs the driver; the CPU does without."""
    from engine.api import device_calls

    return device_calls
