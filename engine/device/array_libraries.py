"""The libraries whose arrays in a GPU's memory are filtered: CuPy, torch, and others by their protocols."""

import sys
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any, cast

import numpy as np

from engine.device.device_arrays import Found, Given, Library
from engine.device.launches import DeviceArray, Handle
from engine.errors import BadValue

# Memory of a GPU, and memory that is managed for both (kDLCUDA and kDLCUDAManaged of DLPack).
_DLPACK_GPUS = (2, 13)
# Those that torch has as well, the unsigned ones from 2.3 on.
_TYPES = (
    "bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64",
    "float16", "float32", "float64", "complex64", "complex128",
)  # fmt: skip


def cupy_stream(handle: int) -> Any:
    """Return a stream as CuPy's; where `from_external` exists, `ExternalStream` is deprecated."""
    streams = sys.modules["cupy"].cuda
    from_external = getattr(streams.Stream, "from_external", None)
    return streams.ExternalStream(handle) if from_external is None else from_external(Handle(handle))


class _CuPy(Library):
    def read(self, array: DeviceArray, stream: int) -> Found:
        strides = None if array.flags.c_contiguous else array.strides
        return Found(array.data.ptr, array.shape, array.dtype, strides, array.data.device_id)

    def address(self, array: DeviceArray) -> int:
        return int(array.data.ptr)

    def stream(self, array: DeviceArray) -> int:
        return int(sys.modules["cupy"].cuda.get_current_stream(array.data.device_id).ptr)

    def empty(self, shape: tuple[int, ...], dtype: np.dtype, picture: Given) -> object:
        cupy = sys.modules["cupy"]
        # Both switches take 2 us each.
        if picture.stream == picture.current and cupy.cuda.runtime.getDevice() == picture.found.device:
            return cupy.empty(shape, dtype)
        with picture.array.device, cupy_stream(picture.stream):
            return cupy.empty(shape, dtype)

    def tight(self, picture: Given) -> object:
        with picture.array.device, cupy_stream(picture.stream):
            return picture.array.copy(order="C")


class _Torch(Library):
    def read(self, array: DeviceArray, stream: int) -> Found:
        torch = sys.modules["torch"]
        if array.requires_grad:
            raise BadValue(
                "A tensor that requires a gradient",
                "a filter here computes none, and it would be lost",
                "Pass tensor.detach().",
            )
        if array.is_neg():
            raise BadValue(
                "A tensor whose samples are negated when they are read",
                "only torch knows of that",
                "Pass tensor.resolve_neg().",
            )
        if array.layout is not torch.strided:
            raise BadValue(
                f"A tensor of layout {array.layout}",
                "only dense ones are filtered",
                "Pass tensor.to_dense().",
            )
        dtype = _torch_types()[0].get(array.dtype)
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

    def address(self, array: DeviceArray) -> int:
        return int(array.data_ptr())

    def stream(self, array: DeviceArray) -> int:
        return int(sys.modules["torch"].cuda.current_stream(array.get_device()).cuda_stream)

    def empty(self, shape: tuple[int, ...], dtype: np.dtype, picture: Given) -> object:
        # Its memory belongs to a stream: a later tensor there waits for the work on this one.
        with _torch_stream(picture):
            return picture.array.new_empty(shape, dtype=_torch_types()[1][dtype])

    def tight(self, picture: Given) -> object:
        with _torch_stream(picture):
            return picture.array.clone(memory_format=sys.modules["torch"].contiguous_format)


def _torch_stream(picture: Given) -> AbstractContextManager[object]:
    if picture.stream == picture.current:
        return nullcontext()
    used = sys.modules["torch"].cuda
    return cast(
        AbstractContextManager[Any], used.stream(used.ExternalStream(picture.stream, picture.array.device))
    )


@cache
def _torch_types() -> tuple[dict[object, np.dtype], dict[np.dtype, object]]:
    """Return NumPy's types by torch's, and torch's by NumPy's."""
    torch = sys.modules["torch"]
    pairs = [(getattr(torch, name), np.dtype(name)) for name in _TYPES if hasattr(torch, name)]
    return dict(pairs), {ours: theirs for theirs, ours in pairs}


_CUPY, _TORCH = _CuPy(), _Torch()


def library_of(array: DeviceArray) -> Library | None:
    """Return the library of an array in a GPU's memory; None for everything else."""
    known = _known_as(array.__class__)
    if known == "cupy":
        return _CUPY
    if known == "torch":
        return _TORCH if array.is_cuda else None
    if not known or not _is_on_gpu(array):
        return None
    # It needs the driver, which the CPU does without.
    from engine.device.protocol_arrays import BY_PROTOCOL

    return BY_PROTOCOL


# Asking a type takes 1 us.
@cache
def _known_as(kind: type) -> str:
    """Return whose arrays a type's are that may be in a GPU's memory; empty where they never are."""
    # Also of classes that others derive from theirs.
    packages = {base.__module__.partition(".")[0] for base in kind.__mro__}
    if "cupy" in packages and hasattr(kind, "data"):
        return "cupy"
    if "torch" in packages and hasattr(kind, "is_cuda"):
        return "torch"
    if issubclass(kind, np.ndarray):
        return ""
    protocols = ("__cuda_array_interface__", "__dlpack_device__")
    return "by protocol" if any(hasattr(kind, name) for name in protocols) else ""


def _is_on_gpu(array: object) -> bool:
    if hasattr(array, "__dlpack_device__"):
        try:
            return int(array.__dlpack_device__()[0]) in _DLPACK_GPUS
        except BufferError:
            # On several devices at once, as JAX's may be.
            return False
    # Of the object, not of its class: JAX's arrays on the CPU have the name and no value.
    return hasattr(array, "__cuda_array_interface__")
