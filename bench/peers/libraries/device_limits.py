"""The limits of a GPU: how fast it copies, measured in the same run, and how many multiply-adds it can make.

"copy" is a method like any other: the driver copies as many bytes as the cell's picture and result have
together, from one buffer to another. Beside it, once a process, the copy of 1 GiB.
"""

from typing import Any

import numpy as np
from cuda.bindings import driver

from bench.peers.cells import Cell
from bench.peers.device_clock import DeviceClock, check, fact, refuse_without_device, use_device
from bench.peers.library import About, Job, Ready

LARGE_BYTES = 1 << 30
# Lanes that multiply and add float32, by compute capability: CUDA C++ Programming Guide, "Arithmetic
# Instructions".
LANES = {(7, 0): 64, (7, 5): 64, (8, 0): 64}


class _Copies:
    def __init__(self, sources: list[np.ndarray], stream: Any) -> None:
        self._bytes = sources[0].nbytes
        self._shape, self._dtype = sources[0].shape, sources[0].dtype
        self._stream = stream
        self._in = [check(driver.cuMemAlloc(self._bytes)) for _ in sources]
        self._out = [check(driver.cuMemAlloc(self._bytes)) for _ in sources]
        for buffer, source in zip(self._in, sources, strict=True):
            check(driver.cuMemcpyHtoD(buffer, source.ctypes.data, self._bytes))

    def run(self, copy: int) -> None:
        check(driver.cuMemcpyDtoDAsync(self._out[copy], self._in[copy], self._bytes, self._stream))

    def results(self) -> np.ndarray:
        check(driver.cuCtxSynchronize())
        found = np.empty(self._shape, self._dtype)
        check(driver.cuMemcpyDtoH(found.ctypes.data, self._out[0], self._bytes))
        return found

    def __del__(self) -> None:
        for buffer in (*self._in, *self._out):
            check(driver.cuMemFree(buffer))


class DeviceLimits:
    def __init__(self, threads: int, methods: tuple[str, ...]) -> None:
        refuse_without_device()
        self._device = use_device()
        self._stream = check(driver.cuStreamCreate(int(driver.CUstream_flags.CU_STREAM_NON_BLOCKING)))

    def about(self) -> About:
        names = "COMPUTE_CAPABILITY_MAJOR", "COMPUTE_CAPABILITY_MINOR", "MULTIPROCESSOR_COUNT", "CLOCK_RATE"
        *capability, multiprocessors, clock_khz = (fact(name, self._device) for name in names)
        theoretical = multiprocessors * LANES.get(tuple(capability), 128) * clock_khz * 1e3
        name = check(driver.cuDeviceGetName(96, self._device)).split(b"\0")[0].decode()
        driver_version = int(check(driver.cuDriverGetVersion()))
        return About(
            {"driver API": f"{driver_version // 1000}.{driver_version % 1000 // 10}"},
            notes={
                "device": name,
                "multiprocessors": multiprocessors,
                "clock_mhz": clock_khz / 1e3,
                "l2_bytes": fact("L2_CACHE_SIZE", self._device),
                "copy_bytes_per_s": self._copy_rate(),
                "multiply_adds_per_s": theoretical,
            },
        )

    def methods(self, cell: Cell) -> tuple[str, ...]:
        return ("copy",)

    def prepare(self, job: Job, method: str) -> Ready:
        made = _Copies([np.array(job.pictures) for _ in range(job.copies)], self._stream)
        return Ready(made, lambda: DeviceClock(made.run, job.copies, int(self._stream)), border="copy")

    def _copy_rate(self) -> float:
        """Bytes read and written per second, of 1 GiB."""
        made = _Copies([np.zeros(LARGE_BYTES, np.uint8)], self._stream)
        clock = DeviceClock(made.run, 1, int(self._stream))
        ms = min(clock.sample()[0] for _ in range(9))
        return 2 * LARGE_BYTES / (ms * 1e-3)


open_library = DeviceLimits
