"""Memory that is kept between runs, and weights that are uploaded once: a made-up allocator."""

import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from engine.device import uploads
from engine.device.cuda_pool import MOST_ARRAYS, Pool
from engine.device.uploads import MOST_KEPT, uploaded


class Array:
    """A made-up array of a device, or its owner."""

    def __init__(self, shape: tuple[int, ...] = (), dtype: Any = np.uint8) -> None:
        self.shape, self.dtype = shape, np.dtype(dtype)
        self.contents: list[np.ndarray] = []

    def copy_to_device(self, host: np.ndarray) -> None:
        self.contents.append(host.copy())


class Memory:
    """Has the arrays that were allocated, and can be full."""

    def __init__(self) -> None:
        self.made: list[Array] = []
        self.is_full = False

    def allocate(self, shape: tuple[int, ...], dtype: Any) -> Array:
        if self.is_full:
            raise MemoryError("full")
        self.made.append(Array(shape, dtype))
        return self.made[-1]


@pytest.fixture
def memory() -> Memory:
    return Memory()


def use(pool: Pool, *sizes: int) -> None:
    """Take arrays of so many bytes for an owner, which is then dropped."""
    owner = Array()
    pool.follow(owner, *(pool.take((size,), np.uint8) for size in sizes))


def test_that_the_same_run_again_allocates_nothing_until_the_memory_is_released(memory):
    pool = Pool(memory.allocate, 1000)
    for _ in range(3):
        use(pool, 80, 80)
    assert len(memory.made) == 2
    assert pool.kept_bytes == 160
    pool.release()
    assert pool.kept_bytes == 0
    use(pool, 80)
    assert len(memory.made) == 3


def test_that_an_array_that_is_in_use_is_not_taken_again(memory):
    pool, owner = Pool(memory.allocate, 1000), Array()
    first = pool.take((4,), np.uint8)
    pool.follow(owner, first)
    assert pool.take((4,), np.uint8) is not first
    assert pool.take((4,), np.float32) is not first


def test_that_no_more_is_kept_than_is_allowed_and_the_oldest_goes_first(memory):
    pool = Pool(memory.allocate, 100)
    for size in (40, 50, 60, 101):
        use(pool, size)
        assert pool.kept_bytes <= 100
    assert pool.kept_bytes == 60  # what is too large alone is not kept, and removes nothing else
    many = Pool(memory.allocate, 10_000)
    use(many, *[1] * 2 * MOST_ARRAYS)
    assert many.kept_bytes == MOST_ARRAYS


def test_that_full_memory_takes_what_is_kept_before_it_fails(memory):
    pool = Pool(memory.allocate, 1000)
    use(pool, 10)
    memory.is_full = True
    with pytest.raises(MemoryError):
        pool.take((20,), np.uint8)
    assert pool.kept_bytes == 0


@pytest.fixture
def select(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Return a function that selects another made-up device; one is selected."""

    def choose() -> None:
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
