"""How a picture is cut for the CPU: bands, workers, the columns beside its edges."""

import numpy as np
import pytest

from engine.border import Border
from engine.mask.mask import Mask
from engine.timing.request import describe_problem
from engine.variants.cpu import bands
from engine.variants.cpu.edges import Halo, holds
from engine.variants.emit.cpu_vectors import VECTOR


@pytest.mark.parametrize("workers", [1, 2, 16])
@pytest.mark.parametrize("mask_rows", [1, 15, 63])
@pytest.mark.parametrize(
    ("height", "tiles"), [(1, 1), (1, 20), (5000, 1), (40, 35), (480, 1), (49, 2), (2048, 3)]
)
def test_that_bands_cover_each_row_and_tile_once_and_leave_few_workers_without(
    height: int, tiles: int, mask_rows: int, workers: int
) -> None:
    cut = bands.cut(height, tiles, workers, mask_rows)
    covered = np.zeros((height, tiles), int)
    for top, bottom, tile in cut:
        covered[top:bottom, tile] += 1
    assert (covered == 1).all()
    pieces = -(-height // bands.LEAST_ROWS) * tiles
    assert min(workers, pieces) / 2 <= len(cut) <= max(6 * workers, 2 * tiles)


def test_that_small_work_stays_on_one_thread() -> None:
    assert bands.workers_for(0, 16) == 1
    assert bands.workers_for(bands.LEAST_MULTIPLY_ADDS * 3, 16) == 3
    assert bands.workers_for(10**12, 16) == 16


def test_that_only_what_samples_are_exactly_is_held() -> None:
    assert holds("uint8", 255.0)
    assert holds("uint16", 256.0)
    assert holds("float32", -0.5)
    assert not any((holds("uint8", 256.0), holds("uint8", -1.0), holds("uint16", 1.5)))


@pytest.mark.parametrize("before_vector", [0, 3])
@pytest.mark.parametrize("samples", [1, 30, 64, 1000])
def test_that_all_taps_of_the_middle_lie_inside_the_picture(samples: int, before_vector: int) -> None:
    problem = describe_problem(
        np.zeros((1, samples, 1), np.float32), Mask(np.ones((1, 7)), (0, 2)), Border.ZERO, 0.0
    )
    halo = Halo.of(problem)
    left_end, right_start = halo.columns(samples, before_vector)
    assert 0 <= left_end <= right_start <= samples
    assert (right_start - left_end) % VECTOR == 0
    if right_start > left_end:
        assert left_end >= 2
        assert right_start + 4 <= samples
        assert left_end % VECTOR == before_vector or not before_vector
    assert max(left_end, samples - right_start) <= halo.longest_edge or samples <= halo.longest_edge
