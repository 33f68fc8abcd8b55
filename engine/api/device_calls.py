"""Calls with arrays that are in a GPU's memory: they go in where they lie, and nothing waits for a result."""

from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np

from engine.api.arguments import Options, other_shape
from engine.device.array_libraries import library_of
from engine.device.cuda_events import Context, Handle, is_captured, order_after
from engine.device.cuda_faults import translated
from engine.device.device_arrays import Found, Library, as_view, stream_handle
from engine.device.device_view import DeviceView
from engine.device.launches import Prepared
from engine.device_info import AUTO
from engine.errors import BadValue
from engine.tasks.filtering.resolve import ResolvedFilter
from engine.tasks.filtering.task import refuse_non_finite
from engine.tasks.pictures import DTYPES

# Of a type's name NumPy makes a new text each time, which takes 2 us.
_TYPES = frozenset(map(np.dtype, DTYPES))


class Given(NamedTuple):
    """A picture in a GPU's memory, as a call gets it, with the streams that are current and asked for."""

    library: Library
    array: Any
    found: Found
    current: int
    stream: int


def given(library: Library, array: Any, stream: Any) -> Given:
    """Return what a picture in a GPU's memory is; a BadValue says why it cannot be filtered."""
    found = library.read(array)
    current = library.stream(array, found.device)
    return Given(library, array, found, current, current if stream is None else stream_handle(stream))


class DeviceCalls:
    """A prepared variant that is called with pictures of one shape and type in its device's memory."""

    def __init__(self, resolved: ResolvedFilter, prepared: Prepared | None, shape: tuple[int, ...]) -> None:
        if prepared is None or not resolved.device.key.startswith("cuda:"):
            raise BadValue(
                "A picture in a GPU's memory",
                f"this filter runs on {resolved.device.title}",
                "Copy the picture to the host first, or choose the GPU.",
            )
        self._context = Context()
        self._device = int(resolved.device.key.partition(":")[2])
        self._resolved, self._prepared, self._shape = resolved, prepared, shape
        self._as_kernels_see = resolved.samples.shape
        self._dtype = resolved.samples.dtype
        self._result_dtype = np.dtype(resolved.problem.result_dtype)
        self._reads_samples = resolved.choice.variant.finite_only and self._dtype.kind == "f"

    def __call__(self, picture: Given, out: Any) -> Any:
        """Enqueue a picture's filtering; return its result, which is there when the stream is."""
        library, image, found, current, stream = picture
        self._refuse("a picture", found, self._dtype)
        view = as_view(found, self._as_kernels_see)
        if view is None:
            if stream != current:
                raise BadValue(
                    "A picture whose samples do not lie one after another, with a stream",
                    "it would have to be copied first, on another stream",
                    "Pass a contiguous copy of it, or leave the stream out.",
                )
            image = library.tight(image)
            view = DeviceView(library.address(image), self._as_kernels_see, self._dtype)
        if self._reads_samples:
            refuse_non_finite(self._resolved.choice.variant, library.on_host(image).reshape(view.shape))
        is_new = out is None
        if is_new:
            out = library.empty(self._shape, self._result_dtype, image)
            target = DeviceView(library.address(out), self._as_kernels_see, self._result_dtype)
        else:
            target = self._checked(out, found)
        try:
            # Asking takes 1 us, making it current 5.
            with nullcontext() if self._context.is_current else self._context.current():
                if is_new and stream != current:
                    # The new array may be memory that work on the current stream still uses.
                    order_after(stream, current)
                self._prepared.launch(view, target, Handle(stream))
        except Exception as error:
            raise translated(error, "filtering on the device") from error
        return out

    def _checked(self, out: Any, image: Found) -> DeviceView:
        """Return a result's array as kernels take it; a BadValue says why it cannot be used."""
        library = library_of(out)
        if library is None:
            raise BadValue(
                f"out of type {type(out).__name__}",
                "the picture is in a GPU's memory, and its result stays there",
                "Pass an array of that GPU, or none.",
            )
        found = library.read(out)
        self._refuse("an array out", found, self._result_dtype)
        view = as_view(found, self._as_kernels_see)
        if found.is_read_only or view is None:
            why = (
                "it is read-only" if found.is_read_only else "its rows do not begin at multiples of 16 bytes"
            )
            if found.strides is None and found.address % 16 == 0 and not found.is_read_only:
                why = "its samples do not lie one after another"
            raise BadValue("This array out", why, "Pass a new, C-contiguous array.")
        end, image_end = found.address + _bytes_of(found), image.address + _bytes_of(image)
        if found.address < image_end and image.address < end:
            why = "it shares memory with the picture, which is read after results are written"
            raise BadValue("This array out", why, "Pass an array of its own.")
        return view

    def _refuse(self, what: str, found: Found, dtype: np.dtype) -> None:
        if found.shape != self._shape:
            raise other_shape(what, found.shape, self._shape)
        if found.dtype != dtype:
            why = f"this filter takes {self._dtype} and gives {self._result_dtype}"
            raise BadValue(f"{what} of {found.dtype}", why, "Convert it first.")
        if found.device != self._device:
            raise BadValue(
                f"{what} on GPU {found.device}",
                f"this filter runs on cuda:{self._device}",
                "Copy it there, or choose the other device.",
            )


def _bytes_of(found: Found) -> int:
    """Return the bytes from an array's first sample to its last."""
    if found.strides is None:
        return int(np.prod(found.shape)) * found.dtype.itemsize
    steps = zip(found.shape, found.strides, strict=True)
    return sum((length - 1) * step for length, step in steps) + found.dtype.itemsize


def options_on(picture: Given, options: Options) -> Options:
    """Return the options of a call with the device that its picture lies on.

    Raises BadValue for types that are not filtered there, another device, and a graph that is being captured.
    """
    found = picture.found
    if found.dtype not in _TYPES:
        raise BadValue(
            f"samples of type {found.dtype} in a GPU's memory",
            f"there {', '.join(DTYPES)} are filtered as they are, and nothing is converted",
            "Convert the picture to float32 first.",
        )
    own, (border, cval, anchor, variant, block, device, *rest) = f"cuda:{found.device}", options
    if device not in (None, AUTO, "cuda", own):
        raise BadValue(
            f"device {device!r} for a picture in the memory of {own}",
            "it is filtered where it lies",
            f"Leave the device out, or copy the picture from {own} first.",
        )
    if is_captured(picture.stream):
        raise BadValue(
            "Filtering while a graph is captured",
            "preparing a filter cannot be captured, and a replay needs it as long as the graph lives",
            "Make a plan before (engine.plan), call it in the capture, and keep it as long as the graph.",
        )
    return border, cval, anchor, variant, block, own, *rest
