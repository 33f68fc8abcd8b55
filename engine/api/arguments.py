"""Checks and converts the arguments of the Python calls."""

import math
import reprlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypedDict, TypeVar, Union

import numpy as np
from numpy.typing import ArrayLike

from engine.device.devices import device_named
from engine.device_info import ALL_GPUS, AUTO
from engine.errors import BadValue
from engine.geometry.block import Block, Layout
from engine.geometry.border import Border

if TYPE_CHECKING:
    from engine.image.picture import Picture

Options = tuple[Any, ...]
"""Border, cval, anchor, variant, block, device, flip, layout and result of a call, as they were given."""


class Exported(Protocol):
    """An array of another library that DLPack shares."""

    def __dlpack__(self, *args: object, **options: object) -> Any: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...


class OnGpu(Protocol):
    """An array in a GPU's memory, such as those of CuPy, torch and Numba."""

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...


GpuArray = TypeVar("GpuArray", bound=OnGpu)


# Not with "|", which Python 3.12 refuses between NumPy's alias and a name that is not imported yet.
Image: TypeAlias = Union[ArrayLike, Exported, "Picture"]
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
    # NumPy's own arrays need none of it.
    from engine.image import convert

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


def other_shape(what: str, found: tuple[int, ...], wanted: tuple[int, ...]) -> BadValue:
    """Return the error of an array of another shape than a plan's."""
    remedy = "Pass one of that shape, or make another plan."
    return BadValue(f"{what} of shape {found}", f"the plan is for {wanted}", remedy)


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
