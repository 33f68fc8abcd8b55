"""Which arrays of other libraries are in a GPU's memory, and what is known of one. No driver in here.

An array goes in where it lies, and its result comes out as the same kind, on the same device. Work is
enqueued on the library's current stream, so that neither side waits for the other.
"""

import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from engine.device.launches import DeviceArray, Handle


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

    has_own_streams = True
    """Whether an array says itself which stream writes it, and other streams have to wait for that one."""

    @abstractmethod
    def read(self, array: DeviceArray, stream: int) -> Found:
        """Return what an array is, for work on that stream; a BadValue says why it cannot be used."""

    @abstractmethod
    def address(self, array: DeviceArray) -> int:
        """Return where one of the library's own arrays begins."""

    @abstractmethod
    def stream(self, array: DeviceArray) -> int:
        """Return the handle of the stream that the library uses at the moment on the array's device."""

    @abstractmethod
    def empty(self, shape: tuple[int, ...], dtype: np.dtype, picture: "Given") -> object:
        """Return a new array of the library: on the device of a picture, for work on its stream."""

    @abstractmethod
    def tight(self, picture: "Given") -> object:
        """Return a copy, made on the picture's stream, whose samples lie one after another."""


class Given(NamedTuple):
    """An array in a GPU's memory, as a call gets it, with the streams that are current and requested."""

    library: Library
    array: DeviceArray
    found: Found
    current: int
    stream: int


CUPY, TORCH, BY_PROTOCOL = "cupy", "torch", "another"
# Memory of a GPU, and memory that is managed for both (kDLCUDA and kDLCUDAManaged of DLPack).
_DLPACK_GPUS = (2, 13)


def library_of(array: DeviceArray) -> str | None:
    """Return the name of the library of an array in a GPU's memory; None for everything else."""
    library = _library_of(array.__class__)
    if library == TORCH:
        return library if array.is_cuda else None
    return library if library != BY_PROTOCOL or _is_on_gpu(array) else None


# Asking a type takes 1 us.
@cache
def _library_of(kind: type) -> str | None:
    """Return whose arrays a type's are that may be in a GPU's memory; None where they never are."""
    # Also of classes that others derive from theirs.
    packages = {base.__module__.partition(".")[0] for base in kind.__mro__}
    if "cupy" in packages and hasattr(kind, "data"):
        return CUPY
    if "torch" in packages and hasattr(kind, "is_cuda"):
        return TORCH
    has_protocol = hasattr(kind, "__cuda_array_interface__") or hasattr(kind, "__dlpack_device__")
    return BY_PROTOCOL if has_protocol and not issubclass(kind, np.ndarray) else None


def _is_on_gpu(array: object) -> bool:
    if hasattr(array, "__dlpack_device__"):
        try:
            return int(array.__dlpack_device__()[0]) in _DLPACK_GPUS
        except BufferError:
            # On several devices at once, as JAX's may be.
            return False
    # Of the object, not of its class: JAX's arrays on the CPU have the name and no value.
    return hasattr(array, "__cuda_array_interface__")


def cupy_stream(handle: int) -> Any:
    """Return a stream as CuPy's; where `from_external` exists, `ExternalStream` is deprecated."""
    streams = sys.modules["cupy"].cuda
    from_external = getattr(streams.Stream, "from_external", None)
    return streams.ExternalStream(handle) if from_external is None else from_external(Handle(handle))
