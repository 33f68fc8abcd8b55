"""Arrays in a GPU's memory of libraries that are known by their protocols alone; results are Numba's."""

import numpy as np
from cuda.core.utils import StridedMemoryView

from engine.device.cuda_streams import context_of
from engine.device.device_arrays import Found, Given, Library, strides_unless_dense
from engine.device.device_list import DriverError, gpu_of_memory
from engine.device.launches import DeviceArray
from engine.device.numba_cuda import cuda
from engine.errors import BadValue

# CUDA's default stream has the handle 0 and, where 0 would mean "none", this one.
_DEFAULT_STREAM = 1
# Of `StridedMemoryView`: no stream waits.
_UNORDERED = -1


class _ByProtocol(Library):
    has_own_streams = True

    def read(self, array: object, stream: int) -> Found:
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
            raise BadValue(
                f"This {type(array).__name__} in a GPU's memory",
                f"its library does not lend it: {error}",
                "Pass an array of CuPy, torch or Numba.",
            ) from error
        shape, strides = tuple(view.shape), None
        if view.strides is not None:
            steps = [step * dtype.itemsize for step in view.strides]
            strides = strides_unless_dense(shape, steps, dtype.itemsize)
        return Found(view.ptr, shape, dtype, strides, device, bool(view.readonly))

    def address(self, array: DeviceArray) -> int:
        return int(array.device_ctypes_pointer.value)

    def stream(self, array: object) -> int:
        shown = getattr(array, "__cuda_array_interface__", None) or {}
        return int(shown.get("stream") or 0)

    def empty(self, shape: tuple[int, ...], dtype: np.dtype, picture: Given) -> object:
        with context_of(picture.found.device).selected():
            # Who reads the array next sees the stream that it is written on.
            stream = cuda.external_stream(picture.stream) if picture.stream else 0
            return cuda.device_array(shape, dtype, stream=stream)


BY_PROTOCOL = _ByProtocol()
