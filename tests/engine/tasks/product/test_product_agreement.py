"""The oracle of products, its bound, and what is checked."""

import math

import numpy as np
import pytest

from engine.tasks.product import oracle
from engine.tasks.product.agreement import verify
from engine.tasks.product.problem import MatrixProduct
from engine.verify.regions import Region

RANDOM = np.random.default_rng(6)


def matrices(rows: int, inner: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    return (
        RANDOM.uniform(-1, 1, (rows, inner)).astype(np.float32),
        RANDOM.uniform(-1, 1, (inner, columns)).astype(np.float32),
    )


def test_that_the_oracle_is_the_definition():
    a, b = matrices(6, 50, 7)
    expected = oracle.product(a, b, Region(1, 5, 2, 7))
    sizes = oracle.magnitudes(a, b, Region(1, 5, 2, 7))
    for row in range(4):
        for column in range(5):
            terms = [float(x) * float(y) for x, y in zip(a[row + 1], b[:, column + 2], strict=True)]
            # Products of two float32 are exact in float64, and fsum rounds once.
            assert abs(expected[row, column] - math.fsum(terms)) <= 50 * 2.0**-53 * sizes[row, column]
            assert sizes[row, column] == pytest.approx(math.fsum(map(abs, terms)), rel=1e-13)


def test_that_nan_and_infinity_go_where_the_definition_takes_them():
    a, b = np.ones((3, 3), np.float32), np.ones((3, 3), np.float32)
    a[0, 0], a[1, 2], b[2, 1] = np.nan, np.inf, 0.0
    expected = oracle.product(a, b, Region(0, 3, 0, 3))
    assert np.isnan(expected[0]).all()
    assert np.isinf(expected[1, [0, 2]]).all()
    assert np.isnan(expected[1, 1])
    assert expected[2].tolist() == [3.0, 2.0, 3.0]
    assert oracle.magnitudes(a, b, Region(0, 3, 0, 3))[1].tolist() == [2.0, 2.0, 2.0]


def test_that_the_bound_is_gamma_of_the_roundings_and_one_more():
    u = 2.0**-24
    (bound,) = oracle.rounding_bound(np.array([3.0]), 9, 40)
    assert bound == 10 * u / (1 - 10 * u) * 3.0 + 41 * 2.0**-149


def test_that_a_float32_product_is_verified_and_one_beyond_the_bound_is_not():
    a, b = matrices(20, 300, 30)
    product = MatrixProduct(20, 300, 30)
    result = (a.astype(np.float64) @ b.astype(np.float64)).astype(np.float32)
    assert verify(result, a, b, product, 300).exact
    largest = oracle.magnitudes(a, b, Region(0, 20, 0, 30))
    bound = oracle.rounding_bound(largest, 16, 300)
    for step, passed in ((0.9, True), (1.1, False)):
        off = result.astype(np.float64)
        off[7, 11] += step * bound[7, 11]
        verification = verify(off.astype(np.float32), a, b, product, 16)
        assert verification.passed is passed
        assert not verification.exact
        assert verification.bound == bound[7, 11]
        assert verification.checked_pixels == verification.total_pixels == 600
    assert verification.reason.startswith("not verified: row 7, column 11 is ")


def test_that_whole_numbers_must_be_equal_and_beyond_2_to_24_need_not():
    a, b = np.full((2, 4), 3, np.float32), np.full((4, 2), 5, np.float32)
    product = MatrixProduct(2, 4, 2)
    result = a @ b
    assert verify(result, a, b, product, 4).exact
    result[1, 0] = np.nextafter(result[1, 0], np.float32(0))
    assert not verify(result, a, b, product, 4).passed
    assert not verify(result, a, b, product, 4000).passed
    # The same error of one unit in the last place, where a float32 sum may really be off by it.
    a *= np.float32(2000)
    b *= np.float32(2000)
    result = a @ b
    result[1, 0] = np.nextafter(result[1, 0], np.float32(0))
    assert verify(result, a, b, product, 4).passed


@pytest.mark.parametrize("wrong", [np.nan, np.inf, 0.0])
def test_that_an_element_that_nobody_wrote_is_found(wrong):
    a, b = matrices(5, 6, 7)
    result = a @ b
    result[4, 6] = wrong
    verification = verify(result, a, b, MatrixProduct(5, 6, 7), 6)
    assert not verification.passed
    assert "row 4, column 6" in verification.reason
