"""The CPU as a device: its buffers are the host's own memory, its clock is the host's."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import DTypeLike

from engine.device.anti_aliasing import empty_result
from engine.device.backend import NAN_BYTE, Buffers
from engine.device.device_list import cpu_info
from engine.device.launches import Prepared
from engine.geometry.layout import Layout

if TYPE_CHECKING:
    from engine.device.host_clock import HostClock
    from engine.results.measurement import Environment


class CpuBackend:
    """Runs CPU variants; the picture is used where it is."""

    copies = False

    def __init__(self) -> None:
        self.info = cpu_info()

    def activate(self) -> None:
        """Do nothing: there is one CPU."""

    def selected(self) -> AbstractContextManager[None]:
        """Do nothing."""
        return nullcontext()

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

    def poison(self, buffers: Buffers, byte: int = NAN_BYTE) -> None:
        """Fill the result with one byte, by default NaN."""
        out = buffers.out
        out.fill(np.full(out.itemsize, byte, np.uint8).view(out.dtype)[0])

    def run(self, prepared: Prepared, buffers: Buffers) -> None:
        """Filter once."""
        prepared.launch(buffers.image, buffers.out)

    def download(self, buffers: Buffers) -> np.ndarray:
        """Return the result's own array."""
        return buffers.host_out

    def caller(
        self, prepared: Prepared, like: np.ndarray, result_dtype: DTypeLike, layout: Layout
    ) -> Callable[[np.ndarray, np.ndarray], None]:
        """Return the variant itself, which reads and writes the host's memory."""
        return prepared.launch

    def clock(self, prepared: Prepared, buffers: Buffers) -> "HostClock":
        """Return a host clock that resolves one launch."""
        # Only what is measured needs it, as below.
        from engine.device.host_clock import HostClock

        clock = HostClock(prepared, buffers)
        clock.calibrate()
        return clock

    def environment(self) -> "Environment":
        """Return model, cores and versions."""
        from engine.device.versions import commit, versions, where
        from engine.results.measurement import Environment

        facts = self.info.facts
        return Environment(
            f"{facts['model']}, {facts['cores']} cores{where()}", versions=versions(), commit=commit()
        )
