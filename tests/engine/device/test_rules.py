"""The rules of borders and results, as the CPU's compiler makes them."""

import numpy as np
import pytest

from engine.device.index_rules import cpu_code, source_index
from engine.device.result_rules import cpu_largest, cpu_result, largest_of, rounding_to
from engine.geometry.border import Border

PARTS = {
    0.5: 0, 1.5: 2, 2.5: 2, 127.5: 128, 254.5: 254, 255.4: 255, 255.5: 255, 256.0: 255, 3e38: 255,
    np.inf: 255, -0.5: 0, -0.0: 0, -1e30: 0, -np.inf: 0, np.nan: 0, 1e-45: 0,
    np.nextafter(np.float32(0.5), np.float32(1)): 1, np.nextafter(np.float32(1.5), np.float32(0)): 1,
}  # fmt: skip


@pytest.mark.slow
def test_that_compiled_code_finds_the_same_cells_as_the_rule():
    for border in Border:
        for length in range(1, 6):
            for index in range(-20, length + 20):
                assert source_index(index, length, cpu_code(border)) == border.rule(index, length), border


def test_that_a_sum_becomes_the_nearest_even_byte_or_an_end():
    largest = cpu_largest("uint8")
    rounded = {
        value: (rounding_to(largest)(np.float32(value)), cpu_result(np.float32(value), largest))
        for value in PARTS
    }
    assert rounded == {value: (wanted, wanted) for value, wanted in PARTS.items()}


@pytest.mark.parametrize("dtype", ["uint8", "uint16"])
def test_that_every_half_and_its_neighbours_are_rounded_as_numpy_rounds(dtype):
    largest = largest_of(dtype)
    halves = np.arange(-3, 2 * int(largest) + 7, dtype=np.float32) / 2
    values = np.concatenate([halves, *(np.nextafter(halves, np.float32(end)) for end in (-9e9, 9e9))])
    wanted = np.rint(np.clip(values.astype(np.float64), 0, float(largest)))
    assert np.array_equal([cpu_result(value, largest) for value in values], wanted)


@pytest.mark.parametrize("value", [-3.7, 0.5, 1e30, np.inf])
def test_that_a_float32_result_stays_as_it_is(value):
    assert cpu_result(np.float32(value), cpu_largest("float32")) == np.float32(value)
