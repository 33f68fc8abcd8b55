"""Copies between the host and arrays of other libraries in a GPU's memory, for what the host has to see."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from engine.device.contexts import context_of
from engine.device.cuda_faults import cuda_errors_in_words
from engine.device.cuda_graph import check
from engine.device.device_arrays import Given
from engine.device.numba_cuda import driver


def on_host(picture: Given) -> np.ndarray:
    """Return a copy of an array on the host, after all work on its stream."""
    address, shape, dtype, strides, device, _ = picture.found
    steps = _dense(shape, dtype) if strides is None else strides
    if 0 in shape:
        return np.empty(shape, dtype)
    spans = [(length - 1) * step for length, step in zip(shape, steps, strict=True)]
    # Of a view also what lies between its samples.
    before = -sum(span for span in spans if span < 0)
    memory = np.empty(sum(map(abs, spans)) + dtype.itemsize, np.uint8)
    with cuda_errors_in_words("copying to the host"), context_of(device).selected():
        check(driver.cuMemcpyDtoHAsync(memory.ctypes.data, address - before, memory.nbytes, picture.stream))
        check(driver.cuStreamSynchronize(picture.stream))
    return np.ndarray(shape, dtype, memory, before, steps)


def on_device(values: np.ndarray, like: Given) -> Any:
    """Return a copy of an array of the host, of the kind and on the device of another array."""
    values = np.ascontiguousarray(values)
    out = like.library.empty(values.shape, values.dtype, like)
    address, stream = like.library.address(out), like.stream
    with cuda_errors_in_words("copying to the device"), context_of(like.found.device).selected():
        check(driver.cuMemcpyHtoDAsync(address, values.ctypes.data, values.nbytes, stream))
        check(driver.cuStreamSynchronize(stream))
    return out


def _dense(shape: Sequence[int], dtype: np.dtype) -> list[int]:
    return [dtype.itemsize * int(np.prod(shape[axis + 1 :])) for axis in range(len(shape))]
