"""The shapes of the fastest networks, and how they pack weights."""

import numpy as np

from engine.variants.network.cpu_fast import packed, packed_filters
from engine.variants.network.fast import packed_filters as packed_for_cuda
from engine.variants.network.tile_shape import connected_shape, convolution_shape
from tests.engine.variants.emitted import whole

# The report's two convolutions with few and with many drawings; odd ones, in several blocks and phases.
SHAPES = (
    convolution_shape(1, 28, 32, filters=4, drawings=1),
    convolution_shape(32, 12, 64, filters=2, drawings=1),
    convolution_shape(32, 12, 64, filters=4, drawings=4),
    convolution_shape(5, 8, 7, filters=2, drawings=1),
    convolution_shape(3, 14, 130, filters=4, drawings=4),
)


def test_that_the_shapes_are_those_that_the_documents_tell():
    few, many = SHAPES[1], SHAPES[2]
    assert (few.threads, few.filters, few.drawings, few.is_unrolled) == (128, 2, 1, True)
    assert (many.threads, many.filters, many.drawings, many.is_unrolled) == (256, 4, 4, False)
    assert SHAPES[0].threads == 288
    for shape in SHAPES:
        assert shape.shared_bytes <= 40 * 1024
        assert shape.threads <= 512
        assert shape.maps_per_block % 4 == 0
        assert shape.packed_maps >= shape.maps
        assert shape.pitch >= 8 * shape.across + 4
    assert connected_shape(1024, 128, 10, drawings=16).shared_bytes == 40_960
    assert connected_shape(1024, 1024, 10, drawings=16).shared_bytes <= 48 * 1024


def test_that_weights_are_packed_so_that_neighbouring_maps_are_neighbours():
    filters = whole((7, 5, 5, 5), 9)
    shape = SHAPES[3]
    found = packed_for_cuda(filters, shape)
    assert found.shape == (125, shape.packed_maps)
    assert found[3 * 25 + 2 * 5 + 4, 6] == filters[6, 3, 2, 4]
    assert (found[:, 7:] == 0).all()
    rows = whole((6, 3), 9)
    by_group = packed(rows).reshape(-1, 6, packed(rows).size // 6)
    assert np.array_equal(by_group[0][:, :3], rows)
    on_cpu = packed_filters(filters, 8).reshape(1, 5, 5, 8, -1)
    assert on_cpu[0, 2, 4, 3, 6] == filters[6, 3, 2, 4]
    assert (on_cpu[:, :, :, 5:] == 0).all()
