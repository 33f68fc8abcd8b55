import gc
from typing import Any

import numpy as np
import pytest

from engine.device.cuda_pool import MOST_ARRAYS, Pool


class Borrower:
    """Somebody who has arrays for a while."""


class Memory:
    """Counts what is allocated and can be full."""

    def __init__(self) -> None:
        self.allocated = 0
        self.is_full = False

    def allocate(self, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        if self.is_full:
            raise MemoryError("full")
        self.allocated += 1
        return np.empty(shape, dtype)


@pytest.fixture
def memory() -> Memory:
    return Memory()


def test_that_the_same_run_again_allocates_nothing(memory: Memory) -> None:
    pool = Pool(memory.allocate, 1000)
    for _ in range(3):
        borrower = Borrower()
        arrays = pool.take((4, 5), np.float32), pool.take((4, 5), np.float32)
        assert arrays[0] is not arrays[1]
        pool.follow(borrower, *arrays)
        del borrower
    assert memory.allocated == 2
    assert pool.kept_bytes == 160


def test_that_an_array_that_somebody_has_is_not_lent_again(memory: Memory) -> None:
    pool = Pool(memory.allocate, 1000)
    borrower = Borrower()
    first = pool.take((4,), np.uint8)
    pool.follow(borrower, first)
    assert pool.take((4,), np.uint8) is not first
    assert pool.take((4,), np.float32) is not first


def test_that_no_more_is_kept_than_is_allowed_and_the_oldest_goes_first(memory: Memory) -> None:
    pool = Pool(memory.allocate, 100)
    for size in (40, 50, 60, 101):
        borrower = Borrower()
        pool.follow(borrower, pool.take((size,), np.uint8))
        del borrower
        gc.collect()
        assert pool.kept_bytes <= 100
    assert pool.kept_bytes == 60  # what is too large alone is not kept, and drives nothing else out
    many = Pool(memory.allocate, 10_000)
    borrower = Borrower()
    many.follow(borrower, *(many.take((1,), np.uint8) for _ in range(2 * MOST_ARRAYS)))
    del borrower
    assert many.kept_bytes == MOST_ARRAYS


def test_that_full_memory_takes_what_is_kept_before_it_fails(memory: Memory) -> None:
    pool = Pool(memory.allocate, 1000)
    borrower = Borrower()
    pool.follow(borrower, pool.take((10,), np.uint8))
    del borrower
    memory.is_full = True
    with pytest.raises(MemoryError):
        pool.take((20,), np.uint8)
    assert pool.kept_bytes == 0


def test_that_released_memory_is_gone(memory: Memory) -> None:
    pool = Pool(memory.allocate, 1000)
    borrower = Borrower()
    pool.follow(borrower, pool.take((10,), np.uint8))
    del borrower
    pool.release()
    assert pool.kept_bytes == 0
    pool.take((10,), np.uint8)
    assert memory.allocated == 2
