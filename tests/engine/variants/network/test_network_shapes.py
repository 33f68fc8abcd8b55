"""The shapes of the fastest networks, and how they pack weights."""

import numpy as np

from engine.variants.network.cpu_fast import packed, packed_filters
from engine.variants.network.fast import packed_filters as packed_for_cuda
from engine.variants.network.fast_tiles import CONVOLUTIONS
from tests.engine.variants.emitted import whole


def test_that_the_shapes_are_those_that_the_documents_tell():
    first, second = CONVOLUTIONS
    assert (first.threads, first.filters, first.is_unrolled) == (288, 4, False)
    assert (second.threads, second.filters, second.is_unrolled) == (128, 2, True)
    for shape in CONVOLUTIONS:
        assert shape.shared_bytes <= 40 * 1024
        assert shape.phases * shape.phase == shape.channels


def test_that_weights_are_packed_so_that_neighbouring_maps_are_neighbours():
    filters = whole((7, 5, 5, 5), 9)
    found = packed_for_cuda(filters)
    assert found.shape == (125, 7)
    assert found[3 * 25 + 2 * 5 + 4, 6] == filters[6, 3, 2, 4]
    rows = whole((6, 3), 9)
    by_group = packed(rows).reshape(-1, 6, packed(rows).size // 6)
    assert np.array_equal(by_group[0][:, :3], rows)
    on_cpu = packed_filters(filters).reshape(1, 5, 5, 5, -1)
    assert on_cpu[0, 2, 4, 3, 6] == filters[6, 3, 2, 4]
