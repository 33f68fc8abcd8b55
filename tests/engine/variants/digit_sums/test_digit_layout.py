"""What lanes hold and multiply: words of the right bytes, aligned loads, results of exact matrix products."""

import itertools

import numpy as np
import pytest

from engine.variants.digit_sums.digit_layout import cell_places, chains_of, fragment_cells, fragments_of
from engine.variants.digit_sums.digit_sums import SHARED_BYTES, digit_shape
from engine.variants.digit_sums.interleaved_bytes import planar_word
from tests.engine.variants.on_processor import BytesOfWords

RANDOM = np.random.default_rng(2)
# (mask shape, anchor's column, channels)
MASKS = [
    ((5, 5), 2, 1), ((5, 5), 2, 3), ((3, 3), 0, 4), ((1, 1), 0, 1),
    ((2, 4), 3, 2), ((7, 2), 1, 3), ((3, 9), 8, 1), ((4, 32), 5, 3),
]  # fmt: skip
LONG = [((11, 11), 5, 1), ((11, 11), 5, 4), ((1, 127), 63, 1), ((127, 1), 0, 1)]
every_mask = pytest.mark.parametrize(("mask_shape", "left", "channels"), MASKS + LONG, ids=str)


def shape_for(mask_shape, left, channels):
    return digit_shape(mask_shape, left, channels)


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_that_what_lanes_load_lies_in_the_tile_and_is_aligned_whatever_the_anchor(channels):
    for side in (1, 2, 3, 4, 5, 7, 8, 9, 11):
        for left in range(side):
            shape = shape_for((side, side), left, channels)
            assert shape.shared_bytes <= SHARED_BYTES
            # A thread of the loader copies one piece per round.
            assert shape.tile_samples // 16 <= shape.threads
            assert (shape.tile_samples % 64, shape.before % 16) == (32, 0)
            assert shape.tile_bytes >= shape.tile_rows * shape.tile_samples
            assert shape.stage_pitch >= shape.out_samples
            assert shape.tile_bytes % 16 == shape.stage_bytes % 16 == shape.stage_pitch % 16 == 0
            assert [word + k for word, size in shape.loads for k in range(size)] == list(shape.words)
            for channel in range(channels):
                assert set(shape.loads_of(channel)) <= set(shape.loads)
                loaded = {word + k for word, size in shape.loads_of(channel) for k in range(size)}
                for group in shape.pixel_groups:
                    assert {place[0] for place in shape.sources(group, channel) if place} <= loaded
            assert shape.before + 4 * shape.words[0] >= 0
            last_lane = shape.before + shape.out_samples - shape.across
            assert last_lane + 4 * (shape.words[-1] + 1) <= shape.tile_samples
            assert all(word % size == shape.across % (4 * size) == 0 for word, size in shape.loads)


@every_mask
def test_that_words_have_the_right_bytes_and_four_lanes_all_cells(mask_shape, left, channels):
    shape = shape_for(mask_shape, left, channels)
    words = {word: [4 * word + byte for byte in range(4)] for word in shape.words}
    for group, channel in itertools.product(shape.pixel_groups, range(channels)):
        places = shape.sources(group, channel)
        if any(places):
            got = planar_word(BytesOfWords(), words, places)
            for byte, place in enumerate(places):
                assert place is None or got[byte] == channels * (4 * group + byte) + channel
    cells = fragment_cells(shape)
    for first_lane in range(0, 32, 4):
        found = [cells[place] for place in cell_places(shape, first_lane)]
        assert found == list(range(mask_shape[0] * mask_shape[1]))


def warp_sums(shape, digit, tile):
    """Return what a warp's multiplications with one digit add up to: (4 rows of results, samples).

    Each is done as the instruction says: lane (g, t) gives of the 16 x 32 samples rows g and g + 8, columns 4
    t on and 16 + 4 t on, of the 32 x 8 digits column g; it gets columns 2 t and 2 t + 1 of rows g and g + 8.
    """
    words = fragments_of(shape, digit[np.newaxis]).reshape(shape.digit_vectors, 32, 4)
    digits = words.swapaxes(0, 1).reshape(32, -1).copy().view(np.uint8 if digit.max() > 127 else np.int8)
    digits = digits.reshape(32, -1, 4)
    out = np.zeros((4, shape.out_samples), np.int64)
    lanes = [divmod(lane, 4) for lane in range(32)]

    def samples_of(lane, sample):
        (g, t), (row, group) = lane, sample
        first = shape.before + g * shape.across
        places = shape.sources(group, channel)
        assert any(places), "a word that no lane puts together"
        return [int(tile[4 * row + t, first + 4 * p[0] + p[1]]) if p else 99 for p in places]

    for channel, chain in itertools.product(range(shape.channels), chains_of(shape)):
        sums = np.zeros((16, 8), np.int64)
        for step in chain.steps:
            a, b = np.zeros((16, 32), np.int64), np.zeros((32, 8), np.int64)
            for number, (g, t) in enumerate(lanes):
                for register, sample in enumerate(step.samples):
                    half, below = divmod(register, 2)
                    columns = slice(16 * half + 4 * t, 16 * half + 4 * t + 4)
                    a[g + 8 * below, columns] = samples_of((g, t), sample)
                for half in (0, 1):
                    b[16 * half + 4 * t : 16 * half + 4 * t + 4, g] = digits[number, step.first_word + half]
            sums += a @ b
        for g, t in lanes:
            for place, pixel in enumerate(chain.pixels):
                sample = g * shape.across + pixel * shape.channels + channel
                out[t, sample] = sums[g + 8 * (place // 2), 2 * t + place % 2]
    return out


@pytest.mark.parametrize(("mask_shape", "left", "channels"), MASKS, ids=str)
def test_that_the_multiplications_of_a_warp_are_the_correlation(mask_shape, left, channels):
    shape = shape_for(mask_shape, left, channels)
    tile = RANDOM.integers(0, 256, (4 * shape.fours_of_rows, shape.tile_samples))
    for least in (-128, 0):
        digit = RANDOM.integers(least, least + 256, mask_shape)
        digit[0, 0] = least + 255
        got = warp_sums(shape, digit, tile)
        wanted = np.zeros_like(got)
        for m in range(mask_shape[0]):
            for n in range(mask_shape[1]):
                first = shape.before + (n - left) * channels
                wanted += int(digit[m, n]) * tile[m : m + 4, first : first + got.shape[1]]
        assert np.array_equal(got, wanted)
    pixels = [pixel for chain in chains_of(shape) for pixel in chain.pixels]
    assert sorted(pixels) == list(range(16))
