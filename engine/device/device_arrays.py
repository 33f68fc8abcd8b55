"""Arrays of other libraries in a GPU's memory: what is known of one, and what its library can do.

An array goes in where it lies, and its result comes out as the same kind, on the same device. Work is
enqueued on the library's current stream, so that neither side waits for the other.

Sources: "CUDA Array Interface (Version 3)" in Numba's documentation; "Python Specification for DLPack".
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from engine.device.launches import DeviceArray, DeviceView
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

    has_own_streams = False
    """Whether an array says itself which stream writes it, and other streams have to wait for that one."""

    @abstractmethod
    def read(self, array: object, stream: int) -> Found:
        """Return what an array is, for work on that stream; a BadValue says why it cannot be used."""

    @abstractmethod
    def address(self, array: object) -> int:
        """Return where one of the library's own arrays begins."""

    @abstractmethod
    def stream(self, array: object) -> int:
        """Return the handle of the stream that the library uses at the moment on the array's device."""

    @abstractmethod
    def empty(self, shape: tuple[int, ...], dtype: np.dtype, picture: "Given") -> object:
        """Return a new array of the library: on the device of a picture, for work on its stream."""

    def tight(self, picture: "Given") -> object:
        """Return a copy, made on the picture's stream, whose samples lie one after another."""
        raise BadValue(
            "This array on the GPU",
            "its samples do not lie one after another from a multiple of 16 bytes on",
            "Pass a contiguous copy of it.",
        )


class Given(NamedTuple):
    """An array in a GPU's memory, as a call gets it, with the streams that are current and asked for."""

    library: Library
    array: DeviceArray
    found: Found
    current: int
    stream: int


def given(library: Library, array: object, stream: object = None) -> Given:
    """Return what an array in a GPU's memory is; a BadValue says why it cannot be used."""
    current = library.stream(array)
    used = current if stream is None else stream_handle(stream)
    return Given(library, array, library.read(array, used), current, used)


def strides_unless_dense(shape: Sequence[int], strides: Sequence[int], itemsize: int) -> Sequence[int] | None:
    """Return strides in bytes; None where samples lie one after another. Those of one sample mean nothing."""
    dense = itemsize
    for length, step in zip(reversed(shape), reversed(strides), strict=True):
        if length != 1 and step != dense:
            return strides
        dense *= length
    return None


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


def stream_handle(stream: object) -> int:
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
