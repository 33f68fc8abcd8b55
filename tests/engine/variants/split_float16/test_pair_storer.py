"""What stores two pairs of results in each of some rows: compiled for this machine's processor, and on plain numbers."""

import numpy as np
import pytest

from engine.variants.split_float16.pair_storer import pair_storer
from tests.engine.variants.on_processor import on_the_processor

RANDOM = np.random.default_rng(3)
ROWS, APART = 3, 64
PLACES = (0, 1, APART, APART + 1)


@pytest.mark.parametrize("width", [100, 101, 66, 64, 1])
def test_that_pairs_are_stored_where_they_belong_and_nothing_beside(width: int) -> None:
    store = pair_storer(ROWS, APART)
    run = on_the_processor(store)
    results = tuple(np.float32(value) for value in RANDOM.standard_normal(4 * ROWS))
    # Rows of even and of odd length, padded or not.
    for row_pixels in (width, width + 3):
        for row in (-2, 1, 2, 6):
            for sample in (0, 34, 62):
                found, plain = (np.full((9, row_pixels, 1), -1.0, np.float32) for _ in range(2))
                run(found, row, 1, 8, sample, width, results)
                store.py_func(plain, row, 1, 8, sample, width, results)
                wanted = np.full_like(found, -1.0)
                for number, value in enumerate(results):
                    y, x = row + number // 4, sample + PLACES[number % 4]
                    if 1 <= y < 8 and x < width:
                        wanted[y, x, 0] = value
                assert np.array_equal(found, wanted), (row_pixels, row, sample)
                assert np.array_equal(plain, wanted)
