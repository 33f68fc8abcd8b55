"""The CPU as a device: its buffers are the host's own memory, its clock is the host's."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import DTypeLike

from engine.device.anti_aliasing import empty_result
from engine.device.backend import Backend, Buffers
from engine.device.device_list import cpu_info
from engine.device.launches import Prepared
from engine.geometry.layout import Layout


class CpuBackend(Backend):
    """Runs CPU variants; the picture is used where it is."""

    copies = False

    def __init__(self) -> None:
        self.info = cpu_info()

    def activate(self) -> None:
        """Do nothing: there is one CPU."""

    def allocate(
        self,
        image: np.ndarray,
        host_out: np.ndarray | None = None,
        layout: Layout = Layout.PACKED,
        result_dtype: DTypeLike = np.float32,
    ) -> Buffers:
        """Return the picture itself and an array for the result; rows are packed for every layout."""
        out = empty_result(image, image.shape, result_dtype) if host_out is None else host_out
        return Buffers(image, out, out)

    def upload(self, image: np.ndarray | Sequence[np.ndarray], buffers: Buffers) -> None:
        """Do nothing: the picture is in the host's memory."""

    def allocate_arrays(
        self, inputs: Sequence[np.ndarray], out_shape: tuple[int, ...], *, pinned: bool = False
    ) -> Buffers:
        """Return the operands themselves and an array for the result."""
        out = np.empty(out_shape, np.float32)
        return Buffers(tuple(inputs), out, out)

    def download(self, buffers: Buffers) -> np.ndarray:
        """Return the result's own array."""
        return buffers.host_out

    def caller(
        self, prepared: Prepared, like: np.ndarray, result_dtype: DTypeLike, layout: Layout
    ) -> Callable[[np.ndarray, np.ndarray], None]:
        """Return the variant itself, which reads and writes the host's memory."""
        return prepared.launch
