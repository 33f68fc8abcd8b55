"""Arrays of other libraries in a GPU's memory: what is known of one, and what its library can do.

An array goes in where it lies, and its result comes out as the same kind, on the same device. Work is
enqueued on the library's current stream, so that neither side waits for the other.

Sources: "CUDA Array Interface (Version 3)" in Numba's documentation; "Python Specification for DLPack".
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from engine.device.device_view import DeviceView
from engine.errors import BadValue

ALIGNMENT_BYTES = 16
"""Kernels read and write so many bytes at once, so that an array begins at a multiple of these."""


class Found(NamedTuple):
    """What a library says of an array; strides in bytes, None where samples lie one after another."""

    address: int
    shape: tuple[int, ...]
    dtype: np.dtype
    strides: Sequence[int] | None
    device: int
    is_read_only: bool = False


class Library(ABC):
    """How one library's arrays are read and made."""

    @abstractmethod
    def read(self, array: Any) -> Found:
        """Return what an array is; a BadValue says why it cannot be used."""

    @abstractmethod
    def address(self, array: Any) -> int:
        """Return where one of the library's own arrays begins."""

    @abstractmethod
    def stream(self, array: Any, device: int) -> int:
        """Return the handle of the stream that the library uses at the moment on the array's device."""

    @abstractmethod
    def empty(self, shape: tuple[int, ...], dtype: np.dtype, like: Any) -> Any:
        """Return a new array of the library, on the device of another one."""

    @abstractmethod
    def on_host(self, array: Any) -> np.ndarray:
        """Return a copy on the host, after all work on the array."""

    def tight(self, array: Any) -> Any:
        """Return a copy whose samples lie one after another, from an aligned address on."""
        raise BadValue(
            "This array on the GPU",
            "its samples do not lie one after another from a multiple of 16 bytes on",
            "Pass a contiguous copy of it.",
        )


def as_view(found: Found, shape: tuple[int, int, int]) -> DeviceView | None:
    """Return an array of that shape (H, W, C) as kernels take it; None where it has to be copied first.

    Rows may be further apart than they are long, by whole pixels.
    """
    if found.address % ALIGNMENT_BYTES:
        return None
    if found.strides is None:
        return DeviceView(found.address, shape, found.dtype)
    height, width, channels = shape
    pixel = channels * found.dtype.itemsize
    row, *within = found.strides
    is_dense = within == [pixel, found.dtype.itemsize][: len(within)]
    # A vector may be read past a row's end: rows of whole vectors have room for it.
    if not is_dense or row < width * pixel or row % pixel or row % ALIGNMENT_BYTES:
        return None
    return DeviceView(found.address, (height, row // pixel, channels), found.dtype)


def stream_handle(stream: Any) -> int:
    """Return the handle of a stream: an int, or CuPy's, torch's, Numba's, or any with `__cuda_stream__`."""
    if isinstance(stream, int):
        return stream
    if hasattr(stream, "__cuda_stream__"):
        protocol = stream.__cuda_stream__
        return int((protocol() if callable(protocol) else protocol)[1])
    for name in ("ptr", "cuda_stream", "handle"):
        handle = getattr(stream, name, None)
        if handle is not None:
            return int(getattr(handle, "value", handle) or 0)
    raise BadValue(
        f"a stream of type {type(stream).__name__}",
        "it has no handle",
        "Pass a stream of CuPy, torch or Numba, or its handle as an int.",
    )
