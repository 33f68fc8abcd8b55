"""Arrays in a device's memory by the driver's own calls, for libraries that bring none."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from cuda.bindings import driver

from bench.peers.device_clock import check

ALIGNMENT = 512


@dataclass
class DevicePicture:
    """Rows on the device, with room for ghost cells (zeros) around them."""

    shape: tuple[int, int, int]  # (rows, columns, channels)
    dtype: np.dtype[Any]
    # Ghost cells above, below, left and right; the picture's first sample stays on a 128-byte boundary
    margin: int = 0
    fill: int = 0  # The byte that everything holds at first: 255 makes NaN
    step: int = field(init=False)
    address: int = field(init=False)

    def __post_init__(self) -> None:
        rows, columns, channels = self.shape
        pixel = channels * self.dtype.itemsize
        left = -(-self.margin * pixel // 128) * 128
        self.step = -(-(left + (columns + self.margin) * pixel) // ALIGNMENT) * ALIGNMENT
        size = self.step * (rows + 2 * self.margin)
        self._begin = check(driver.cuMemAlloc(size))
        check(driver.cuMemsetD8(self._begin, self.fill, size))
        self.address = int(self._begin) + self.margin * self.step + left

    def close(self) -> None:
        """Give the memory back."""
        check(driver.cuMemFree(self._begin))

    def put(self, picture: np.ndarray) -> None:
        """Copy a picture to the device and wait."""
        self._copy(np.ascontiguousarray(picture), "src", "dst")

    def get(self) -> np.ndarray:
        """Return a copy of the rows."""
        check(driver.cuCtxSynchronize())
        dense = np.empty(self.shape, self.dtype)
        self._copy(dense, "dst", "src")
        return dense

    def _copy(self, dense: np.ndarray, host: str, device: str) -> None:
        """Copy rows: `host` and `device` are "src" and "dst", or the other way round."""
        row_bytes = self.shape[1] * self.shape[2] * self.dtype.itemsize
        kinds, copy = driver.CUmemorytype, driver.CUDA_MEMCPY2D()
        copy.WidthInBytes, copy.Height = row_bytes, self.shape[0]
        fields = {
            f"{host}MemoryType": kinds.CU_MEMORYTYPE_HOST, f"{host}Host": dense.ctypes.data,
            f"{host}Pitch": row_bytes, f"{device}MemoryType": kinds.CU_MEMORYTYPE_DEVICE,
            f"{device}Device": driver.CUdeviceptr(self.address), f"{device}Pitch": self.step,
        }  # fmt: skip
        for name, value in fields.items():
            setattr(copy, name, value)
        check(driver.cuMemcpy2D(copy))
