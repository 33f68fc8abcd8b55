"""Calls with arrays that are in a GPU's memory: they go in where they lie, and nothing waits for a result."""

import threading
import weakref
from collections import deque
from contextlib import suppress
from typing import Any

import numpy as np

from engine.device.array_libraries import as_view, given, library_called, on_device, on_host
from engine.device.backend import cuda_errors_in_words, translated
from engine.device.cuda_kernels import PreparedPasses
from engine.device.cuda_memory import Context, check, context_of, is_captured, order_after
from engine.device.device_arrays import Found, Given, library_of
from engine.device.launches import CAPTURE_LOCK, DeviceView, Handle, Prepared
from engine.device.numba_cuda import driver
from engine.device_info import AUTO
from engine.errors import BadValue
from engine.work.filter_task import refuse_non_finite
from engine.work.problem import DTYPES, other_shape
from engine.work.resolve import Resolved

__all__ = [
    "DeviceCalls", "context_of", "device_for", "enqueue", "given", "on_device", "on_host",
    "options_on", "refuse_capture", "tight_copy",
]  # fmt: skip

# Of a type's name NumPy makes a new text each time, which takes 2 us.
_TYPES = frozenset(map(np.dtype, DTYPES))
# What plans that are gone have prepared: their launches may be under way, and read and write its memory.
_dropped: deque[tuple[Context, Prepared]] = deque()
_dropping = threading.Lock()


def _free_dropped() -> None:
    """Free what dropped plans have prepared when the device is done with it: preparing waits anyway."""
    with _dropping, suppress(IndexError):
        for _ in range(len(_dropped)):
            context, prepared = _dropped.popleft()
            with CAPTURE_LOCK, context.selected():
                check(driver.cuCtxSynchronize())
            del prepared


class DeviceCalls:
    """A prepared variant that is called with pictures of one shape and type in its device's memory."""

    def __init__(
        self, resolved: Resolved, prepared: Prepared | None, shape: tuple[int, ...], picture: Given
    ) -> None:
        if prepared is None or not resolved.device.key.startswith("cuda:"):
            what, why = "A picture in a GPU's memory", f"this filter runs on {resolved.device.title}"
            raise BadValue(what, why, "Copy the picture to the host first, or choose the GPU.")
        refuse_capture(picture, "The first call of a plan")
        self._device = int(resolved.device.key.partition(":")[2])
        self._context = context_of(self._device)
        self._resolved, self._prepared, self._shape = resolved, prepared, shape
        self._as_kernels_see = resolved.samples.shape
        self._dtype = resolved.samples.dtype
        self._result_dtype = np.dtype(resolved.problem.result_dtype)
        variant = resolved.choice.variant
        self._reads_samples = variant.finite_only and self._dtype.kind == "f"
        # What reads samples on the host, or allocates with each launch, cannot be replayed.
        self._is_never_captured = self._reads_samples or not isinstance(prepared, PreparedPasses)
        with cuda_errors_in_words("preparing the filter"), self._context.selected():
            _free_dropped()
            if isinstance(prepared, PreparedPasses):
                dtypes = self._dtype, self._result_dtype
                prepared.bind(*(DeviceView(0, self._as_kernels_see, dtype) for dtype in dtypes))
        weakref.finalize(self, _dropped.append, (self._context, prepared)).atexit = False

    def __call__(self, picture: Given, out: object) -> object:
        """Enqueue a picture's filtering; return its result, which is there when the stream is."""
        library, array = picture.library, picture.found
        self._refuse("a picture", array, self._dtype)
        if self._is_never_captured:
            refuse_capture(picture, f"Filtering with '{self._resolved.choice.variant.key}'")
        if self._reads_samples:
            refuse_non_finite(self._resolved.choice.variant, on_host(picture).reshape(self._as_kernels_see))
        view, _held = as_view(array, self._as_kernels_see), picture.array
        if view is None:
            view, _held = tight_copy(picture, self._as_kernels_see)
        if out is None:
            out = library.empty(self._shape, self._result_dtype, picture)
            target = DeviceView(library.address(out), self._as_kernels_see, self._result_dtype)
        else:
            target = self._checked(out, picture)
        enqueue(self._context, self._prepared, view, target, picture)
        return out

    def _checked(self, out: object, picture: Given) -> DeviceView:
        """Return a result's array as kernels take it; a BadValue says why it cannot be used."""
        name = library_of(out)
        if name is None:
            why = "the picture is in a GPU's memory, and its result stays there"
            raise BadValue(f"out of type {type(out).__name__}", why, "Pass an array of that GPU, or none.")
        library = library_called(name)
        target = library.read(out, picture.stream)
        self._refuse("an array out", target, self._result_dtype)
        view = as_view(target, self._as_kernels_see)
        why = ""
        if target.is_read_only:
            why = "it is read-only"
        elif target.strides is not None:
            # Kernels write whole vectors: beside its rows there may be others' samples.
            why = "its samples do not lie one after another"
        elif view is None:
            why = "it does not begin at a multiple of 16 bytes"
        if why or view is None:
            raise BadValue("This array out", why, "Pass a new, C-contiguous array.")
        image, end = picture.found, target.address + _bytes_of(target)
        if target.address < image.address + _bytes_of(image) and image.address < end:
            why = "it shares memory with the picture, which is read after results are written"
            raise BadValue("This array out", why, "Pass an array of its own.")
        return view

    def _refuse(self, what: str, array: Found, dtype: np.dtype) -> None:
        if array.shape != self._shape:
            raise other_shape(what, array.shape, self._shape)
        if array.dtype != dtype:
            why = f"this filter takes {self._dtype} and gives {self._result_dtype}"
            raise BadValue(f"{what} of {array.dtype}", why, "Convert it first.")
        if array.device != self._device:
            why = f"this filter runs on cuda:{self._device}"
            raise BadValue(f"{what} on GPU {array.device}", why, "Copy it there, or choose the other device.")


def tight_copy(picture: Given, shape: tuple[int, ...]) -> tuple[DeviceView, object]:
    """Return a dense copy of an array as kernels take it, and what holds its memory."""
    refuse_capture(picture, "An array that has to be copied first")
    copy = picture.library.tight(picture)
    return DeviceView(picture.library.address(copy), shape, picture.found.dtype), copy


def enqueue(
    context: Context, prepared: Any, image: Any, out: DeviceView, picture: Given, *others: Given
) -> None:
    """Enqueue a launch on a picture's stream, after what is current for the others."""
    stream = picture.stream
    # Of CuPy and torch it is the caller's choice; other arrays say which stream writes them.
    waits_for = (picture, *others) if picture.library.has_own_streams else others
    try:
        with context.selected():
            for array in waits_for:
                if array.current != stream:
                    order_after(stream, array.current)
            prepared.launch(image, out, Handle(stream))
    except Exception as error:
        raise translated(error, "filtering on the device") from error


def refuse_capture(picture: Given, what: str) -> None:
    """Raise a BadValue where the picture's stream is being captured."""
    try:
        with context_of(picture.found.device).selected():
            is_refused = is_captured(picture.stream)
    except Exception as error:
        raise translated(error, "asking for a stream") from error
    if is_refused:
        raise BadValue(
            f"{what} while a graph is captured",
            "what it needs cannot be captured, and a replay needs it as long as the graph lives",
            "Make a plan of such an array before (engine.plan), call it in the capture, and keep it as long "
            "as the graph.",
        )


def _bytes_of(array: Found) -> int:
    """Return the bytes from an array's first sample to its last."""
    if array.strides is None:
        return int(np.prod(array.shape)) * array.dtype.itemsize
    steps = zip(array.shape, array.strides, strict=True)
    return sum((length - 1) * step for length, step in steps) + array.dtype.itemsize


def device_for(picture: Given, device: object) -> str:
    """Return the key of the device that a picture lies on; a BadValue where another one is requested."""
    own = f"cuda:{picture.found.device}"
    if device is not None and device not in (AUTO, "cuda", own):
        what, why = f"device {device!r} for a picture in the memory of {own}", "it is filtered where it lies"
        raise BadValue(what, why, f"Leave the device out, or copy the picture from {own} first.")
    return own


def options_on(picture: Given, options: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the options of a call with the device that its picture lies on.

    Raises BadValue for types that are not filtered there, another device, and a graph that is being captured.
    """
    array = picture.found
    if array.dtype not in _TYPES:
        what = f"samples of type {array.dtype} in a GPU's memory"
        why = f"there {', '.join(DTYPES)} are filtered as they are, and nothing is converted"
        raise BadValue(what, why, "Convert the picture to float32 first.")
    border, cval, anchor, variant, block, device, *rest = options
    own = device_for(picture, device)
    refuse_capture(picture, "Filtering")
    return border, cval, anchor, variant, block, own, *rest
