"""How a picture is cut for the CPU: bands, workers, the columns beside its edges."""

import numpy as np
import pytest

from engine.geometry.border import Border
from engine.mask.mask import Mask
from engine.run.resolve import describe_problem
from engine.variants.cpu import bands
from engine.variants.cpu.edges import Halo, holds
from engine.variants.ir.cpu_vectors import VECTOR


@pytest.mark.parametrize("workers", [1, 2, 7, 16])
@pytest.mark.parametrize("cost_rows", [0, 2, 62])
@pytest.mark.parametrize(
    ("height", "tiles"), [(1, 1), (1, 20), (5000, 1), (40, 35), (480, 1), (49, 2), (2048, 3), (4096, 6)]
)
def test_that_bands_cover_each_row_and_tile_once_and_leave_few_workers_without(
    height: int, tiles: int, cost_rows: int, workers: int
) -> None:
    cut = bands.cut(height, tiles, workers, cost_rows)
    # They begin at whole groups of rows.
    assert (cut[:, 0] % bands.WHOLE_ROWS == 0).all()
    covered = np.zeros((height, tiles), int)
    for top, bottom, tile in cut:
        assert top < bottom
        covered[top:bottom, tile] += 1
    assert (covered == 1).all()
    pieces = -(-height // bands.LEAST_ROWS) * tiles
    assert min(workers, pieces) / 2 <= len(cut) <= 11 * workers + tiles


@pytest.mark.parametrize(("tiles", "workers"), [(1, 2), (2, 16), (6, 16), (3, 8)])
def test_that_a_slow_core_holds_up_a_launch_by_little(tiles: int, workers: int) -> None:
    speed = np.ones(workers)
    speed[0] = 0.5
    free_at = np.zeros(workers)
    for top, bottom, _ in bands.cut(4096, tiles, workers, 2):
        taker = free_at.argmin()
        free_at[taker] += (bottom - top + 2) / speed[taker]
    # Bands of equal size, four per worker, take 1.2 to 1.3 times as long as the cores' mean speed allows.
    assert free_at.max() <= 1.08 * 4096 * tiles / speed.sum()


def test_that_small_work_stays_on_one_thread() -> None:
    work = (0, bands.LEAST_MULTIPLY_ADDS * 3, 10**12)
    assert [bands.workers_for(multiply_adds, 16) for multiply_adds in work] == [1, 3, 16]


def test_that_only_what_samples_are_exactly_is_held() -> None:
    assert all((holds("uint8", 255.0), holds("uint16", 256.0), holds("float32", -0.5)))
    assert not any((holds("uint8", 256.0), holds("uint8", -1.0), holds("uint16", 1.5)))


@pytest.mark.parametrize("before_vector", [0, 3])
@pytest.mark.parametrize("samples", [1, 30, 64, 1000])
def test_that_all_taps_of_the_middle_lie_inside_the_picture(samples: int, before_vector: int) -> None:
    image, mask = np.zeros((1, samples, 1), np.float32), Mask(np.ones((1, 7)), (0, 2))
    halo = Halo(describe_problem(image, mask, Border.ZERO, 0.0))
    left_end, right_start = halo.columns(samples, before_vector)
    assert 0 <= left_end <= right_start <= samples
    assert (right_start - left_end) % VECTOR == 0
    if right_start > left_end:
        assert left_end >= 2
        assert right_start + 4 <= samples
        assert left_end % VECTOR == before_vector or not before_vector
    assert max(left_end, samples - right_start) <= halo.longest_edge or samples <= halo.longest_edge
