"""A CUDA device, real or simulated: buffers, copies, launches."""

import math
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from engine.device.backend import NAN_BYTE, Buffers
from engine.device.capture_lock import WHOLE_DEVICE
from engine.device.cuda_faults import cuda_errors_in_words
from engine.device.cuda_graph import GraphClock
from engine.device.cuda_pool import device_pool
from engine.device.cuda_rows import copy_in, copy_out, fill_bytes
from engine.device.launches import Prepared
from engine.device.memory_bus import MemoryBus
from engine.device.numba_cuda import SIMULATED, cuda
from engine.device.versions import commit, versions
from engine.device_info import DeviceInfo, Environment
from engine.geometry.block import Limits
from engine.geometry.layout import Layout

SIMULATOR_SIDE = 64


def simulator_info() -> DeviceInfo:
    """Return the facts of the simulator, which needs no driver."""
    return DeviceInfo(
        key="simulator",
        kind="cuda",
        title="CUDA simulator",
        available=True,
        reason="",
        times_mean_speed=False,
        facts={
            "what it is": "the real kernels, run by Python threads",
            "times": "mean nothing and are never shown as speed",
            "pictures": f"up to {SIMULATOR_SIDE} x {SIMULATOR_SIDE}",
        },
    )


def cuda_info(number: int) -> DeviceInfo:
    """Return the facts of a real CUDA device."""
    from cuda.bindings import driver

    with cuda_errors_in_words(f"asking CUDA device {number} for its properties"):
        device = cuda.gpus[number]
        name = device.name.decode() if isinstance(device.name, bytes) else str(device.name)
        major, minor = device.compute_capability
        with device:
            _, total = cuda.current_context().get_memory_info()
        _, driver_version = driver.cuDriverGetVersion()
        bus = MemoryBus(device.MEMORY_CLOCK_RATE / 1e3, device.GLOBAL_MEMORY_BUS_WIDTH)
        return DeviceInfo(
            key=f"cuda:{number}",
            kind="cuda",
            title=name,
            available=True,
            reason="",
            times_mean_speed=True,
            facts={
                "compute capability": f"{major}.{minor}",
                "multiprocessors": str(device.MULTIPROCESSOR_COUNT),
                "memory": f"{total / 1e9:.0f} GB",
                "L2 cache": f"{device.L2_CACHE_SIZE / 1e6:.0f} MB",
                "clock": f"{device.CLOCK_RATE / 1e3:.0f} MHz",
                "memory clock": f"{device.MEMORY_CLOCK_RATE / 1e3:.0f} MHz",
                "shared memory a block": f"{device.MAX_SHARED_MEMORY_PER_BLOCK:,} bytes",
                "driver API": f"{driver_version // 1000}.{driver_version % 1000 // 10}",
            },
            # 0 where the driver states neither.
            bandwidth_gb_s=bus.bytes_per_second / 1e9 or None,
            limits=Limits(
                max_threads=device.MAX_THREADS_PER_BLOCK,
                max_block_x=device.MAX_BLOCK_DIM_X,
                max_block_y=device.MAX_BLOCK_DIM_Y,
                shared_bytes=device.MAX_SHARED_MEMORY_PER_BLOCK,
                compute_capability=(major, minor),
            ),
        )


@dataclass
class SimulatorClock:
    """A clock that says nothing about speed; it exists so that the simulator runs the same code as a device."""

    prepared: Prepared
    buffers: Buffers
    name: str = "none: simulated"

    def sample_ms(self) -> float:
        """Return the host's time of one simulated launch, ms; never shown as speed."""
        begin = time.perf_counter()
        self.prepared.launch(self.buffers.image, self.buffers.out)
        return (time.perf_counter() - begin) * 1e3

    def close(self) -> None:
        """Do nothing: the clock holds nothing."""


class CudaBackend:
    """Runs CUDA variants on one device.

    Parameters
    ----------
    info : DeviceInfo
        Of a device that is available in this process.
    """

    copies = True

    def __init__(self, info: DeviceInfo) -> None:
        self.info = info
        with cuda_errors_in_words(f"starting to use {info.title}"):
            self.activate()
            self._stream: Any = cuda.stream()

    def activate(self) -> None:
        """Select the device: Numba compiles, allocates and uploads on the one that was selected last."""
        if not SIMULATED:
            cuda.select_device(int(self.info.key.partition(":")[2]))

    def allocate(
        self,
        image: np.ndarray,
        host_out: np.ndarray | None = None,
        layout: Layout = Layout.PITCHED,
        result_dtype: DTypeLike = np.float32,
    ) -> Buffers:
        """Return device arrays for a picture of this shape and type and for its result, or its results."""
        height, width, channels = image.shape
        out_height = height if host_out is None else host_out.shape[0]
        out_dtype = np.dtype(result_dtype) if host_out is None else host_out.dtype
        image_shape, out_shape = (
            (rows, layout.row_pixels(width, channels, itemsize), channels)
            for rows, itemsize in ((height, image.itemsize), (out_height, out_dtype.itemsize))
        )
        needed = math.prod(image_shape) * image.itemsize + math.prod(out_shape) * out_dtype.itemsize
        with cuda_errors_in_words(f"allocating {needed / 1e6:,.1f} MB"):
            pool = device_pool()
            on_device, out = pool.take(image_shape, image.dtype), pool.take(out_shape, out_dtype)
            if image_shape != image.shape:
                # 16 bytes at once may be read past a row's end; what is there is never used, but it is written.
                fill_bytes(on_device, 0)
            buffers = Buffers(
                on_device, out, np.empty(image.shape, out_dtype) if host_out is None else host_out
            )
            pool.follow(buffers, on_device, out)
            return buffers

    def upload(self, image: np.ndarray, buffers: Buffers) -> None:
        """Copy the picture to the device."""
        dense = np.ascontiguousarray(image)
        with WHOLE_DEVICE, cuda_errors_in_words("copying the picture to the device"):
            copy_in(dense, buffers.image, self._stream)
            self._stream.synchronize()

    def allocate_matrices(self, a: np.ndarray, b: np.ndarray) -> Buffers:
        """Return device arrays for two matrices and their product."""
        shape = (a.shape[0], b.shape[1])
        with cuda_errors_in_words(f"allocating {(a.size + b.size + math.prod(shape)) * 4 / 1e6:,.1f} MB"):
            pool = device_pool()
            pair, out = (
                (pool.take(a.shape, np.float32), pool.take(b.shape, np.float32)),
                pool.take(shape, np.float32),
            )
            buffers = Buffers(pair, out, np.empty(shape, np.float32))
            pool.follow(buffers, *pair, out)
            return buffers

    def upload_matrices(self, a: np.ndarray, b: np.ndarray, buffers: Buffers) -> None:
        """Copy both matrices to the device."""
        with WHOLE_DEVICE, cuda_errors_in_words("copying the matrices to the device"):
            for host, device in zip((a, b), buffers.image, strict=True):
                device.copy_to_device(host, stream=self._stream)
            self._stream.synchronize()

    def poison(self, buffers: Buffers, byte: int = NAN_BYTE) -> None:
        """Fill the result with one byte, by default NaN."""
        with cuda_errors_in_words("filling the result"):
            # On the device: a copy of NaNs from the host took as long as the picture's.
            fill_bytes(buffers.out, byte)

    def run(self, prepared: Prepared, buffers: Buffers) -> None:
        """Launch once and wait."""
        with WHOLE_DEVICE, cuda_errors_in_words("running the kernel"):
            prepared.launch(buffers.image, buffers.out, self._stream)
            self._stream.synchronize()

    def download(self, buffers: Buffers) -> np.ndarray:
        """Copy the result to the host."""
        wanted = buffers.host_out
        dense = wanted if wanted.flags.c_contiguous else np.empty(wanted.shape, wanted.dtype)
        with WHOLE_DEVICE, cuda_errors_in_words("copying the result to the host"):
            copy_out(buffers.out, dense, self._stream)
            self._stream.synchronize()
        if dense is not wanted:
            wanted[...] = dense
        return wanted

    def clock(self, prepared: Prepared, buffers: Buffers) -> GraphClock | SimulatorClock:
        """Return a clock of device events around a replayed graph."""
        if SIMULATED:
            return SimulatorClock(prepared, buffers)
        with cuda_errors_in_words("capturing launches"):
            clock = GraphClock(prepared, buffers, self._stream)
            clock.calibrate()
        return clock

    def environment(self) -> Environment:
        """Return device, driver, clocks and versions."""
        facts = self.info.facts
        clocks = f"{facts['clock']} maximum, memory {facts['memory clock']}" if "clock" in facts else ""
        driver = facts.get("driver API", "")
        return Environment(self.info.title, driver, clocks, versions(), commit(), self.info.bandwidth_gb_s)
