"""What serves a warp's request: worked by hand."""

import numpy as np
import pytest

from engine.explain.counts.warp_requests import sectors_of, wavefronts_of, words_of

LANE = np.arange(32)
ALL = np.ones((1, 32), bool)


def touched(elements, size=4, active=ALL):
    """Return (sectors, transactions) of one request, of elements of `size` bytes."""
    lines = sectors_of((np.broadcast_to(elements, 32) * size)[None], active, size)
    return int(lines.sectors[0]), int(lines.transactions[0])


@pytest.mark.parametrize(
    ("elements", "size", "wanted"),
    [
        (LANE, 4, (4, 1)),  # neighbours: 128 bytes
        (LANE + 1, 4, (5, 2)),
        (LANE + 8, 4, (4, 2)),
        (LANE[::-1], 4, (4, 1)),  # the order does not matter
        (LANE * 2, 4, (8, 2)),
        (LANE * 8, 4, (32, 8)),
        (LANE * 32, 4, (32, 32)),
        (LANE * 4096, 4, (32, 32)),
        (LANE // 16 * 4096 + LANE % 16, 4, (4, 2)),  # a warp of 16 x 2 threads
        (7, 4, (1, 1)),
        (LANE, 1, (1, 1)),
        (LANE * 3, 1, (3, 1)),  # one channel of an RGB picture of 8 bit
        (LANE, 16, (16, 4)),
        (LANE, 8, (8, 2)),
    ],
)
def test_that_a_request_takes_each_sector_and_line_once(elements, size, wanted):
    assert touched(elements, size) == wanted


def test_that_threads_which_take_no_part_touch_nothing():
    few = np.isin(LANE, (3, 4, 20))[None]
    assert touched(LANE * 8, active=few) == (3, 3)


def test_that_an_access_across_the_end_of_a_sector_takes_both():
    lines = sectors_of(np.full((1, 32), 28), ALL, 16)
    assert int(lines.sectors[0]) == 2


def test_that_the_sectors_of_each_request_are_told():
    lines = sectors_of(np.array([LANE * 4, LANE * 0 + 640]), np.ones((2, 32), bool), 4)
    found = {(int(owner), int(number)) for owner, number in zip(lines.owners, lines.numbers, strict=True)}
    assert found == {(0, 0), (0, 1), (0, 2), (0, 3), (1, 20)}


def fronts(elements, size=4, active=ALL):
    """Return the wavefronts of one request to elements of `size` bytes in shared memory."""
    return int(wavefronts_of((np.broadcast_to(elements, 32) * size)[None], active, size)[0])


@pytest.mark.parametrize(
    ("elements", "size", "wanted"),
    [
        (LANE, 4, 1),
        (LANE[::-1], 4, 1),
        (5, 4, 1),  # one word for all: a broadcast
        (LANE // 2, 4, 1),  # each word for two
        (LANE * 2, 4, 2),
        (LANE * 3, 4, 1),  # odd strides meet no bank twice
        (LANE * 32, 4, 32),
        (LANE * 33, 4, 1),  # a column of padded rows
        (LANE % 16 * 32, 4, 16),
        (LANE // 16 * 20 + LANE % 16, 4, 2),  # two rows of a tile 20 wide: 4 banks twice
        (LANE, 1, 1),  # four threads a word
        (LANE, 8, 2),
        (LANE, 16, 4),
        (LANE * 2, 16, 8),
        (0, 16, 4),
    ],
)
def test_that_a_wavefront_takes_one_word_of_each_bank(elements, size, wanted):
    assert fronts(elements, size) == wanted


def test_that_half_of_a_warp_takes_half_of_the_wavefronts_of_vectors():
    half = (LANE < 16)[None]
    assert (fronts(LANE, 8, half), fronts(LANE, 16, half)) == (1, 2)


def test_that_threads_without_part_cause_no_bank_conflict():
    assert fronts(LANE * 32, active=(LANE < 3)[None]) == 3


def test_that_constant_memory_gives_different_words_one_by_one():
    assert words_of(np.array([LANE * 0 + 8, LANE * 4, LANE // 8 * 4]), np.ones((3, 32), bool)).tolist() == [
        1, 32, 4
    ]  # fmt: skip
