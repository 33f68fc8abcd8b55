"""What serves a warp's request: worked by hand."""

import numpy as np

from engine.ptx.counts import sectors, wavefronts
from engine.ptx.memory import Active

LANE = np.arange(32)


def touched(elements, size=4, lanes=LANE):
    """Return (sectors, transactions) of one request of some lanes, of elements of `size` bytes."""
    own, lines, _ = sectors(Active(lanes, 32), (np.broadcast_to(elements, 32) * size)[lanes])
    return int(own[0]), int(lines[0])


def test_that_a_request_takes_each_sector_and_line_once():
    for elements, size, wanted in [
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
    ]:
        assert touched(elements, size) == wanted
    # Threads which take no part touch nothing, and each warp has its own sectors.
    assert touched(LANE * 8, lanes=np.array([3, 4, 20])) == (3, 3)
    both = Active(np.concatenate((LANE, LANE + 32)), 64)
    own, lines, numbers = sectors(both, np.concatenate((LANE * 4, LANE * 0 + 640)))
    assert (own.tolist(), lines.tolist(), numbers.tolist()) == ([4, 1], [1, 1], [0, 1, 2, 3, 20])


def fronts(elements, size=4, lanes=LANE):
    """Return the wavefronts of one request of some lanes to elements of `size` bytes in shared memory."""
    return int(wavefronts(Active(lanes, 32), (np.broadcast_to(elements, 32) * size)[lanes], size)[0])


def test_that_a_wavefront_takes_one_word_of_each_bank():
    for elements, size, wanted in [
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
    ]:
        assert fronts(elements, size) == wanted
    # Threads without part cause no bank conflict, and vectors of two warps are counted for each.
    half = LANE[:16]
    assert (fronts(LANE, 8, half), fronts(LANE, 16, half), fronts(LANE * 32, lanes=LANE[:3])) == (1, 2, 3)
    both = Active(np.concatenate((LANE, LANE[:8] + 32)), 64)
    assert wavefronts(both, np.concatenate((LANE, LANE[:8])) * 16, 16).tolist() == [4, 1]
