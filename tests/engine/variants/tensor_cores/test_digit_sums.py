"""`digit-sums`: what it refuses, work, code, what lanes hold and multiply, results on their way out."""

import itertools
import re

import numpy as np
import pytest

from engine.mask.mask import Mask
from engine.variants.tensor_cores.digit_shape import chains_of, fragments_of
from engine.variants.tensor_cores.digit_sums import SHARED_BYTES, VARIANT, digit_shape
from engine.variants.tensor_cores.interleaved_bytes import interleaved_words
from engine.work.filtering.problem import Problem
from tests.engine.variants.emitted import BytesOfWords, needs_nvvm, ptx_of

RANDOM = np.random.default_rng(31)
BLOCK = VARIANT.default_block


def problem_of(mask, channels=1):
    return Problem(500, 700, channels, "uint8", mask.shape, mask.anchor, result_dtype="uint8")


@pytest.mark.slow
@needs_nvvm
@pytest.mark.parametrize(
    ("shape", "channels"), [((3, 3), 1), ((5, 5), 1), ((11, 11), 1), ((5, 5), 3), ((3, 7), 4)]
)
def test_that_a_digit_takes_one_instruction_for_each_multiplication(shape, channels):
    mask = Mask(np.ones(shape))
    work = digit_shape(shape, mask.anchor[1], channels)
    ptx = ptx_of(VARIANT, problem_of(mask, channels), mask)
    head, loop = ptx[: ptx.index("mma.sync")], ptx[ptx.index("mma.sync") :]
    # Of each channel a lone digit, then a pair of them.
    multiplications = channels * sum(len(chain.steps) for chain in chains_of(work))
    assert ptx.count(".u8.s8.s32") == 2 * multiplications
    assert ptx.count(".u8.u8.s32") == multiplications
    # A pair's and the offset's.
    assert ptx.count("fma.rn.f32") == 2 * work.across
    assert ptx.count("cvt.rn.f32.s32") == work.across
    assert ptx.count("cvt.pack.sat.u8.s32.b32") == work.across // 2
    assert re.search(r"cp\.async\.ca\.shared\.global \[[^,]*, \[[^,]*, 16;", head)
    assert "prmt" in head
    assert "prmt" not in loop.split("cvt.pack")[0]
    loads = sum(len(work.loads_of(channel)) for channel in range(channels))
    assert len(re.findall(r"ld\.shared", ptx)) == work.fours_of_rows * loads
    # A register may be named %f64, and an unused one may be declared.
    assert [line for line in ptx.splitlines() if re.search(r"\.f64\b", line) and ".reg" not in line] == []


# (mask shape, anchor's column, channels)
MASKS = [
    ((5, 5), 2, 1), ((5, 5), 2, 3), ((3, 3), 0, 4), ((1, 1), 0, 1),
    ((2, 4), 3, 2), ((7, 2), 1, 3), ((3, 9), 8, 1), ((4, 32), 5, 3),
]  # fmt: skip
LONG = [((11, 11), 5, 1), ((11, 11), 5, 4), ((1, 127), 63, 1), ((127, 1), 0, 1)]


def test_that_what_lanes_load_is_aligned_whatever_the_anchor():
    for channels in [1, 2, 3, 4]:
        for side in (1, 2, 3, 4, 5, 7, 8, 9, 11):
            for left in range(side):
                shape = digit_shape((side, side), left, channels)
                assert shape.shared_bytes <= SHARED_BYTES
                # A thread of the loader copies one piece per round.
                assert shape.tile_samples // 16 <= shape.threads
                assert (shape.tile_samples % 64, shape.before % 16) == (32, 0)
                assert shape.shared_bytes >= shape.tile_rows * shape.tile_samples
                loads = sorted({load for channel in range(channels) for load in shape.loads_of(channel)})
                words = [word + k for word, size in loads for k in range(size)]
                assert words == list(range(words[0], words[-1] + 1))
                for channel in range(channels):
                    loaded = {word + k for word, size in shape.loads_of(channel) for k in range(size)}
                    for group in shape.pixel_groups:
                        assert {place[0] for place in shape.sources(group, channel) if place} <= loaded
                assert shape.before + 4 * words[0] >= 0
                last_lane = shape.before + shape.out_samples - shape.across
                assert last_lane + 4 * (words[-1] + 1) <= shape.tile_samples
                assert all(word % size == shape.across % (4 * size) == 0 for word, size in loads)


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


@pytest.mark.slow
@pytest.mark.parametrize(("mask_shape", "left", "channels"), MASKS, ids=str)
def test_that_the_multiplications_of_a_warp_are_the_correlation(mask_shape, left, channels):
    shape = digit_shape(mask_shape, left, channels)
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


def test_that_words_of_channels_are_put_side_by_side():
    for channels in [1, 2, 3, 4]:
        planes = [
            [[(channel, 4 * four + byte) for byte in range(4)] for four in range(4)]
            for channel in range(channels)
        ]
        words = interleaved_words(BytesOfWords(), planes)
        bytes_ = [byte for word in words for byte in word]
        assert bytes_ == [(channel, pixel) for pixel in range(16) for channel in range(channels)]
