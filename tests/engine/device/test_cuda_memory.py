"""Memory of a device, weights that are kept, and CUDA's errors in words: all made up."""

import gc

import numpy as np
import pytest
from cuda.core._utils.cuda_utils import CUDAError
from numba.cuda.cudadrv.driver import CudaAPIError
from numba.cuda.cudadrv.error import CudaSupportError

from engine.device import cuda_memory
from engine.device.backend import cuda_errors_in_words
from engine.device.cuda_memory import device_array, uploaded
from engine.device.device_list import missing
from engine.device.numba_cuda import cuda
from engine.errors import BadValue, DeviceFault, DeviceUnavailable, EngineError, OutOfDeviceMemory


class Pool:
    """A made-up driver with one pool: what is allocated there, and how often it was trimmed."""

    def __init__(self, driver, size):
        self._results, self.size = driver.CUresult, size
        self.taken, self.trims, self._next = {}, 0, 4096

    def allocate(self, size, pool, stream):
        if sum(self.taken.values()) + size > self.size:
            return self._results.CUDA_ERROR_OUT_OF_MEMORY, 0
        self._next += 1 << 20
        self.taken[self._next] = size
        return self._results.CUDA_SUCCESS, self._next

    def free(self, address, stream):
        del self.taken[address]
        return (self._results.CUDA_SUCCESS,)

    def trim(self, pool, size):
        self.trims += 1
        return (self._results.CUDA_SUCCESS,)


@pytest.fixture
def pool(device, monkeypatch):
    """Return the pool of a made-up driver, of 1,000 bytes."""
    if missing:
        pytest.skip("needs numba-cuda, not simulated")
    from cuda.bindings import driver

    found = Pool(driver, 1000)
    monkeypatch.setattr(cuda_memory, "_pool", lambda number: ("the pool", "a stream"))
    monkeypatch.setattr(cuda, "current_context", lambda: None)
    done = (driver.CUresult.CUDA_SUCCESS,)
    for name, call in {
        "cuMemAllocFromPoolAsync": found.allocate,
        "cuMemFreeAsync": found.free,
        "cuMemPoolTrimTo": found.trim,
        "cuStreamSynchronize": lambda stream: done,
        "cuThreadExchangeStreamCaptureMode": lambda mode: (*done, mode),
    }.items():
        monkeypatch.setattr(driver, name, call)
    return found


def test_that_an_array_is_freed_with_what_last_refers_to_it_and_full_memory_is_tried_again(pool):
    array = device_array((4, 5), np.float32)
    assert (array.shape, array.strides, array.dtype) == ((4, 5), (20, 4), np.float32)
    part = array.reshape(20)
    del array
    assert list(pool.taken.values()) == [80]
    del part
    gc.collect(1)
    assert pool.taken == {}
    # Full memory is tried again without what the pool keeps.
    kept = device_array((900,), np.uint8)
    with pytest.raises(CudaAPIError, match="OUT_OF_MEMORY"):
        device_array((200,), np.uint8)
    assert (pool.trims, kept.size) == (1, 900)


class Array:
    """A made-up array of a device."""

    def __init__(self):
        self.contents = []

    def copy_to_device(self, host):
        self.contents.append(host.copy())


@pytest.fixture
def uploads(device, monkeypatch):
    """Return the arrays that are made for uploads; none is kept from before."""
    made = []

    def make(shape, dtype):
        made.append(Array())
        return made[-1]

    monkeypatch.setattr(cuda_memory, "device_array", make)
    cuda_memory._uploaded.cache_clear()
    yield made
    cuda_memory._uploaded.cache_clear()


def test_that_the_same_weights_are_uploaded_once_to_a_device(uploads, device):
    values = np.arange(6.0).reshape(2, 3)
    first = uploaded(values)
    assert uploaded(np.asfortranarray(values)) is first
    assert np.array_equal(first.contents, [values])
    others = (values.ravel(), values.astype(np.float32), -values)
    assert all(uploaded(other) is not first for other in others)
    device.id = 1
    assert uploaded(values) is not first
    assert len(uploads) == 5


def test_that_pinned_memory_serves_the_next_array_once_it_is_dropped(monkeypatch):
    made = []
    monkeypatch.setattr(
        cuda_memory, "_new_pinned", lambda size: made.append(size) or np.empty(size, np.uint8)
    )
    cuda_memory._unused.trim(0)
    first = cuda_memory.pinned_array((100, 1000), np.float32)
    second = cuda_memory.pinned_array((100, 1000), np.float32)
    assert not np.shares_memory(first, second)
    address = first.ctypes.data
    del first
    third = cuda_memory.pinned_array((300_000,), np.uint8)
    assert (third.ctypes.data, len(made)) == (address, 2)
    cuda_memory._unused.trim(0)


def test_that_what_cuda_raises_becomes_words():
    for error, becomes in [
        (CudaAPIError(2, "CUDA_ERROR_OUT_OF_MEMORY"), OutOfDeviceMemory),
        (CudaAPIError(1, "CUDA_ERROR_INVALID_VALUE"), BadValue),
        (CudaAPIError(701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"), BadValue),
        (CudaAPIError(700, "CUDA_ERROR_ILLEGAL_ADDRESS"), DeviceFault),
        (CudaAPIError(702, "CUDA_ERROR_LAUNCH_TIMEOUT"), DeviceFault),
        (CudaAPIError(716, "CUDA_ERROR_MISALIGNED_ADDRESS"), DeviceFault),
        (CudaAPIError(719, "CUDA_ERROR_LAUNCH_FAILED"), DeviceFault),
        (CUDAError("CUDA_ERROR_INVALID_VALUE: This indicates ..."), BadValue),
        (CUDAError("CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES: This indicates ..."), BadValue),
        (CUDAError("CUDA_ERROR_OUT_OF_MEMORY: The API call failed ..."), OutOfDeviceMemory),
        (CUDAError("CUDA_ERROR_ILLEGAL_ADDRESS: While executing ..."), DeviceFault),
        (CUDAError("something without a name"), DeviceFault),
        (CudaSupportError("no\n driver"), DeviceUnavailable),
    ]:
        with pytest.raises(EngineError) as caught, cuda_errors_in_words("doing this"):
            raise error
        assert type(caught.value) is becomes
        assert caught.value.__cause__ is error
        assert "doing this" in caught.value.what
        assert caught.value.why
        assert caught.value.remedy
        assert "\n" not in str(caught.value)


def test_that_what_does_not_come_from_cuda_is_not_touched():
    with pytest.raises(ZeroDivisionError), cuda_errors_in_words("doing this"):
        raise ZeroDivisionError
    refusal = BadValue("a", "b", "c")
    with pytest.raises(BadValue) as caught, cuda_errors_in_words("doing this"):
        raise refusal
    assert caught.value is refusal
