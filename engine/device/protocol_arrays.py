"""Arrays in a GPU's memory of libraries that are known by their protocols alone; results are Numba's."""

from typing import Any

import numpy as np
from cuda.core.utils import StridedMemoryView

from engine.device.device_arrays import Found, Library
from engine.device.numba_cuda import cuda


class _ByProtocol(Library):
    def read(self, array: Any) -> Found:
        # -1: no stream waits; the order is that of the stream that `stream` returns.
        view = StridedMemoryView.from_any_interface(array, stream_ptr=-1)
        dtype = np.dtype(view.dtype)
        strides = None if view.strides is None else [step * dtype.itemsize for step in view.strides]
        return Found(view.ptr, tuple(view.shape), dtype, strides, view.device_id, bool(view.readonly))

    def address(self, array: Any) -> int:
        return int(array.device_ctypes_pointer.value)

    def stream(self, array: Any, device: int) -> int:
        shown = getattr(array, "__cuda_array_interface__", {})
        return int(shown.get("stream") or 0)

    def empty(self, shape: tuple[int, ...], dtype: np.dtype, like: Any) -> Any:
        with cuda.gpus[self.read(like).device]:
            return cuda.device_array(shape, dtype)

    def on_host(self, array: Any) -> np.ndarray:
        values: np.ndarray = cuda.as_cuda_array(array).copy_to_host()
        return values


BY_PROTOCOL = _ByProtocol()
