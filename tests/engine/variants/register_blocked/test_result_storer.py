"""What stores a thread's results: compiled for this machine's processor, and on plain numbers."""

import numpy as np
import pytest

from engine.variants.ir.plain import PLAIN
from engine.variants.register_blocked.result_storer import result_storer
from tests.engine.variants.ir.emitted import RANDOM
from tests.engine.variants.on_processor import on_the_processor


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float32"])
@pytest.mark.parametrize(("rows", "across"), [(3, 4), (2, 8), (1, 12), (2, 16), (8, 1)])
def test_that_results_are_stored_where_they_belong_and_nothing_past_the_picture(
    rows: int, across: int, dtype: str
) -> None:
    store = result_storer(rows, across, np.dtype(dtype).itemsize)
    run = on_the_processor(store)
    values = RANDOM.integers(0, 256, rows * across)
    results = tuple(np.float32(value) for value in values)
    # Rows of whole vectors; rows that begin anywhere; a picture of fewer rows and columns than a thread has;
    # one that ends before a thread's last sample, and one that ends before its last row.
    pictures = ((9, 64, 64, 2), (9, 63, 63, 2), (2, 3, 16, 0))
    pictures += ((9, 3 * across - 1, 64, 2), (rows, 64, 64, 2), (rows + 1, 64, 64, 2))
    for height, width, row_pixels, first in pictures:
        # Three rows more than the picture has.
        wanted = np.full((height + 3, row_pixels, 1), 99, dtype)
        emitted, plain, sample = wanted.copy(), wanted.copy(), first * across
        inside = wanted[1 : min(1 + rows, height), sample : min(sample + across, width), 0]
        inside[:] = values.reshape(rows, across)[: inside.shape[0], : inside.shape[1]]
        run(emitted[:height], 1, sample, width, results)
        store.py_func(plain[:height], 1, sample, width, results)
        assert np.array_equal(emitted, wanted)
        assert np.array_equal(plain, wanted)


@pytest.mark.parametrize(
    ("value", "byte"), [(0.5, 0), (1.5, 2), (254.5, 254), (255.5, 255), (-3.0, 0), (1e30, 255), (np.nan, 0)]
)
def test_that_a_result_becomes_the_nearest_even_byte_and_nan_becomes_0(value: float, byte: int) -> None:
    assert PLAIN.quantised(np.float32(value), 1) == byte
