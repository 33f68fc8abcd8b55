"""Copies of the host's memory by several threads."""

import threading

import numpy as np
import pytest

from engine.device import thread_pool
from engine.device.thread_pool import PIECE_BYTES, copy_bytes

RANDOM = np.random.default_rng(4)
SIZES = (0, 1, 3, PIECE_BYTES - 1, PIECE_BYTES, PIECE_BYTES + 1, 2 * PIECE_BYTES, 7 * PIECE_BYTES + 5)
GUARD = 64


@pytest.fixture
def four_workers(monkeypatch):
    """Let copies have up to four threads, also where the machine has two cores."""
    monkeypatch.setattr(thread_pool, "launch_cores", lambda: 4)


def copied(source, source_offset, target_offset):
    """Return the bytes of a copy, and those around it."""
    inside = np.zeros(source.size + source_offset, np.uint8)
    inside[source_offset:] = source
    memory = np.full(source.size + target_offset + 2 * GUARD, 7, np.uint8)
    first = GUARD + target_offset
    copy_bytes(inside.ctypes.data + source_offset, memory.ctypes.data + first, source.size)
    after = first + source.size
    return memory[first:after], np.concatenate([memory[:first], memory[after:]])


@pytest.mark.parametrize("offsets", [(0, 0), (1, 0), (0, 3), (5, 7)], ids=str)
def test_that_every_byte_is_copied_and_no_other(four_workers, offsets):
    for size in SIZES:
        source = RANDOM.integers(0, 256, size, np.uint8)
        values, around = copied(source, *offsets)
        assert np.array_equal(values, source), size
        assert (around == 7).all(), size


def test_that_threads_copy_at_the_same_time(four_workers):
    wrong = []

    def copy(number):
        source = np.random.default_rng(number).integers(
            0, 256, (number % 4 + 1) * PIECE_BYTES + number, np.uint8
        )
        wrong.extend(number for _ in range(20) if not np.array_equal(copied(source, number, 0)[0], source))

    threads = [threading.Thread(target=copy, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_that_small_copies_have_one_worker(monkeypatch):
    made = []
    monkeypatch.setattr(thread_pool, "_calls", thread_pool.defaultdict(list))
    kept = thread_pool.SharedCall
    monkeypatch.setattr(thread_pool, "SharedCall", lambda *how: made.append(how[2]) or kept(*how))
    monkeypatch.setattr(thread_pool, "launch_cores", lambda: 64)
    for size in (1, 2 * PIECE_BYTES - 1, 3 * PIECE_BYTES, 99 * PIECE_BYTES):
        copied(np.zeros(size, np.uint8), 0, 0)
    assert made == [1, 3, thread_pool.MOST_WORKERS]
