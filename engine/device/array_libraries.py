"""The libraries whose arrays in a GPU's memory are filtered: CuPy, torch, and others by their protocols."""

import sys
from functools import cache
from typing import Any

import numpy as np

from engine.device.device_arrays import Found, Library
from engine.errors import BadValue

# Memory of a GPU, and memory that is managed for both (kDLCUDA and kDLCUDAManaged of DLPack).
_DLPACK_GPUS = (2, 13)


class _CuPy(Library):
    def read(self, array: Any) -> Found:
        strides = None if array.flags.c_contiguous else array.strides
        return Found(array.data.ptr, array.shape, array.dtype, strides, array.data.device_id)

    def address(self, array: Any) -> int:
        return int(array.data.ptr)

    def stream(self, array: Any, device: int) -> int:
        return int(sys.modules["cupy"].cuda.get_current_stream(device).ptr)

    def empty(self, shape: tuple[int, ...], dtype: np.dtype, like: Any) -> Any:
        cupy = sys.modules["cupy"]
        if cupy.cuda.runtime.getDevice() == like.data.device_id:
            return cupy.empty(shape, dtype)
        with like.device:
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

    def address(self, array: Any) -> int:
        return int(array.data_ptr())

    def stream(self, array: Any, device: int) -> int:
        return int(sys.modules["torch"].cuda.current_stream(device).cuda_stream)

    def empty(self, shape: tuple[int, ...], dtype: np.dtype, like: Any) -> Any:
        return like.new_empty(shape, dtype=_torch_types()[1][dtype])

    def on_host(self, array: Any) -> np.ndarray:
        values: np.ndarray = array.detach().cpu().numpy()
        return values

    def tight(self, array: Any) -> Any:
        torch = sys.modules["torch"]
        return array.clone(memory_format=torch.contiguous_format)


@cache
def _torch_types() -> tuple[dict[Any, np.dtype], dict[np.dtype, Any]]:
    """Return NumPy's types by torch's, and torch's by NumPy's."""
    torch = sys.modules["torch"]
    names = ("uint8", "uint16", "float32", "float64", "float16", "bool", "int8", "int16", "int32", "int64")
    pairs = [(getattr(torch, name), np.dtype(name)) for name in names if hasattr(torch, name)]
    return dict(pairs), {ours: theirs for theirs, ours in pairs}


_CUPY, _TORCH = _CuPy(), _Torch()


def library_of(array: Any) -> Library | None:
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
    package = kind.__module__.partition(".")[0]
    if package == "cupy" and hasattr(kind, "data"):
        return "cupy"
    if package == "torch" and hasattr(kind, "is_cuda"):
        return "torch"
    if issubclass(kind, np.ndarray):
        return ""
    protocols = ("__cuda_array_interface__", "__dlpack_device__")
    return "by protocol" if any(hasattr(kind, name) for name in protocols) else ""


def _is_on_gpu(array: Any) -> bool:
    if hasattr(array, "__cuda_array_interface__"):
        return True
    return hasattr(array, "__dlpack_device__") and int(array.__dlpack_device__()[0]) in _DLPACK_GPUS
