"""What the libraries of arrays in a GPU's memory can do: read, make and copy theirs. It needs the driver.

Sources: "CUDA Array Interface (Version 3)" in Numba's documentation; "Python Specification for DLPack".
"""

import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import cast

import numpy as np
from cuda.core.utils import StridedMemoryView

from engine.device.backend import cuda_errors_in_words
from engine.device.cuda_memory import check, context_of
from engine.device.device_arrays import BY_PROTOCOL, CUPY, TORCH, Found, Given, Library, cupy_stream
from engine.device.device_list import DriverError, gpu_of_memory
from engine.device.launches import DeviceArray, DeviceView
from engine.device.numba_cuda import cuda, driver
from engine.errors import BadValue

ALIGNMENT_BYTES = 16
"""Kernels read and write so many bytes at once, so that an array begins at a multiple of these."""
# CUDA's default stream has the handle 0 and, where 0 would mean "none", this one.
_DEFAULT_STREAM = 1
# Of `StridedMemoryView`: no stream waits.
_UNORDERED = -1
# Those that torch has as well, the unsigned ones from 2.3 on.
_TYPES = (
    "bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64",
    "float16", "float32", "float64", "complex64", "complex128",
)  # fmt: skip


def strides_unless_dense(shape: Sequence[int], strides: Sequence[int], itemsize: int) -> Sequence[int] | None:
    """Return strides in bytes; None where samples lie one after another. Those of one sample mean nothing."""
    dense = itemsize
    for length, step in zip(reversed(shape), reversed(strides), strict=True):
        if length != 1 and step != dense:
            return strides
        dense *= length
    return None


def as_view(array: Found, shape: tuple[int, int, int]) -> DeviceView | None:
    """Return an array of that shape (H, W, C) as kernels take it; None where it has to be copied first."""
    if array.address % ALIGNMENT_BYTES:
        return None
    if array.strides is None:
        return DeviceView(array.address, shape, array.dtype)
    height, width, channels = shape
    pixel = channels * array.dtype.itemsize
    row, *within = array.strides
    is_dense = within == [pixel, array.dtype.itemsize][: len(within)]
    # Rows may lie apart by whole pixels, and whole vectors: one of these may be read past a row's end.
    if not is_dense or row < width * pixel or row % pixel or row % ALIGNMENT_BYTES:
        return None
    return DeviceView(array.address, (height, row // pixel, channels), array.dtype)


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
    remedy = "Pass a stream of CuPy, torch or Numba, or its handle as an int."
    raise BadValue(f"a stream of type {type(stream).__name__}", "it has no handle", remedy)


class _ByProtocol(Library):
    """Arrays that are known by protocols; results are Numba's."""

    def read(self, array: DeviceArray, stream: int) -> Found:
        try:
            if hasattr(array, "__dlpack__"):
                # The other library has this stream wait for the array.
                view = StridedMemoryView.from_dlpack(array, stream_ptr=stream or _DEFAULT_STREAM)
                device = view.device_id
            else:
                # Of this protocol the array's own stream is known, and `given` looks at it.
                view = StridedMemoryView.from_cuda_array_interface(array, stream_ptr=_UNORDERED)
                # Its `device_id` was 0 for memory of GPU 1 (cuda.core 1.2, two H200).
                device = gpu_of_memory(view.ptr) if view.ptr else 0
            dtype = np.dtype(view.dtype)
        except (
            AttributeError,
            BufferError,
            DriverError,
            NotImplementedError,
            TypeError,
            ValueError,
        ) as error:
            what, why = (
                f"This {type(array).__name__} in a GPU's memory",
                f"its library does not lend it: {error}",
            )
            raise BadValue(what, why, "Pass an array of CuPy, torch or Numba.") from error
        shape, strides = tuple(view.shape), None
        if view.strides is not None:
            steps = [step * dtype.itemsize for step in view.strides]
            strides = strides_unless_dense(shape, steps, dtype.itemsize)
        return Found(view.ptr, shape, dtype, strides, device, bool(view.readonly))

    def address(self, array: DeviceArray) -> int:
        return int(array.device_ctypes_pointer.value)

    def stream(self, array: DeviceArray) -> int:
        shown = getattr(array, "__cuda_array_interface__", None) or {}
        return int(shown.get("stream") or 0)

    def empty(self, shape: tuple[int, ...], dtype: np.dtype, picture: Given) -> object:
        with context_of(picture.found.device).selected():
            # Who reads the array next sees the stream that it is written on.
            stream = cuda.external_stream(picture.stream) if picture.stream else 0
            return cuda.device_array(shape, dtype, stream=stream)

    def tight(self, picture: Given) -> object:
        why = "its samples do not lie one after another from a multiple of 16 bytes on"
        raise BadValue("This array on the GPU", why, "Pass a contiguous copy of it.")


class _CuPy(Library):
    has_own_streams = False

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
    has_own_streams = False

    def read(self, array: DeviceArray, stream: int) -> Found:
        torch = sys.modules["torch"]
        if array.requires_grad:
            what, why = (
                "A tensor that requires a gradient",
                "a filter here computes none, and it would be lost",
            )
            raise BadValue(what, why, "Pass tensor.detach().")
        if array.is_neg():
            what = "A tensor whose samples are negated when they are read"
            raise BadValue(what, "only torch knows of that", "Pass tensor.resolve_neg().")
        if array.layout is not torch.strided:
            what = f"A tensor of layout {array.layout}"
            raise BadValue(what, "only dense ones are filtered", "Pass tensor.to_dense().")
        dtype = _torch_types()[0].get(array.dtype)
        if dtype is None:
            remedy = "Convert it, such as with tensor.float()."
            raise BadValue(f"a tensor of {array.dtype}", "NumPy has no such type", remedy)
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
    stream = used.ExternalStream(picture.stream, picture.array.device)
    return cast("AbstractContextManager[object]", used.stream(stream))


@cache
def _torch_types() -> tuple[dict[object, np.dtype], dict[np.dtype, object]]:
    torch = sys.modules["torch"]
    pairs = [(getattr(torch, name), np.dtype(name)) for name in _TYPES if hasattr(torch, name)]
    return dict(pairs), {ours: theirs for theirs, ours in pairs}


_LIBRARIES = {CUPY: _CuPy(), TORCH: _Torch(), BY_PROTOCOL: _ByProtocol()}


def library_called(name: str) -> Library:
    """Return a library by its name, as `library_of` says it."""
    return _LIBRARIES[name]


def given(name: str, array: object, stream: object = None) -> Given:
    """Return what an array of a library in a GPU's memory is; a BadValue says why it cannot be used."""
    library = _LIBRARIES[name]
    current = library.stream(array)
    used = current if stream is None else stream_handle(stream)
    return Given(library, array, library.read(array, used), current, used)


def on_host(picture: Given) -> np.ndarray:
    """Return a copy of an array on the host, after all work on its stream."""
    address, shape, dtype, strides, device, _ = picture.found
    steps = DeviceView(address, shape, dtype).strides if strides is None else strides
    if 0 in shape:
        return np.empty(shape, dtype)
    spans = [(length - 1) * step for length, step in zip(shape, steps, strict=True)]
    # Of a view also what lies between its samples.
    before = -sum(span for span in spans if span < 0)
    memory = np.empty(sum(map(abs, spans)) + dtype.itemsize, np.uint8)
    with cuda_errors_in_words("copying to the host"), context_of(device).selected():
        check(driver.cuMemcpyDtoHAsync(memory.ctypes.data, address - before, memory.nbytes, picture.stream))
        check(driver.cuStreamSynchronize(picture.stream))
    return np.ndarray(shape, dtype, memory, before, steps)


def on_device(values: np.ndarray, like: Given) -> object:
    """Return a copy of an array of the host, of the kind and on the device of another array."""
    values = np.ascontiguousarray(values)
    out = like.library.empty(values.shape, values.dtype, like)
    address, stream = like.library.address(out), like.stream
    with cuda_errors_in_words("copying to the device"), context_of(like.found.device).selected():
        check(driver.cuMemcpyHtoDAsync(address, values.ctypes.data, values.nbytes, stream))
        check(driver.cuStreamSynchronize(stream))
    return out
