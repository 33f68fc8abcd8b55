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
        dense = np.ascontiguousarray(picture)
        self._copy(dense, to_device=True)

    def get(self) -> np.ndarray:
        """Return a copy of the rows."""
        check(driver.cuCtxSynchronize())
        dense = np.empty(self.shape, self.dtype)
        self._copy(dense, to_device=False)
        return dense

    def _copy(self, dense: np.ndarray, *, to_device: bool) -> None:
        row_bytes = self.shape[1] * self.shape[2] * self.dtype.itemsize
        host, device = driver.CUmemorytype.CU_MEMORYTYPE_HOST, driver.CUmemorytype.CU_MEMORYTYPE_DEVICE
        copy = driver.CUDA_MEMCPY2D()
        copy.WidthInBytes, copy.Height = row_bytes, self.shape[0]
        if to_device:
            copy.srcMemoryType, copy.srcHost, copy.srcPitch = host, dense.ctypes.data, row_bytes
            copy.dstMemoryType, copy.dstPitch = device, self.step
            copy.dstDevice = driver.CUdeviceptr(self.address)
        else:
            copy.srcMemoryType, copy.srcPitch = device, self.step
            copy.srcDevice = driver.CUdeviceptr(self.address)
            copy.dstMemoryType, copy.dstHost, copy.dstPitch = host, dense.ctypes.data, row_bytes
        check(driver.cuMemcpy2D(copy))
