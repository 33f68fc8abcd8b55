"""Spare buffers: whom they serve, and how many are kept."""

import math

import pytest

from engine.device.host_memory import Spares


class Buffer:
    """A buffer of so many bytes."""

    def __init__(self, size):
        self.size = size


@pytest.fixture
def dropped():
    return []


@pytest.fixture
def spares(dropped):
    """Return spares of which three are kept, and which say what they drop."""
    return Spares(lambda buffer: buffer.size, 3, lambda buffer: dropped.append(buffer.size))


def test_that_a_spare_serves_one_at_a_time(spares):
    buffer = Buffer(100)
    spares.keep([buffer], math.inf)
    assert spares.take(100) is buffer
    assert spares.take(100) is None


def test_that_the_smallest_that_is_large_enough_is_taken(spares):
    spares.keep([Buffer(300), Buffer(100), Buffer(200)], math.inf)
    assert spares.take(150).size == 200
    assert spares.take(301) is None


def test_that_a_large_spare_is_not_wasted_on_a_small_need(spares):
    spares.keep([Buffer(1 << 20)], math.inf)
    assert spares.take(1 << 18) is None
    assert spares.take(1 << 19).size == 1 << 20
    of_one_size = Spares(lambda buffer: buffer.size, most_times=1.25)
    of_one_size.keep([Buffer(500_000)], math.inf)
    assert of_one_size.take(390_000) is None
    assert of_one_size.take(400_000).size == 500_000


def test_that_the_oldest_go_beyond_a_number_and_beyond_their_bytes(spares, dropped):
    spares.keep([Buffer(size) for size in (1, 2, 3, 4)], math.inf)
    assert dropped == [1]
    spares.keep([Buffer(5)], 9)
    assert dropped == [1, 2, 3]
    spares.trim(0)
    assert dropped == [1, 2, 3, 4, 5]
    assert spares.take(1) is None


def test_that_a_buffer_may_come_back_while_others_are_looked_through(dropped):
    """A finalizer runs at any line: what it brings must not disturb the one who takes."""
    late = [Buffer(10)]

    def size_of(buffer):
        while late:
            spares.keep([late.pop()], math.inf)
        return buffer.size

    spares = Spares(size_of)
    first = Buffer(20)
    spares.keep([first], math.inf)
    assert spares.take(15) is first
    assert spares.take(5).size == 10
