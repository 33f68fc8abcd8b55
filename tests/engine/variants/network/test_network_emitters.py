"""What threads of the fastest networks do in registers: emitters compiled for this processor, exact sums."""

import numpy as np
import pytest

from engine.variants.ir.device_function import zero_accumulators
from engine.variants.network.cpu_fast import packed, packed_filters
from engine.variants.network.fast import packed_filters as packed_for_cuda
from engine.variants.network.tile_emitters import (
    accumulator,
    connected_accumulator,
    parts_store,
    phase_loader,
    pooled_store,
)
from engine.variants.network.tile_shape import ConnectedShape, connected_shape, convolution_shape
from tests.engine.variants.emitted import on_the_processor, whole

# The report's two convolutions with few and with many drawings; odd ones, in several blocks and phases.
SHAPES = (
    convolution_shape(1, 28, 32, filters=4, drawings=1),
    convolution_shape(32, 12, 64, filters=2, drawings=1),
    convolution_shape(32, 12, 64, filters=4, drawings=4),
    convolution_shape(5, 8, 7, filters=2, drawings=1),
    convolution_shape(3, 14, 130, filters=4, drawings=4),
)
every_shape = pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: f"{shape.channels}-{shape.side}")


def padded(array):
    """Return a flat array that begins at a multiple of 64 bytes, as shared memory does."""
    memory = np.zeros(array.size + 16, np.float32)
    first = -memory.ctypes.data % 64 // 4
    memory[first : first + array.size] = array.ravel()
    return memory[first : first + array.size]


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


@pytest.mark.slow
@every_shape
def test_that_a_thread_sums_the_products_of_its_outputs(shape):
    accumulate = on_the_processor(accumulator(shape))
    rows = np.full((shape.side, shape.pitch), 77.0, np.float32)
    rows[:, : shape.side] = whole((shape.side, shape.side), 9)
    filters = whole((25, shape.maps_per_block), 3)
    tile, weights = padded(rows), padded(filters)
    start = tuple(whole(shape.filters * 16, 5))
    for row, column, group in ((0, 0, 0), (shape.pooled - 1, shape.across - 1, shape.groups - 1)):
        at = row * 2 * shape.pitch + column * 8
        sums = accumulate(tile, at, weights, group * shape.filters, start)
        found = np.array(sums).reshape(shape.filters, 2, 8) - np.array(start).reshape(shape.filters, 2, 8)
        for f in range(shape.filters):
            own = filters[:, group * shape.filters + f].reshape(5, 5)
            for i in range(2):
                for x in range(8):
                    if column * 8 + x < shape.out_side:
                        y, left = row * 2 + i, column * 8 + x
                        assert found[f, i, x] == (rows[y : y + 5, left : left + 5] * own).sum()


@pytest.mark.slow
@every_shape
def test_that_averages_are_of_rectified_outputs(shape):
    store = on_the_processor(pooled_store(shape))
    sums = whole((shape.filters, 2, 8), 20)
    wanted = np.maximum(sums, 0).reshape(shape.filters, 2, 4, 2).sum(axis=(1, 3)) / 4
    side = shape.pooled
    for maps in (shape.filters, 1, 0):
        # The second position is the last one of its row.
        for column in (0, (shape.across - 1) * 4):
            columns = side - column
            out = padded(np.full(shape.filters * side * side + 8, 99.0, np.float32))
            store(out, column, maps, columns, tuple(sums.ravel()))
            expected = np.full((shape.filters, side * side), 99.0, np.float32)
            there = min(4, columns)
            expected[:maps, column : column + there] = wanted[:maps, :there]
            assert np.array_equal(out[: expected.size].reshape(expected.shape), expected)
            assert (out[expected.size :] == 99).all()


@pytest.mark.slow
@every_shape
def test_that_all_threads_together_copy_just_a_phase(shape):
    load = on_the_processor(phase_loader(shape))
    drawings = shape.drawings + 1
    maps = whole((drawings, shape.channels, shape.side, shape.side), 99)
    filters = whole((shape.channels * 25, shape.packed_maps), 99)
    flat_maps, flat_filters = padded(maps), padded(filters)
    for phase in (0, shape.phases - 1):
        for present in {1, shape.drawings}:
            channel = phase * shape.phase
            channels = min(shape.phase, shape.channels - channel)
            buffer = shape.buffers - 1
            first_map = (shape.map_blocks - 1) * shape.maps_per_block
            tile = padded(np.full(shape.buffers * shape.cells, -1.0, np.float32))
            weights = padded(np.full(shape.buffers * shape.weights, -1.0, np.float32))
            cells_from = (shape.channels + channel) * shape.side**2
            weights_from = channel * 25 * shape.packed_maps + first_map
            for thread in range(shape.threads):
                load(
                    tile, flat_maps, weights, flat_filters, thread, buffer, present, channels, cells_from,
                    weights_from,
                )  # fmt: skip
            cells = np.full((shape.buffers, shape.drawings, shape.phase, shape.side, shape.pitch), -1.0)
            # From the second drawing on.
            cells[buffer, :present, :channels, :, : shape.side] = maps[
                1 : 1 + present, channel : channel + channels
            ]
            assert np.array_equal(tile.reshape(cells.shape), cells)
            taken = np.full((shape.buffers, shape.phase * 25, shape.maps_per_block), -1.0)
            taken[buffer, : channels * 25] = filters[
                channel * 25 : (channel + channels) * 25, first_map : first_map + shape.maps_per_block
            ]
            assert np.array_equal(weights.reshape(taken.shape), taken)


@pytest.mark.slow
@pytest.mark.parametrize("drawings", [4, 16])
def test_that_a_thread_of_the_connected_layers_sums_for_each_drawing(drawings):
    shape = ConnectedShape(1024, 40, 10, drawings)
    accumulate, store = on_the_processor(connected_accumulator(shape)), on_the_processor(parts_store(shape))
    values, weights = whole((shape.ahead, drawings), 9), whole((shape.ahead + 2, 40), 9)
    start = tuple(whole(drawings, 5))
    sums = accumulate(padded(values), 0, padded(weights), 2 * 40 + 7, start)
    assert np.array_equal(sums, np.array(start) + values.T @ weights[2:, 7])
    parts = padded(np.full(drawings * shape.lanes, -1.0, np.float32))
    store(parts, 5, tuple(map(np.float32, sums)))
    assert np.array_equal(parts.reshape(drawings, shape.lanes)[:, 5], sums)
    assert (parts == -1).sum() == parts.size - drawings
    assert on_the_processor(zero_accumulators(3))() == (0.0, 0.0, 0.0)


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
