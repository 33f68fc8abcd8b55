"""Which parts are checked where the oracle cannot afford everything, of pictures and of products alike."""

import numpy as np
import pytest

from engine.commands import picture_work
from engine.errors import Cancelled
from engine.mask.mask import Mask
from engine.tasks.product import oracle as product
from engine.tasks.product.problem import MatrixProduct
from engine.verify.verification import Region, affordable_regions, verify_regions
from engine.work.filtering import oracle as filtering
from engine.work.problem import Problem


@pytest.mark.parametrize("region", [Region(2, 5, 3, 7), Region(0, 9, 0, 8), Region(4, 4, 1, 1)])
def test_that_a_region_and_what_lies_around_it_are_the_whole(region):
    times = np.zeros((9, 8), int)
    for part in (region.slices, *region.around):
        times[part] += 1
    assert (times == 1).all()


def test_that_all_four_edges_are_checked_once():
    for height, width, edges, cost in [
        (900, 1300, (5, 5), 25),
        (1300, 900, (3, 7), 63),
        (3000, 40, (15, 15), 225),
        (7, 90_000, (9, 9), 81),
        (600, 600, (63, 63), 15_876),
        (1000, 900, (32, 32), 50),
    ]:
        times_checked = np.zeros((height, width), int)
        for region in affordable_regions(height, width, edges, cost, 2_000_000, 0):
            assert region.pixels > 0
            times_checked[region.slices] += 1
        assert times_checked.max() == 1
        for edge in (times_checked[0], times_checked[-1], times_checked[:, 0], times_checked[:, -1]):
            assert edge.all()
        inner = times_checked[edges[0] : -edges[0], edges[1] : -edges[1]]
        assert inner.size == 0 or inner.any()


@pytest.mark.parametrize(
    "regions_of",
    [
        lambda seed, affordable: filtering.regions_to_check(Problem(1000, 900), seed, affordable),
        lambda seed, affordable: product.regions_to_check(MatrixProduct(1000, 9, 900), seed, affordable),
    ],
    ids=["filter", "product"],
)
def test_that_the_seed_chooses_what_is_checked(regions_of):
    part = regions_of(3, 9 * 200_000)
    assert part == regions_of(3, 9 * 200_000) != regions_of(4, 9 * 200_000)
    assert 20_000 < sum(region.pixels for region in part) < 260_000
    assert regions_of(3, None) == (Region(0, 1000, 0, 900),)


def judged(result, wanted, checkpoint):
    """Compare a result with what is wanted, at its edges and in one rectangle."""
    height, width = result.shape[:2]
    return verify_regions(
        result,
        affordable_regions(height, width, (3, 3), 1, 20_000, 0),
        1000,
        lambda band: wanted[band.slices],
        lambda band: (np.abs(wanted[band.slices]), np.zeros_like(wanted[band.slices])),
        checkpoint,
    )


def test_that_one_wrong_element_at_an_edge_is_named():
    for row, column in [(0, 500), (399, 500), (200, 0), (200, 599)]:
        for shape in [(400, 600), (400, 600, 2)]:
            wanted = np.random.default_rng(2).integers(0, 99, shape).astype(np.float64)
            result = wanted.astype(np.float32)
            fractions = []
            fine = judged(result, wanted, fractions.append)
            assert (fine.passed, fine.exact) == (True, True)
            assert fine.checked_pixels < fine.total_pixels == 240_000
            assert len(fractions) > 3
            assert fractions == sorted(fractions)
            assert (fractions[0], fractions[-1] < 1.0) == (0.0, True)
            result[row, column, ...] += 1
            wrong = judged(result, wanted, fractions.append)
            channel = ", channel 0" if len(shape) == 3 else ""
            assert wrong.reason.startswith(f"not verified: row {row}, column {column}{channel} is ")
            assert (wrong.passed, wrong.max_error, wrong.bound) == (False, 1.0, 0.0)


def test_that_a_task_compares_a_large_result_in_part():
    def stop(fraction):
        raise Cancelled("The request", "it was stopped")

    with pytest.raises(Cancelled):
        judged(np.zeros((4, 4), np.float32), np.zeros((4, 4)), stop)
    picture, mask = np.ones((400, 600, 1), np.uint8), Mask([[1.0]])
    result = picture.astype(np.float32)
    found = filtering.verify(
        result, picture, mask, Problem(400, 600, 1, "uint8", (1, 1), (0, 0)), affordable=9
    )
    assert found.passed
    assert found.checked_pixels < found.total_pixels == 240_000
    a, b = np.ones((300, 20), np.float32), np.ones((20, 400), np.float32)
    found = product.verify(a @ b, a, b, MatrixProduct(300, 20, 400), 20, affordable=20 * 30_000)
    assert found.passed
    assert found.checked_pixels < found.total_pixels == 120_000


def test_that_every_tile_of_seven_by_seven_has_a_pixel_that_is_checked():
    for seed in range(4):
        is_checked = np.zeros((600, 500), bool)
        for region in affordable_regions(600, 500, (3, 3), 81, 9_000_000, seed):
            is_checked[region.slices] = True
        assert is_checked.mean() < 0.05
        tiles = np.lib.stride_tricks.sliding_window_view(is_checked, (7, 7))
        assert tiles.any(axis=(2, 3)).all()


def test_that_in_a_photograph_few_tiles_have_no_pixel_that_is_checked():
    """Tiles of variants are wider than high: 128 x 16 and more."""
    photograph = Problem(3000, 4000, 3, "uint8", (9, 9), (4, 4))
    assert filtering.regions_to_check(photograph, 0)[-1].step == 15
    assert filtering.regions_to_check(photograph, 0, picture_work.AFFORDABLE_MULTIPLY_ADDS)[-1].step == 27
