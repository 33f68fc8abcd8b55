"""A made-up GPU whose memory is the host's, and a made-up CuPy with arrays there."""

import ctypes
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest

from engine.device.device_list import missing


class Array:
    """A made-up array of CuPy."""

    data = None

    def __init__(self, values, device=0):
        self.values, self.dtype, self.shape = values, values.dtype, values.shape
        self.flags, self.strides = values.flags, values.strides
        self.data = SimpleNamespace(ptr=values.ctypes.data, device_id=device)
        self.device = nullcontext()

    def __array__(self, *_, **__):
        raise TypeError("Implicit conversion to a NumPy array is not allowed")

    def __dlpack_device__(self):
        return 2, self.data.device_id

    def __dlpack__(self, **how):
        raise BufferError("in a GPU's memory")

    def copy(self, order):
        """Return a copy."""
        return Array(aligned(self.values))


Array.__module__ = "cupy"


def aligned(values):
    """Return a copy that begins at a multiple of 16 bytes."""
    memory = np.empty(values.nbytes + 16, np.uint8)
    begin = -memory.ctypes.data % 16
    copy = memory[begin : begin + values.nbytes].view(values.dtype).reshape(values.shape)
    copy[...] = values
    return copy


class Gpu:
    """What the made-up driver was asked, and whether it captures; its CuPy."""

    def __init__(self, results):
        self.is_captured, self.calls, self._done = False, [], results.CUDA_SUCCESS
        self.streams = SimpleNamespace(current=0, entered=[])

    def capturing(self, stream):
        """Stand for cuStreamIsCapturing."""
        return self._done, int(self.is_captured)

    def copy(self, target, source, size, stream):
        """Stand for both copies."""
        self.calls.append(("copy", stream))
        ctypes.memmove(target, source, size)
        return (self._done,)

    def done(self, name):
        """Return what stands for any other function."""

        def call(*arguments):
            self.calls.append((name, *arguments))
            return (self._done,)

        return call

    def cupy(self):
        """Return the made-up CuPy."""

        def external(stream):
            self.streams.entered.append(stream.__cuda_stream__()[1])
            return nullcontext()

        return SimpleNamespace(
            empty=lambda shape, dtype: Array(aligned(np.empty(shape, dtype))),
            cuda=SimpleNamespace(
                get_current_stream=lambda device: SimpleNamespace(ptr=self.streams.current),
                Stream=SimpleNamespace(from_external=external),
                runtime=SimpleNamespace(getDevice=lambda: 0),
            ),
        )


@pytest.fixture
def gpu(monkeypatch):
    """Return a made-up GPU, which is the driver's for the test."""
    if missing:
        pytest.skip("needs numba-cuda, not simulated")
    from cuda.bindings import driver

    from engine.api import device_calls
    from engine.device import array_libraries, cuda_memory

    made = Gpu(driver.CUresult)
    context = SimpleNamespace(selected=nullcontext)
    for module in (device_calls, cuda_memory, array_libraries):
        monkeypatch.setattr(module, "context_of", lambda number: context)
    monkeypatch.setattr(driver, "cuStreamIsCapturing", made.capturing)
    monkeypatch.setattr(driver, "cuMemcpyDtoHAsync", made.copy)
    monkeypatch.setattr(driver, "cuMemcpyHtoDAsync", made.copy)
    for name in ("cuStreamSynchronize", "cuCtxSynchronize"):
        monkeypatch.setattr(driver, name, made.done(name))
    monkeypatch.setitem(__import__("sys").modules, "cupy", made.cupy())
    return made
