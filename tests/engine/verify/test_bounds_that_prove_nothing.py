"""A bound as large as what is near it proves nothing: such a result is neither verified nor fast."""

import numpy as np
import pytest

import engine
from engine.geometry.border import Border
from engine.mask.mask import Mask
from engine.tasks.product import oracle as product
from engine.tasks.product.problem import MatrixProduct
from engine.work.filter_task import describe_problem
from engine.work.filtering import oracle

RANDOM = np.random.default_rng(41)
# A float32 near 1e6 is a multiple of 1/16: of a texture of 1 sums of 81 of them keep little.
TEXTURE = (1e6 + RANDOM.random((50, 60))).astype(np.float32)
ROWS, COLUMNS = np.mgrid[:50, :60]
BELL = np.exp(-((ROWS - 20.0) ** 2 + (COLUMNS - 30.0) ** 2) / 40).astype(np.float32)
FLAT = np.full((50, 60), 0.3, np.float32)


@pytest.mark.parametrize("mask", ["gaussian:9:1.5", "log:9:1.4", "box:9"])
def test_that_a_texture_that_is_lost_in_rounding_is_not_verified_and_has_no_speed(mask):
    result = engine.apply(TEXTURE, mask, border="mirror", device="cpu", budget_s=0.01).result
    assert (result.is_proven, result.verification.is_unproven, result.kernel_ms) == (False, True, None)
    assert result.status.startswith("not verified: ")
    assert result.as_json()["verification"]["passed"] is False


def test_that_where_little_varies_an_ordinary_result_is_verified():
    for mask in ["gaussian:9:1.5", "log:9:1.4", "box:5", "sobel-x"]:
        for picture in [BELL, BELL + np.float32(0.25), FLAT]:
            assert engine.apply(picture, mask, border="mirror", device="cpu", budget_s=0.01).result.is_proven


def test_that_an_operation_is_proven_wherever_it_keeps_the_values():
    for asked in ["gradient-magnitude", "bilateral", "find-patch", "median"]:
        for picture in (BELL, BELL + np.float32(0.25), TEXTURE):
            result = engine.operate(picture, asked, device="cpu", budget_s=0.01).result
            # The squares of differences of 1/16 are right; the derivatives' sums of 4e6 are not.
            assert result.is_proven is not (asked == "gradient-magnitude" and picture is TEXTURE)


@pytest.mark.parametrize("chain", ["sobel-magnitude", "difference-of-gaussians", "edge-map"])
def test_that_a_chain_is_judged_by_its_result(chain):
    assert engine.chain(BELL, chain, device="cpu", budget_s=0.01).result.is_proven
    # Of the edge map every sample lies within rounding of the threshold.
    lost = engine.chain(TEXTURE, chain, device="cpu", budget_s=0.01).result
    assert (lost.is_proven, lost.verification.is_unproven) == (False, True)


def judged(result, image, mask, added=0.0):
    problem = describe_problem(image, mask, Border.MIRROR, 0.0, result.dtype.name)
    return oracle.verify(result, image, mask, problem, added=added)


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
    found = oracle.verify(image, image, mask, problem, affordable=9)
    step = int(found.chosen.split("every ")[1].split("th")[0])
    assert 0 < found.checked_pixels < found.total_pixels == 120_000
    assert step >= 7
    for number in (f"{found.checked_pixels:,}", "120,000", f"every {step}th row and column"):
        assert number in found.sentence()
    result = image.copy()
    result[0, :3] += 1
    wrong = oracle.verify(result, image, mask, problem, affordable=9)
    assert (wrong.wrong_samples, wrong.is_unproven) == (3, False)
