"""The simulator: CUDA variants run by the interpreter of PTX, as a device of this process.

NVVM compiles each kernel as for a GPU, the interpreter runs it, checks every access and finds races. A fault
of a kernel fails the run with its words. Its times mean nothing.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager

import numpy as np
from numpy.typing import DTypeLike

from engine.device.backend import Backend, Buffers
from engine.device.device_list import simulator_info
from engine.device.per_thread import interprets
from engine.geometry.layout import Layout


class InterpreterBackend(Backend):
    """Runs CUDA variants in the interpreter; buffers are the host's own, with rows as on a device."""

    def __init__(self) -> None:
        self.info = simulator_info()

    def activate(self) -> None:
        """Let the calling thread prepare variants for the interpreter."""
        interprets.choose(True)

    def selected(self) -> AbstractContextManager[None]:
        """Do that for the while."""
        return interprets.within(True)

    def allocate(
        self,
        image: np.ndarray,
        host_out: np.ndarray | None = None,
        layout: Layout = Layout.PITCHED,
        result_dtype: DTypeLike = np.float32,
    ) -> Buffers:
        """Return arrays for a picture of this shape and type and for its result, rows as on a device."""
        host_out = np.empty(image.shape, result_dtype) if host_out is None else host_out

        def rows_of(like: np.ndarray) -> np.ndarray:
            rows, width, channels = like.shape
            # 16 bytes at once may be read past a row's end: never used, but defined.
            return np.zeros((rows, layout.row_pixels(width, channels, like.itemsize), channels), like.dtype)

        return Buffers(rows_of(image), rows_of(host_out), host_out)

    def upload(self, image: np.ndarray | Sequence[np.ndarray], buffers: Buffers) -> None:
        """Copy the picture, or each of several operands."""
        if isinstance(image, np.ndarray):
            buffers.image[:, : image.shape[1]] = image
            return
        for host, own in zip(image, buffers.image, strict=True):
            np.copyto(own, host)

    def allocate_arrays(
        self, inputs: Sequence[np.ndarray], out_shape: tuple[int, ...], *, pinned: bool = False
    ) -> Buffers:
        """Return arrays for the operands and the result."""
        arrays = tuple(np.empty(array.shape, np.float32) for array in inputs)
        return Buffers(arrays, np.empty(out_shape, np.float32), np.empty(out_shape, np.float32))

    def download(self, buffers: Buffers) -> np.ndarray:
        """Return the result."""
        wanted = buffers.host_out
        wanted[...] = buffers.out[:, : wanted.shape[1]] if wanted.ndim == 3 else buffers.out
        return wanted
