"""Arrays in a GPU's memory for calls that need them on the host: copied there once, and results back."""

from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from engine.device.array_libraries import library_of

if TYPE_CHECKING:
    from engine.device.device_arrays import Given


class HostCopy(NamedTuple):
    """An array on the host, the device that was asked for, and the array in a GPU's memory that it was."""

    array: Any
    device: str | None
    was: "Given | None" = None

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
