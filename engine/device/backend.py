"""What a device does for a run, CPU and CUDA alike: buffers, copies, launches, and a clock for launches.

And CUDA's exceptions as ours. No Numba before one is raised.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass

import numpy as np
from numpy.typing import DTypeLike

from engine.device.device_list import cpu_info
from engine.device.host_memory import empty_result
from engine.device.launches import DeviceArray, Prepared
from engine.device_info import DeviceInfo
from engine.geometry.block import Layout

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


class CpuBackend(Backend):
    """Runs CPU variants; the picture is used where it is."""

    copies = False

    def __init__(self) -> None:
        self.info = cpu_info()


@contextmanager
def cuda_errors_in_words(doing: str) -> Iterator[None]:
    """Translate what CUDA raises inside; `doing` is part of the message: "allocating 512 MB".

    OutOfDeviceMemory, and BadValue for a launch that is refused: the device still works. DeviceFault: the
    process cannot use CUDA any longer. DeviceUnavailable: no driver, or no device that answers.
    """
    try:
        yield
    except Exception as error:
        raise translated(error, doing) from error


def translated(error: Exception, doing: str) -> Exception:
    """Return what CUDA raised as ours, as `cuda_errors_in_words` raises it; any other error as it is."""
    # Numba's CUDA target, which the CPU does without.
    from engine.device.cuda_errors import in_words

    return in_words(error, doing)
