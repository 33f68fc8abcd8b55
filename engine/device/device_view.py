"""Arrays in a device's memory, whoever owns them, as launches and copies take them. No Numba in here."""

import math
from typing import NamedTuple

import numpy as np

from engine.device.launches import DeviceArray


class DeviceView(NamedTuple):
    """An array of a device: where it begins, its shape and its type. Its samples lie one after another."""

    address: int
    shape: tuple[int, ...]
    dtype: np.dtype

    @property
    def size(self) -> int:
        """Number of samples."""
        return math.prod(self.shape)

    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes from one index to the next, along each axis."""
        return tuple(
            self.dtype.itemsize * math.prod(self.shape[axis + 1 :]) for axis in range(len(self.shape))
        )

    @property
    def __cuda_array_interface__(self) -> dict[str, object]:
        """What other libraries read."""
        return {
            "shape": self.shape, "typestr": self.dtype.str, "data": (self.address, False), "version": 3,
            "strides": None,
        }  # fmt: skip


def address_of(array: DeviceArray) -> int:
    """Return where a device array begins: of a `DeviceView` or of Numba's own."""
    return array.address if isinstance(array, DeviceView) else int(array.device_ctypes_pointer.value)


def view_of(array: DeviceArray) -> DeviceView:
    """Return what a device array is, without holding its memory."""
    return DeviceView(address_of(array), array.shape, array.dtype)
