import numpy as np

from engine.streams.outputs import IntervalsInUse


def test_that_arrays_are_taken_exactly_when_they_share_no_memory():
    memory = np.zeros(60, np.uint8)
    random = np.random.default_rng(1)
    intervals, taken = IntervalsInUse(), []
    refused = 0
    for _ in range(3000):
        begin = int(random.integers(0, 60))
        array = memory[begin : begin + int(random.integers(1, 9))]
        if taken and random.random() < 0.3:
            intervals.leave(taken.pop(int(random.integers(len(taken)))))
        overlaps = any(np.shares_memory(array, one) for one in taken)
        if not any(one.ctypes.data == array.ctypes.data and len(one) == len(array) for one in taken):
            # One that was never taken leaves nothing.
            intervals.leave(array)
        assert intervals.take(array) is not overlaps
        refused += overlaps
        if not overlaps:
            taken.append(array)
    assert 300 < refused < 2700
