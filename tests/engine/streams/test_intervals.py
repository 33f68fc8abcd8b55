import numpy as np

from engine.streams.outputs import IntervalsInUse


def test_that_places_are_taken_exactly_when_they_share_no_memory() -> None:
    memory = np.zeros(60, np.uint8)
    random = np.random.default_rng(1)
    places, taken = IntervalsInUse(), []
    refused = 0
    for _ in range(3000):
        begin = int(random.integers(0, 60))
        place = memory[begin : begin + int(random.integers(1, 9))]
        if taken and random.random() < 0.3:
            places.leave(taken.pop(int(random.integers(len(taken)))))
        overlaps = any(np.shares_memory(place, one) for one in taken)
        assert places.take(place) is not overlaps
        refused += overlaps
        if not overlaps:
            taken.append(place)
    assert 300 < refused < 2700


def test_that_an_array_that_was_never_taken_leaves_nothing() -> None:
    memory = np.zeros(9, np.uint8)
    places = IntervalsInUse()
    places.take(memory[:4])
    for stranger in (memory[4:], memory[1:4], memory[:3]):
        places.leave(stranger)
    assert not places.take(memory[3:5])
