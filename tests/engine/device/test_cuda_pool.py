"""Memory and weights that are kept, repeated launches, and CUDA's errors in words: all made up."""

import gc
from types import SimpleNamespace

import numpy as np
import pytest
from cuda.core._utils.cuda_utils import CUDAError
from numba.cuda.cudadrv.driver import CudaAPIError
from numba.cuda.cudadrv.error import CudaSupportError

from engine.device import cuda_graph, uploads
from engine.device.cuda_faults import cuda_errors_in_words
from engine.device.cuda_graph import LAUNCHES_BEFORE_GRAPH, RepeatedLaunch
from engine.device.cuda_pool import MOST_ARRAYS, Pool
from engine.device.uploads import MOST_KEPT, uploaded
from engine.errors import BadValue, DeviceFault, DeviceUnavailable, EngineError, OutOfDeviceMemory


class Array:
    """A made-up array of a device, or its owner."""

    def __init__(self, shape=(), dtype=np.uint8):
        self.shape, self.dtype = shape, np.dtype(dtype)
        self.contents = []

    def copy_to_device(self, host):
        self.contents.append(host.copy())


class Memory:
    """Has the arrays that were allocated, and can be full."""

    def __init__(self):
        self.made = []
        self.is_full = False

    def allocate(self, shape, dtype):
        if self.is_full:
            raise MemoryError("full")
        self.made.append(Array(shape, dtype))
        return self.made[-1]


@pytest.fixture
def memory():
    return Memory()


def use(pool, *sizes):
    """Take arrays of so many bytes for an owner, which is then dropped."""
    owner = Array()
    pool.follow(owner, *(pool.take((size,), np.uint8) for size in sizes))


def test_that_the_same_run_allocates_nothing_and_an_array_in_use_is_not_taken_again(memory):
    pool = Pool(memory.allocate, 1000)
    for _ in range(3):
        use(pool, 80, 80)
    assert len(memory.made) == 2
    assert pool.kept_bytes == 160
    pool.release()
    assert pool.kept_bytes == 0
    use(pool, 80)
    assert len(memory.made) == 3
    pool, owner = Pool(memory.allocate, 1000), Array()
    first = pool.take((4,), np.uint8)
    pool.follow(owner, first)
    assert pool.take((4,), np.uint8) is not first
    assert pool.take((4,), np.float32) is not first


def test_that_no_more_is_kept_than_is_allowed_and_full_memory_takes_it_before_it_fails(memory):
    pool = Pool(memory.allocate, 100)
    for size in (40, 50, 60, 101):
        use(pool, size)
        assert pool.kept_bytes <= 100
    assert pool.kept_bytes == 60  # what is too large alone is not kept, and removes nothing else
    many = Pool(memory.allocate, 10_000)
    use(many, *[1] * 2 * MOST_ARRAYS)
    assert many.kept_bytes == MOST_ARRAYS
    pool = Pool(memory.allocate, 1000)
    use(pool, 10)
    memory.is_full = True
    with pytest.raises(MemoryError):
        pool.take((20,), np.uint8)
    assert pool.kept_bytes == 0


@pytest.fixture
def select(memory, monkeypatch):
    """Return a function that selects another made-up device; one is selected."""

    def choose():
        pool = Pool(memory.allocate, 1 << 20)
        monkeypatch.setattr(uploads, "device_pool", lambda: pool)

    choose()
    return choose


def test_that_the_same_weights_are_uploaded_once_to_a_device(memory, select):
    values = np.arange(6.0).reshape(2, 3)
    first = uploaded(values)
    assert uploaded(values.copy()) is first
    assert all(uploaded(other) is not first for other in (values.ravel(), values.astype(np.float32), -values))
    assert len(memory.made) == 4
    assert np.array_equal(first.array.contents, [values])
    select()
    assert uploaded(values).array is not first.array


def test_that_weights_are_overwritten_only_when_they_are_dropped(memory, select):
    held = uploaded(np.zeros(3))
    for number in range(1, MOST_KEPT + 1):
        uploaded(np.full(3, float(number)))
    assert len(memory.made) == MOST_KEPT + 1
    # Only this test holds the oldest: the next upload takes memory of its own, a later one the oldest's.
    uploaded(np.full(3, -1.0))
    array = held.array
    del held
    gc.collect()
    assert len(array.contents) == 1
    before = len(memory.made)
    assert uploaded(np.full(3, -2.0)).array.contents
    assert len(memory.made) == before


@pytest.mark.parametrize("can_be_captured", [True, False])
def test_that_a_repeated_launch_is_captured_once_or_goes_on_as_before(monkeypatch, device, can_be_captured):
    done = []

    class Graph:
        def __init__(self, prepared, buffers, stream, launches):
            assert (prepared, buffers, launches) == (variant, arrays, 1)
            assert stream != "stream", "another thread's work there would be captured too"
            done.append("capture")
            if not can_be_captured:
                raise ValueError("not here")

        def replay(self, stream):
            assert stream == "stream"
            done.append("replay")

        def close(self):
            done.append("close")

    monkeypatch.setattr(cuda_graph, "LaunchGraph", Graph)
    monkeypatch.setattr(cuda_graph, "_capturing_stream", lambda device: "a stream for that")
    variant = SimpleNamespace(launch=lambda *arguments: done.append("launch"))
    arrays = SimpleNamespace(image=None, out=None)
    launch = RepeatedLaunch(variant, arrays, "stream")
    for _ in range(LAUNCHES_BEFORE_GRAPH + 3):
        launch.enqueue()
    launch.close()
    launch.close()
    after = ["replay"] * 3 + ["close"] if can_be_captured else ["launch"] * 3
    assert done == ["launch"] * LAUNCHES_BEFORE_GRAPH + ["capture"] + after


@pytest.mark.parametrize(
    ("error", "becomes"),
    [
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
    ],
)
def test_that_what_cuda_raises_becomes_words(error, becomes):
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
