"""Arrays of other libraries in a GPU's memory: CuPy, torch, Numba, and what speaks their protocols.

An array goes in where it lies, and its result comes out as the same kind, on the same device. Work is
enqueued on the library's current stream, so that neither side waits for the other.

Sources: "CUDA Array Interface (Version 3)" in Numba's documentation; "Python Specification for DLPack".
"""

import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cache
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
    def stream(self, array: Any, device: int) -> int:
        """Return the handle of the stream that the library uses at the moment on the array's device."""

    @abstractmethod
    def empty(self, shape: tuple[int, ...], dtype: np.dtype, device: int) -> Any:
        """Return a new array of the library on a device."""

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


class _CuPy(Library):
    def read(self, array: Any) -> Found:
        strides = None if array.flags.c_contiguous else array.strides
        return Found(array.data.ptr, array.shape, array.dtype, strides, array.device.id)

    def stream(self, array: Any, device: int) -> int:
        return int(sys.modules["cupy"].cuda.get_current_stream(device).ptr)

    def empty(self, shape: tuple[int, ...], dtype: np.dtype, device: int) -> Any:
        cupy = sys.modules["cupy"]
        if cupy.cuda.runtime.getDevice() == device:
            return cupy.empty(shape, dtype)
        with cupy.cuda.Device(device):
            return cupy.empty(shape, dtype)

    def on_host(self, array: Any) -> np.ndarray:
        values: np.ndarray = array.get()
        return values

    def tight(self, array: Any) -> Any:
        with array.device:
            return array.copy(order="C")


class _Torch(Library):
    def read(self, array: Any) -> Found:
        torch = sys.modules["torch"]
        if array.requires_grad:
            raise BadValue(
                "A tensor that requires a gradient",
                "a filter here computes none, and it would be lost",
                "Pass tensor.detach().",
            )
        if array.layout is not torch.strided:
            raise BadValue(
                f"A tensor of layout {array.layout}",
                "only dense ones are filtered",
                "Pass tensor.to_dense().",
            )
        dtype = _torch_types().get(array.dtype)
        if dtype is None:
            raise BadValue(
                f"a tensor of {array.dtype}",
                "NumPy has no such type",
                "Convert it, such as with tensor.float().",
            )
        strides = None
        if not array.is_contiguous():
            strides = [step * dtype.itemsize for step in array.stride()]
        return Found(array.data_ptr(), tuple(array.shape), dtype, strides, array.get_device())

    def stream(self, array: Any, device: int) -> int:
        return int(sys.modules["torch"].cuda.current_stream(device).cuda_stream)

    def empty(self, shape: tuple[int, ...], dtype: np.dtype, device: int) -> Any:
        torch = sys.modules["torch"]
        return torch.empty(shape, dtype=getattr(torch, dtype.name), device=torch.device("cuda", device))

    def on_host(self, array: Any) -> np.ndarray:
        values: np.ndarray = array.detach().cpu().numpy()
        return values

    def tight(self, array: Any) -> Any:
        torch = sys.modules["torch"]
        return array.clone(memory_format=torch.contiguous_format)


@cache
def _torch_types() -> dict[Any, np.dtype]:
    torch = sys.modules["torch"]
    names = ("uint8", "uint16", "float32", "float64", "float16", "bool", "int8", "int16", "int32", "int64")
    return {getattr(torch, name): np.dtype(name) for name in names if hasattr(torch, name)}


_CUPY, _TORCH = _CuPy(), _Torch()


def library_of(array: Any) -> Library | None:
    """Return the library of an array in a GPU's memory; None for everything else."""
    kind = type(array)
    package = kind.__module__.partition(".")[0]
    if package == "numpy":
        return None
    if package == "cupy":
        return _CUPY if hasattr(array, "data") and hasattr(array.data, "ptr") else None
    if package == "torch":
        return _TORCH if getattr(array, "is_cuda", False) else None
    is_there = hasattr(kind, "__cuda_array_interface__") or (
        hasattr(kind, "__dlpack_device__") and int(array.__dlpack_device__()[0]) in _DLPACK_GPUS
    )
    if not is_there:
        return None
    # It needs the driver, which the CPU does without.
    from engine.device.protocol_arrays import BY_PROTOCOL

    return BY_PROTOCOL


# Memory of a GPU, and memory that is managed for both (kDLCUDA and kDLCUDAManaged of DLPack).
_DLPACK_GPUS = (2, 13)


def as_view(found: Found, channels_axis: bool) -> DeviceView | None:
    """Return an array as kernels take it: (H, W or more, C); None where it has to be copied first.

    Rows may be further apart than they are long, by whole pixels. `channels_axis` says whether the array has
    a third axis.
    """
    height, width, channels = found.shape if channels_axis else (*found.shape, 1)
    if found.address % ALIGNMENT_BYTES:
        return None
    if found.strides is None:
        return DeviceView(found.address, (height, width, channels), found.dtype)
    itemsize = found.dtype.itemsize
    row, *within = found.strides
    is_dense = within == ([channels * itemsize, itemsize] if channels_axis else [itemsize])
    pixel = channels * itemsize
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
