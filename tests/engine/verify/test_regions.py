"""Which parts are checked where the oracle cannot afford everything, and which bounds prove something."""

from functools import partial

import numpy as np
import pytest

import engine
from engine.commands import picture_work
from engine.geometry.border import Border
from engine.mask.mask import Mask
from engine.tasks.product import oracle as product
from engine.tasks.product.problem import MatrixProduct
from engine.verify.verification import Region, affordable_regions, verify_regions
from engine.work.filter_task import describe_problem
from engine.work.filtering import oracle as filtering
from engine.work.problem import Problem


def test_that_a_region_and_what_lies_around_it_are_the_whole_and_edges_are_checked_once():
    for region in (Region(2, 5, 3, 7), Region(0, 9, 0, 8), Region(4, 4, 1, 1)):
        times = np.zeros((9, 8), int)
        for part in (region.slices, *region.around):
            times[part] += 1
        assert (times == 1).all()
    for height, width, edges, cost in [
        (900, 1300, (5, 5), 25), (1300, 900, (3, 7), 63), (3000, 40, (15, 15), 225),
        (7, 90_000, (9, 9), 81), (600, 600, (63, 63), 15_876), (1000, 900, (32, 32), 50),
    ]:  # fmt: skip
        times_checked = np.zeros((height, width), int)
        for region in affordable_regions(height, width, edges, cost, 2_000_000, 0):
            assert region.pixels > 0
            times_checked[region.slices] += 1
        assert times_checked.max() == 1
        for edge in (times_checked[0], times_checked[-1], times_checked[:, 0], times_checked[:, -1]):
            assert edge.all()
        inner = times_checked[edges[0] : -edges[0], edges[1] : -edges[1]]
        assert inner.size == 0 or inner.any()


def test_that_the_seed_chooses_what_is_checked():
    for regions_of in (
        partial(filtering.regions_to_check, Problem(1000, 900)),
        partial(product.regions_to_check, MatrixProduct(1000, 9, 900)),
    ):
        part = regions_of(3, 9 * 200_000)
        assert part == regions_of(3, 9 * 200_000) != regions_of(4, 9 * 200_000)
        assert 20_000 < sum(region.pixels for region in part) < 260_000
        assert regions_of(3, None) == (Region(0, 1000, 0, 900),)


def compared(result, wanted, checkpoint):
    """Compare a result with what is wanted, at its edges and in one rectangle."""

    def oracle(band):
        part = wanted[band.slices]
        return part, lambda: (np.abs(part), np.zeros_like(part))

    regions = affordable_regions(*result.shape[:2], (3, 3), 1, 20_000, 0)
    return verify_regions(result, regions, 1000, oracle, checkpoint)


def test_that_one_wrong_element_at_an_edge_is_named():
    for row, column in [(0, 500), (399, 500), (200, 0), (200, 599)]:
        for shape in [(400, 600), (400, 600, 2)]:
            wanted = np.random.default_rng(2).integers(0, 99, shape).astype(np.float64)
            result = wanted.astype(np.float32)
            fractions = []
            fine = compared(result, wanted, fractions.append)
            assert (fine.passed, fine.exact) == (True, True)
            assert fine.checked_pixels < fine.total_pixels == 240_000
            assert len(fractions) > 3
            assert fractions == sorted(fractions)
            assert (fractions[0], fractions[-1] < 1.0) == (0.0, True)
            result[row, column, ...] += 1
            wrong = compared(result, wanted, fractions.append)
            channel = ", channel 0" if len(shape) == 3 else ""
            assert wrong.reason.startswith(f"not verified: row {row}, column {column}{channel} is ")
            assert (wrong.passed, wrong.max_error, wrong.bound) == (False, 1.0, 0.0)


def test_that_every_tile_of_seven_by_seven_and_most_of_a_photograph_have_a_pixel_that_is_checked():
    for seed in range(4):
        is_checked = np.zeros((600, 500), bool)
        for region in affordable_regions(600, 500, (3, 3), 81, 9_000_000, seed):
            is_checked[region.slices] = True
        assert is_checked.mean() < 0.05
        tiles = np.lib.stride_tricks.sliding_window_view(is_checked, (7, 7))
        assert tiles.any(axis=(2, 3)).all()
    # Tiles of variants are wider than high: 128 x 16 and more.
    photograph = Problem(3000, 4000, 3, "uint8", (9, 9), (4, 4))
    assert filtering.regions_to_check(photograph, 0)[-1].step == 15
    assert filtering.regions_to_check(photograph, 0, picture_work.AFFORDABLE_MULTIPLY_ADDS)[-1].step == 27


RANDOM = np.random.default_rng(41)
# A float32 near 1e6 is a multiple of 1/16: of a texture of 1 sums of 81 of them keep little.
TEXTURE = (1e6 + RANDOM.random((50, 60))).astype(np.float32)
ROWS, COLUMNS = np.mgrid[:50, :60]
BELL = np.exp(-((ROWS - 20.0) ** 2 + (COLUMNS - 30.0) ** 2) / 40).astype(np.float32)
FLAT = np.full((50, 60), 0.3, np.float32)


@pytest.mark.parametrize("mask", ["gaussian:9:1.5", "log:9:1.4", "box:9"])
def test_that_a_texture_that_is_lost_in_rounding_is_not_verified_and_has_no_speed(mask):
    result = engine.apply(TEXTURE, mask, border="mirror", device="cpu", budget_s=0.0).result
    assert (result.is_proven, result.verification.is_unproven, result.kernel_ms) == (False, True, None)
    assert result.status.startswith("not verified: ")
    assert result.as_json()["verification"]["passed"] is False


@pytest.mark.slow
def test_that_where_little_varies_an_ordinary_result_is_verified():
    for mask in ["gaussian:9:1.5", "log:9:1.4", "box:5", "sobel-x"]:
        for picture in [BELL, BELL + np.float32(0.25), FLAT]:
            assert engine.apply(picture, mask, border="mirror", device="cpu", budget_s=0.0).result.is_proven


@pytest.mark.slow
def test_that_an_operation_is_proven_wherever_it_keeps_the_values():
    three = {"median": {"size": 3}}
    for asked in ["gradient-magnitude", "bilateral", "find-patch", "median"]:
        for picture in (BELL, BELL + np.float32(0.25), TEXTURE):
            how = {"device": "cpu", "budget_s": 0.0} | three.get(asked, {})
            result = engine.operate(picture, asked, **how).result
            # The squares of differences of 1/16 are right; the derivatives' sums of 4e6 are not.
            assert result.is_proven is not (asked == "gradient-magnitude" and picture is TEXTURE)


@pytest.mark.parametrize("chain", ["sobel-magnitude", "difference-of-gaussians", "edge-map"])
def test_that_a_chain_is_judged_by_its_result(chain):
    assert engine.chain(BELL, chain, device="cpu", budget_s=0.0).result.is_proven
    # Of the edge map every sample lies within rounding of the threshold.
    lost = engine.chain(TEXTURE, chain, device="cpu", budget_s=0.0).result
    assert (lost.is_proven, lost.verification.is_unproven) == (False, True)


def judged(result, image, mask, added=0.0):
    problem = describe_problem(image, mask, Border.MIRROR, 0.0, result.dtype.name)
    return filtering.verify(result, image, mask, problem, added=added)


@pytest.mark.parametrize("texture", [0.0, 10.0])
def test_that_an_error_that_follows_a_value_far_away_explains_nothing_here(texture):
    image = (20 + texture * RANDOM.random((40, 40, 1))).astype(np.float32)
    result = image.copy()
    image[3, 4] = result[3, 4] = 1e20
    result[30, 30] = -270.0
    found = judged(result, image, Mask([[1.0]]), added=1.2e10)
    assert (found.passed, found.is_unproven, found.unproven_samples) == (False, True, 1)
    assert judged(image, image, Mask([[1.0]]), added=1.2e10).exact


def test_that_a_result_of_8_bit_may_be_a_step_off_and_not_the_whole_range():
    image = RANDOM.integers(100, 104, (40, 40, 1), np.uint8)
    result, mask = image.copy(), Mask([[1.0]])
    result[5, 6] += 1
    # A float32 sum that is off by 0.6 may be rounded to the next number.
    image_of_sums = Mask([[1.0 + 2.0**-20]])
    assert judged(result, image, image_of_sums, added=0.6).passed
    assert not judged(result, image, mask).is_unproven
    result[5, 6] = 255
    assert judged(result, image, image_of_sums, added=300.0).is_unproven


def test_that_a_product_whose_terms_cancel_out_is_not_verified():
    a = (1e6 + RANDOM.random((20, 64))).astype(np.float32)
    b = np.where(np.arange(64) % 2, 1, -1)[:, np.newaxis] * (1 + RANDOM.random((64, 20)) / 1e6)
    b = b.astype(np.float32)
    exact = (a.astype(np.float64) @ b.astype(np.float64)).astype(np.float32)
    shape = MatrixProduct(20, 64, 20)
    assert product.verify(exact, a, b, shape, 64).passed
    off = exact + np.float32(1.0)
    assert product.verify(off, a, b, shape, 64).is_unproven
    ordinary = RANDOM.standard_normal((20, 64)).astype(np.float32)
    assert product.verify(ordinary @ b, ordinary, b, shape, 64).passed


def test_that_what_was_checked_is_counted_and_said():
    image, mask = RANDOM.random((300, 400, 1)).astype(np.float32), Mask([[1.0]])
    problem = describe_problem(image, mask, Border.ZERO, 0.0)
    found = filtering.verify(image, image, mask, problem, affordable=9)
    step = int(found.chosen.split("every ")[1].split("th")[0])
    assert 0 < found.checked_pixels < found.total_pixels == 120_000
    assert step >= 7
    assert found.passed
    for number in (f"{found.checked_pixels:,}", "120,000", f"every {step}th row and column"):
        assert number in found.sentence()
    a, b = np.ones((300, 20), np.float32), np.ones((20, 400), np.float32)
    multiplied = product.verify(a @ b, a, b, MatrixProduct(300, 20, 400), 20, affordable=20 * 30_000)
    assert multiplied.passed
    assert multiplied.checked_pixels < multiplied.total_pixels == 120_000
    result = image.copy()
    result[0, :3] += 1
    wrong = filtering.verify(result, image, mask, problem, affordable=9)
    assert (wrong.wrong_samples, wrong.is_unproven) == (3, False)
