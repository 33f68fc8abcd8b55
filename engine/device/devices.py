"""Which devices there are, why one cannot be used, and what one does for a run, CPU and CUDA alike.

That is buffers, copies, launches, and a clock for launches.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import DTypeLike

from engine.device.device_list import cpu_info, driver_unusable, listed_devices, unusable_gpu
from engine.device.host_memory import empty_result
from engine.device.launches import DeviceArray, Prepared
from engine.device_info import ALL_GPUS, SIMULATOR, DeviceInfo
from engine.errors import DeviceUnavailable
from engine.geometry.block import Layout
from engine.process import OncePerProcess

if TYPE_CHECKING:
    from engine.results.measurement import Environment

NAN_BYTE = 0xFF
"""A float32 of four such bytes is NaN."""
# Below this the host's clock (about 0.1 us a reading), or the events of a device (0.5 us), would show in the
# result: several launches make one sample.
SHORTEST_SAMPLE_S = 200e-6


@dataclass(frozen=True, slots=True, eq=False)
class Buffers:
    """The picture and the result on a device: arrays of shape (H, W or more, C).

    On CUDA their rows may be padded. Where there are several operands `image` is a tuple of dense arrays.
    `host_out` is where the result is copied to; on the CPU `out` itself. It is kept: first touching 64 MB of
    fresh memory takes four times as long as copying to it (H200 machine: 15 against 4 ms).
    """

    image: DeviceArray
    out: DeviceArray
    host_out: np.ndarray


class LaunchClock:
    """Times launches of one prepared variant on fixed buffers with the host's monotonic clock."""

    name = "host clock"

    def __init__(self, prepared: Prepared, buffers: Buffers) -> None:
        self._prepared, self._buffers, self.launches = prepared, buffers, 1
        once_s = self.sample_ms() / 1e3
        self.launches = max(1, round(SHORTEST_SAMPLE_S / max(once_s, 1e-7)))

    def sample_ms(self) -> float:
        """Return the time of one launch, ms: the mean of as many as the clock needs to resolve it."""
        begin = time.perf_counter()
        for _ in range(self.launches):
            self._prepared.launch(self._buffers.image, self._buffers.out)
        return (time.perf_counter() - begin) * 1e3 / self.launches


class Backend:
    """A device that variants can run on; what it does not say itself is as where memory is the host's."""

    info: DeviceInfo
    copies: bool = True
    """Whether pictures have to be copied to the device and back."""

    def activate(self) -> None:
        """Make this device the one that the calling thread compiles for and uploads to."""

    def selected(self) -> AbstractContextManager[None]:
        """Make it that for the while; afterwards the thread has the device that it had."""
        return nullcontext()

    def allocate(
        self,
        image: np.ndarray,
        host_out: np.ndarray | None = None,
        layout: Layout = Layout.PITCHED,
        result_dtype: DTypeLike = np.float32,
    ) -> Buffers:
        """Return buffers for a picture (H, W, C) of this shape and type; the contents are undefined.

        `host_out` is the host's memory for the result, of its type and shape (a histogram has a row per
        channel); without one it is allocated, of `result_dtype`. `layout` is that of the rows on a CUDA
        device; the host's own are always packed. Raises OutOfDeviceMemory.
        """
        if host_out is None:
            # Where the result is computed by the host it matters where it begins.
            made = (image.shape, result_dtype)
            host_out = np.empty(*made) if self.copies else empty_result(image, *made)
        return self._allocated(image, host_out, layout)

    def _allocated(self, image: np.ndarray, host_out: np.ndarray, layout: Layout) -> Buffers:
        """Return the same, where there is memory of the host for the result, whose rows are packed."""
        return Buffers(image, host_out, host_out)

    def upload(self, image: np.ndarray | Sequence[np.ndarray], buffers: Buffers) -> None:
        """Copy the picture, or each of several operands, to the device, if it has to be, and wait for it."""

    def allocate_arrays(
        self, inputs: Sequence[np.ndarray], out_shape: tuple[int, ...], *, pinned: bool = False
    ) -> Buffers:
        """Return buffers for dense float32 operands and a result; raises OutOfDeviceMemory.

        `pinned` operands stay in page-locked memory of the host, from where a device copies them by itself.
        """
        out = np.empty(out_shape, np.float32)
        return Buffers(tuple(inputs), out, out)

    def fill_result(self, buffers: Buffers, byte: int = NAN_BYTE) -> None:
        """Fill the result with one byte, by default NaN, so that unwritten samples are found."""
        out = buffers.out
        out.fill(np.full(out.itemsize, byte, np.uint8).view(out.dtype)[0])

    def run(self, prepared: Prepared, buffers: Buffers) -> None:
        """Launch once and wait for the end."""
        prepared.launch(buffers.image, buffers.out)

    def download(self, buffers: Buffers) -> np.ndarray:
        """Return `host_out` with the result in it."""
        return buffers.host_out

    def caller(
        self, prepared: Prepared, like: np.ndarray, result_dtype: DTypeLike, layout: Layout
    ) -> Callable[[np.ndarray, np.ndarray], None]:
        """Return what filters pictures of the host, of the shape and type of `like`, into arrays of the host.

        Any number of threads may call it at once. Both arrays have the shape (H, W, C) and are C-contiguous.
        """

        def call(samples: np.ndarray, out: np.ndarray) -> None:
            buffers = self.allocate(samples, out, layout)
            self.upload(samples, buffers)
            self.run(prepared, buffers)
            self.download(buffers)

        return call if self.copies else prepared.launch

    def clock(self, prepared: Prepared, buffers: Buffers) -> LaunchClock:
        """Return a clock for launches, calibrated."""
        return LaunchClock(prepared, buffers)

    def environment(self) -> "Environment":
        """Return device, driver, clocks and versions for the record."""
        # Only what is measured needs them.
        from engine.device.versions import commit, versions, where
        from engine.results.measurement import Environment

        facts = self.info.facts
        name = f"{facts['model']}, {facts['cores']} cores" if "model" in facts else self.info.title
        clocks = f"{facts['clock']} maximum, memory {facts['memory clock']}" if "clock" in facts else ""
        driver, bandwidth = facts.get("driver API", ""), self.info.bandwidth_gb_s
        return Environment(f"{name}{where()}", driver, clocks, versions(), commit(), bandwidth)


class CpuBackend(Backend):
    """Runs CPU variants; the picture is used where it is."""

    copies = False

    def __init__(self) -> None:
        self.info = cpu_info()


@OncePerProcess
def devices() -> tuple[DeviceInfo, ...]:
    """Return every listed device; each GPU was asked for a context, and says where it gives none."""
    return tuple(_used(device) if device.is_usable_gpu else device for device in listed_devices())


def _used(gpu: DeviceInfo) -> DeviceInfo:
    from engine.device.cuda import start_gpu

    try:
        start_gpu(gpu)
    except Exception as error:  # noqa: BLE001 - the CPU must work with any broken driver
        return unusable_gpu(driver_unusable(" ".join(str(error).split()).strip(" :.")), gpu.key)
    return gpu


def device_named(key: str) -> DeviceInfo:
    """Return the device of that key ("auto": a CUDA device if one works, else the CPU; "cuda": the first).

    Raises DeviceUnavailable where there is no such device, or it cannot be used.
    """
    if key == "cpu":
        # Without a look at the GPUs, which starts the driver.
        return cpu_info()
    known = devices()
    if key == "auto":
        return next((d for d in known if d.key.startswith("cuda:") and d.available), known[0])
    if key == ALL_GPUS and any(device.is_usable_gpu for device in known):
        remedy = f"Choose one of {', '.join(device.key for device in known if device.available)}."
        why = "only `filter` and `batch`, and engine.filter_stream, use several GPUs at once"
        raise DeviceUnavailable(f"device '{key}'", why, remedy)
    wanted = "cuda:0" if key in ("cuda", ALL_GPUS) else key
    for device in known:
        if device.key == wanted:
            if not device.available:
                remedy = "Use the CPU (device cpu or auto), or install the driver of an NVIDIA GPU."
                raise DeviceUnavailable(f"device '{key}'", str(device.reason), remedy)
            return device
    remedy = f"Choose one of {', '.join(['auto', *(device.key for device in known if device.available)])}."
    raise DeviceUnavailable(f"device '{key}'", "there is no such device here", remedy)


def all_gpus() -> tuple[DeviceInfo, ...]:
    """Return every GPU that can be used (`cuda:all`); raises DeviceUnavailable where there is none."""
    return tuple(device for device in devices() if device.is_usable_gpu) or (device_named(ALL_GPUS),)


@OncePerProcess
def backend(key: str) -> Backend:
    """Return the backend of a device of this process, made once; raises DeviceUnavailable."""
    device = device_named(key)
    if device.key == "cpu":
        return CpuBackend()
    if device.key == SIMULATOR:
        # Nothing else needs it.
        simulator: Backend = import_module("engine.device.interpreter").InterpreterBackend()
        return simulator
    # Numba's CUDA target: only where a GPU is used.
    from engine.device.cuda import CudaBackend

    return CudaBackend(device)
