"""The limits of a GPU: how fast it copies, measured in the same run, and how many multiply-adds it can make.

"copy" is a method like any other: the driver copies as many bytes as the cell's picture and result have
together, from one buffer to another. Beside it, once a process, the copy of 1 GiB, as
`python main.py devices --limits` measures it.
"""

from typing import Any

import numpy as np
from cuda.bindings import driver

from bench.peers.cells import Cell
from bench.peers.device_clock import DeviceClock, check, refuse_without_device, use_device
from bench.peers.library import About, Job, Ready
from engine.device.devices import backend
from engine.explain.gpu_limits_code import copy_bytes_per_s
from engine.explain.launches import theoretical_limits


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
        use_device()
        self._stream = check(driver.cuStreamCreate(int(driver.CUstream_flags.CU_STREAM_NON_BLOCKING)))

    def about(self) -> About:
        machine = backend("cuda:0")
        stated = machine.info.attributes
        assert stated is not None
        driver_version = int(check(driver.cuDriverGetVersion()))
        return About(
            {"driver API": f"{driver_version // 1000}.{driver_version % 1000 // 10}"},
            notes={
                "device": machine.info.title,
                "multiprocessors": stated.multiprocessors,
                "clock_mhz": stated.clock_mhz,
                "l2_bytes": stated.l2_bytes,
                "copy_bytes_per_s": copy_bytes_per_s(machine),
                "multiply_adds_per_s": theoretical_limits(machine.info)["multiply_adds_per_s"],
            },
        )

    def methods(self, cell: Cell) -> tuple[str, ...]:
        return ("copy",)

    def prepare(self, job: Job, method: str) -> Ready:
        made = _Copies([np.array(job.pictures) for _ in range(job.copies)], self._stream)
        return Ready(made, lambda: DeviceClock(made.run, job.copies, int(self._stream)), border="copy")


open_library = DeviceLimits
