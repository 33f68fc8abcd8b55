"""A CUDA device: buffers, copies, launches."""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np
from numpy.typing import DTypeLike

from engine.device.backend import NAN_BYTE, Backend, Buffers, LaunchClock
from engine.device.capture_lock import CAPTURE_LOCK
from engine.device.cuda_copies import copy_in, copy_out, fill_bytes, picture_array
from engine.device.cuda_faults import cuda_errors_in_words
from engine.device.cuda_graph import GraphClock
from engine.device.cuda_streams import context_of
from engine.device.device_memory import device_array, pinned_array
from engine.device.host_calls import HostCalls
from engine.device.launches import Prepared, Stream
from engine.device.numba_cuda import cuda
from engine.device.per_thread import interprets
from engine.device_info import DeviceInfo
from engine.geometry.layout import Layout


def _number(device: DeviceInfo) -> int:
    return int(device.key.partition(":")[2])


def start_gpu(gpu: DeviceInfo) -> None:
    """Ask a GPU for a context in this process; without one it cannot be used."""
    with cuda_errors_in_words(f"starting to use CUDA device {_number(gpu)}"), cuda.gpus[_number(gpu)]:
        cuda.current_context()


class CudaBackend(Backend):
    """Runs CUDA variants on one device that is available in this process."""

    def __init__(self, info: DeviceInfo) -> None:
        self.info = info
        with cuda_errors_in_words(f"starting to use {info.title}"):
            self._context = context_of(_number(info))
            with self.selected():
                self._stream: Stream = cuda.stream()

    def activate(self) -> None:
        """Select the device: Numba compiles, allocates and uploads on the one that was selected last."""
        interprets.choose(False)
        self._context.select()

    @contextmanager
    def selected(self) -> Iterator[None]:
        """Select the device for the while."""
        with interprets.within(False), self._context.selected():
            yield

    def allocate(
        self,
        image: np.ndarray,
        host_out: np.ndarray | None = None,
        layout: Layout = Layout.PITCHED,
        result_dtype: DTypeLike = np.float32,
    ) -> Buffers:
        """Return device arrays for a picture of this shape and type and for its result, or its results."""
        host_out = np.empty(image.shape, result_dtype) if host_out is None else host_out
        with cuda_errors_in_words(f"allocating {(image.nbytes + host_out.nbytes) / 1e6:,.1f} MB"):
            on_device = picture_array(image.shape, image.dtype, layout, is_read=True)
            return Buffers(on_device, picture_array(host_out.shape, host_out.dtype, layout), host_out)

    def upload(self, image: np.ndarray | Sequence[np.ndarray], buffers: Buffers) -> None:
        """Copy the picture, or each of several operands, to the device."""
        pairs = (
            [(image, buffers.image)]
            if isinstance(image, np.ndarray)
            else zip(image, buffers.image, strict=True)
        )
        with CAPTURE_LOCK, cuda_errors_in_words("copying to the device"):
            for host, device in pairs:
                if isinstance(device, np.ndarray):
                    # Pinned memory of the host.
                    np.copyto(device, host)
                    continue
                copy_in(np.ascontiguousarray(host), device, self._stream)
            self._stream.synchronize()

    def allocate_arrays(
        self, inputs: Sequence[np.ndarray], out_shape: tuple[int, ...], *, pinned: bool = False
    ) -> Buffers:
        """Return device arrays for the operands, or `pinned` arrays of the host, and the result."""
        needed = 4 * (sum(array.size for array in inputs) + math.prod(out_shape))
        with cuda_errors_in_words(f"allocating {needed / 1e6:,.1f} MB"):
            operand = pinned_array if pinned else device_array
            arrays = tuple(operand(array.shape, np.float32) for array in inputs)
            return Buffers(arrays, device_array(out_shape, np.float32), np.empty(out_shape, np.float32))

    def fill_result(self, buffers: Buffers, byte: int = NAN_BYTE) -> None:
        """Fill the result with one byte, by default NaN."""
        with cuda_errors_in_words("filling the result"):
            # On the device: a copy of NaNs from the host took as long as the picture's.
            fill_bytes(buffers.out, byte)

    def run(self, prepared: Prepared, buffers: Buffers) -> None:
        """Launch once and wait."""
        with CAPTURE_LOCK, cuda_errors_in_words("running the kernel"):
            prepared.launch(buffers.image, buffers.out, self._stream)
            self._stream.synchronize()

    def download(self, buffers: Buffers) -> np.ndarray:
        """Copy the result to the host."""
        wanted = buffers.host_out
        dense = wanted if wanted.flags.c_contiguous else np.empty(wanted.shape, wanted.dtype)
        with CAPTURE_LOCK, cuda_errors_in_words("copying the result to the host"):
            copy_out(buffers.out, dense, self._stream)
            self._stream.synchronize()
        if dense is not wanted:
            wanted[...] = dense
        return wanted

    def caller(
        self, prepared: Prepared, like: np.ndarray, result_dtype: DTypeLike, layout: Layout
    ) -> Callable[[np.ndarray, np.ndarray], None]:
        """Return what copies a picture in, filters it and copies the result out."""
        return HostCalls(self._context, prepared, like, np.dtype(result_dtype), layout)

    def clock(self, prepared: Prepared, buffers: Buffers) -> LaunchClock:
        """Return a clock of device events around a replayed graph.

        What waits for the device on its way, because the host does a part or copies in chunks, cannot be
        captured: the host's clock times it.
        """
        if getattr(prepared, "waits_for_device", False):
            return super().clock(prepared, buffers)
        with cuda_errors_in_words("capturing launches"):
            return GraphClock(prepared, buffers, self._stream)
