"""The CPU as a device: its buffers are the host's own memory, its clock is the host's."""

import platform
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import DTypeLike

from engine.device.anti_aliasing import empty_result
from engine.device.backend import NAN_BYTE, Buffers
from engine.device.core_count import cores
from engine.device.launches import Prepared
from engine.device.versions import commit, versions
from engine.device_info import DeviceInfo, Environment
from engine.geometry.layout import Layout

# Below this the host's clock (about 0.1 us a reading) would show in the result: several launches make one
# sample.
SHORTEST_SAMPLE_S = 200e-6


def _model() -> str:
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def cpu_info() -> DeviceInfo:
    """Return the facts of the CPU."""
    count = cores()
    title = f"CPU, {count} core{'s' if count != 1 else ''}"
    return DeviceInfo("cpu", "cpu", title, facts={"model": _model(), "cores": str(count)})


@dataclass
class HostClock:
    """Times launches with the host's monotonic clock; times of the simulator are never shown as speed."""

    prepared: Prepared
    buffers: Buffers
    launches: int = 1
    name: str = "host clock"

    def calibrate(self) -> None:
        """Choose how many launches make one sample."""
        once_s = self.sample_ms() / 1e3
        self.launches = max(1, round(SHORTEST_SAMPLE_S / max(once_s, 1e-7)))

    def sample_ms(self) -> float:
        """Return the time of one launch, ms."""
        begin = time.perf_counter()
        for _ in range(self.launches):
            self.prepared.launch(self.buffers.image, self.buffers.out)
        return (time.perf_counter() - begin) * 1e3 / self.launches

    def close(self) -> None:
        """Do nothing: the clock holds nothing."""


class CpuBackend:
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

    def clock(self, prepared: Prepared, buffers: Buffers) -> HostClock:
        """Return a host clock that resolves one launch."""
        clock = HostClock(prepared, buffers)
        clock.calibrate()
        return clock

    def environment(self) -> Environment:
        """Return model, cores and versions."""
        facts = self.info.facts
        return Environment(f"{facts['model']}, {facts['cores']} cores", versions=versions(), commit=commit())
