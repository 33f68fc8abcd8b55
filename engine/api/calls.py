"""What the Python calls of every task share: arguments, and choices of device and block.

Arrays in a GPU's memory are copied to the host once for those that need them there, and results back.
"""

import math
import reprlib
from collections.abc import Iterable
from functools import cache
from types import ModuleType
from typing import Any, NamedTuple, Protocol, TypeAlias, TypedDict, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from engine.device.device_arrays import Given, library_of
from engine.device.devices import device_named
from engine.device_info import ALL_GPUS, AUTO
from engine.errors import BadValue
from engine.geometry.block import Block, Layout
from engine.geometry.border import Border
from engine.image import convert
from engine.results.text_forms import sides_text


def array_text(array: np.ndarray) -> str:
    """Return what an array is: float32, 512 × 512 × 3."""
    return f"{array.dtype}, {sides_text(array.shape)}"


def check_choices(variant: str, device: str) -> None:
    """Refuse an unknown device. A variant of the CPU runs there on any choice, but that is still an error."""
    if variant != AUTO and device not in (AUTO, ALL_GPUS):
        device_named(device)


class HostCopy(NamedTuple):
    """An array on the host, the requested device, and the array in a GPU's memory that it was."""

    array: Any
    device: str | None
    was: Given | None = None

    def back(self, values: np.ndarray) -> Any:
        """Return values of the kind and on the device of the original array."""
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


Options = tuple[Any, ...]
"""Border, cval, anchor, variant, block, device, flip, layout and result of a call, as it passed them."""


class Exported(Protocol):
    """An array of another library that DLPack shares."""

    def __dlpack__(self, *args: object, **options: object) -> Any: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...


class OnGpu(Protocol):
    """An array in a GPU's memory, such as those of CuPy, torch and Numba."""

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...


GpuArray = TypeVar("GpuArray", bound=OnGpu)


Image: TypeAlias = ArrayLike | Exported
"""A `Picture` too: NumPy reads it as an array."""
BlockLike = Block | tuple[int, int] | str


class FilterOptions(TypedDict, total=False):
    """The options of `correlate` and `convolve`, for what they return of each kind of array."""

    border: str | Border
    cval: float
    anchor: tuple[int, int] | None
    variant: str
    block: BlockLike | None
    device: str | None
    layout: str | Layout
    result: str
    out: object
    stream: object


def as_array(image: object) -> np.ndarray:
    """Return a picture as an array; a `BadValue` says why it is none."""
    if type(image) is np.ndarray:
        return image
    return convert.as_array(image)


def as_seconds(budget_s: float) -> float:
    """Return a budget of time, 0 or more; a `BadValue` says why it is none."""
    seconds = _as_float(budget_s)
    if seconds is None or not 0 <= seconds < math.inf:
        what = f"a budget of {reprlib.repr(budget_s)}"
        raise BadValue(what, "it is not a number of seconds", "Give 0 or more, such as 0.5.")
    return seconds


def as_number(cval: float) -> float:
    """Return the constant of a border; a `BadValue` says why it is none."""
    number = _as_float(cval)
    if number is None:
        raise BadValue(f"a constant border of {reprlib.repr(cval)}", "it is not a number", "Give a number.")
    return number


def as_device(device: str | None) -> str:
    """Return the key of a device; a `BadValue` for what is not a key."""
    wanted = AUTO if device is None else device
    if not isinstance(wanted, str):
        raise BadValue(
            f"device {wanted!r}", "a device is called by its key", "Write 'cpu', 'cuda:0' or 'auto'."
        )
    if wanted == ALL_GPUS:
        # It is refused: one device computes a call.
        device_named(wanted)
    return wanted


def as_block(block: BlockLike | None) -> Block | None:
    """Return a block from any of its forms; a `BadValue` for what is none."""
    if block is None or isinstance(block, Block):
        return block
    if isinstance(block, str):
        return Block.parse(block)
    sides = block if isinstance(block, Iterable) else (block,)
    return Block.parse("x".join(str(side) for side in sides))


def _as_float(value: float) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None


def refuse_out(out: object, image: np.ndarray, shape: tuple[int, ...], dtype: np.dtype) -> None:
    """Raise a BadValue for an array that the result of a picture, of that shape and type, cannot go into."""
    if not isinstance(out, np.ndarray):
        raise BadValue(f"out of {type(out).__name__}", "a result goes into an array", "Pass an ndarray.")
    if out.shape != shape:
        raise BadValue(f"an array out of shape {out.shape}", f"the result has {shape}", "Pass one like it.")
    if out.dtype != dtype:
        remedy = f"Pass an array of {dtype}, or choose another result type."
        raise BadValue(f"an array out of {out.dtype}", f"the result is {dtype}", remedy)
    # As in `as_array`.
    if hasattr(out, "filled"):
        raise BadValue("A masked array out", "its mask would hide results", "Pass its values: out.data.")
    if not out.flags.carray:
        why = "its samples do not begin at multiples of their size"
        if not out.flags.c_contiguous:
            why = "its samples do not lie one after another"
        why = why if out.flags.writeable else "it is read-only"
        raise BadValue("This array out", why, "Pass a C-contiguous array that can be written.")
    if np.may_share_memory(out, image):
        why = "it shares memory with the picture, which is read after results are written"
        raise BadValue("This array out", why, "Pass an array of its own.")
