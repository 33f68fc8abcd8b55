"""Results of several channels on their way out of registers: interleaved bytes, and staged rows of a warp."""

import numpy as np
import pytest
from numba import njit, types

from engine.device.numba_cuda import missing
from engine.variants.digit_sums.digit_shape import PIXELS
from engine.variants.digit_sums.digit_sums import digit_shape
from engine.variants.digit_sums.interleaved_bytes import interleaved_words, store_staged
from engine.variants.ir.device_function import device_function
from tests.engine.variants.on_processor import BytesOfWords, on_the_processor

RANDOM = np.random.default_rng(8)


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_that_words_of_channels_are_put_side_by_side(channels):
    planes = [
        [[(channel, 4 * four + byte) for byte in range(4)] for four in range(4)]
        for channel in range(channels)
    ]
    words = interleaved_words(BytesOfWords(), planes)
    bytes_ = [byte for word in words for byte in word]
    assert bytes_ == [(channel, pixel) for pixel in range(16) for channel in range(channels)]


def shape_for(channels):
    shape = digit_shape((5, 5), 2, channels)
    assert shape.is_staged
    return shape


@pytest.mark.parametrize(("channels", "banks"), [(2, 6), (3, 8), (4, 8)])
def test_that_eight_lanes_that_are_served_at_once_meet_few_banks_twice(channels, banks):
    shape = shape_for(channels)
    places = [row * shape.stage_pitch + lane * shape.across for row in range(4) for lane in range(2)]
    assert len({place // 16 % 8 for place in places}) == banks


@pytest.mark.slow
@pytest.mark.skipif(bool(missing), reason=missing or "numba-cuda is there")
@pytest.mark.parametrize("channels", [2, 3, 4])
def test_that_a_warp_stores_whole_lines_and_nothing_past_the_picture(channels):
    shape = shape_for(channels)

    def emit(code, out, row, sample, samples, stage, lane, table):
        place, lane = [code.narrow(value) for value in (row, sample, samples)], code.narrow(lane)
        own = code.pointer(table) + lane * (shape.across // 4)
        words = [(own + k).load() for k in range(shape.across // 4)]
        store_staged(code, out, place, code.shared(stage), lane, words, shape)

    store = on_the_processor(device_function(types.void, emit))

    @njit
    def run(out, row, sample, samples, stage, table):
        # Lanes wait for one another between staging and storing: by the second time all have staged.
        for _ in range(2):
            for lane in range(32):
                store(out, row, sample, samples, stage, lane, table)

    results = RANDOM.integers(0, 256, (PIXELS, shape.out_samples)).astype(np.uint8)
    # Lane (g, t) has row t, samples from g x across on.
    table = results.reshape(PIXELS, 8, -1).swapaxes(0, 1).copy().reshape(-1).view(np.int32)
    across = 2 * shape.out_samples
    # Whole; rows that begin anywhere; the last row and the last pixel missing.
    whole = (9, across, 256)
    for height, samples, pixels in (whole, (9, across, 259), (5, across, 256), (9, across - channels, 256)):
        # A picture with rows after it.
        wanted = np.full((height + 3, pixels, channels), 99, np.uint8)
        out = wanted.copy()
        inside = wanted.reshape(height + 3, -1)[2 : min(6, height), shape.out_samples : min(samples, across)]
        inside[:] = results[: inside.shape[0], : inside.shape[1]]
        stage = np.full(shape.stage_bytes, 55, np.uint8)
        run(out[:height], 2, shape.out_samples, samples, stage, table)
        assert np.array_equal(out, wanted)
        # The whole of it went through the stage, anything else did not.
        assert (stage != 55).any() == ((height, samples, pixels) == whole)
