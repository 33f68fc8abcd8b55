"""Sizes, tiles and matrices that a person gives, the oracle of products and its bound."""

import math

import numpy as np
import pytest

from engine.errors import BadValue
from engine.tasks.product import oracle
from engine.tasks.product.oracle import verify
from engine.tasks.product.problem import MAX_SIDE, MatrixProduct, as_tile
from engine.tasks.product.task import as_matrix, product_of, random_matrices, refuse_too_large
from engine.verify.verification import Region


def test_that_a_product_knows_its_operations_and_bytes():
    read = {text: MatrixProduct.parse(text) for text in ("512", "17x33x5", " 1 X 2 × 3 ")}
    assert list(read.values()) == [
        MatrixProduct(512, 512, 512), MatrixProduct(17, 33, 5), MatrixProduct(1, 2, 3),
    ]  # fmt: skip
    product = MatrixProduct(2, 3, 5)
    assert (product.multiply_adds, product.flops, product.values) == (30, 60, 10)
    assert product.bytes == 4 * (6 + 15 + 10)
    assert product.size_text == "2 × 3 × 5"
    refuse_too_large(MatrixProduct(16_384, 16_384, 16_384))


def test_that_a_tile_is_read_and_what_is_none_is_refused_with_the_nearest_legal_one():
    for value, tile in [(2, 2), (32, 32), ("16", 16), (np.int64(7), 7), (8.0, 8)]:
        assert as_tile(value) == tile
    refused = {
        2: (1, 0, -5),
        32: (33, 10**9, math.inf),
        4: (3.7, "3.7"),
        16: ("x", "", True, None, math.nan, "1e1"),
    }
    for nearest, values in refused.items():
        for value in values:
            with pytest.raises(BadValue, match=rf"a whole number from 2 to 32.*legal tile is {nearest}\."):
                as_tile(value)


ONE_EXAMPLE = r"rows × inner × columns.*17x33x5"
NO_SIZES = "", "big", "3x4", "1x2x3x4", "1.5", "-3", "9999999999"
RANGE = r"from 1 to 1,048,576"


def test_that_what_is_no_size_or_no_matrix_is_refused_in_words():
    for read, given, words in [
        *((MatrixProduct.parse, (text,), ONE_EXAMPLE) for text in NO_SIZES),
        *((MatrixProduct, sides, RANGE) for sides in ((0, 1, 1), (1, -1, 1), (1, 1, MAX_SIDE + 1))),
        (refuse_too_large, (MatrixProduct(*3 * [MAX_SIDE]),), r"take 12\.0 TiB, the limit is 4\.0 GiB"),
        (product_of, ((2, 3), (4, 5)), r"A of 2 × 3 times B of 4 × 5: A has 3 columns and B has 4 rows"),
        (product_of, ((2, 3), (4, 3)), r"B transposed \(b\.T\) would fit"),
        (as_matrix, ("A", [1, 2]), "matrix A has 1 axis:"),
        (as_matrix, ("A", 3), "matrix A has 0 axes"),
        (as_matrix, ("A", np.ones((2, 2, 2))), "matrix A has 3 axes"),
        (as_matrix, ("A", np.ones((0, 3))), "it has no elements"),
        (as_matrix, ("A", [[1, 2], [3]]), "its rows differ in length"),
        (as_matrix, ("A", [["a"]]), "only real numbers"),
        (as_matrix, ("A", [[1j]]), "only real numbers"),
    ]:
        with pytest.raises(BadValue, match=words):
            read(*given)


def test_that_real_numbers_become_dense_float32():
    for values in ([[True, False]], np.arange(6, dtype=np.uint8).reshape(2, 3), np.ones((3, 4))[::2, ::-1]):
        matrix = as_matrix("A", values)
        assert matrix.dtype == np.float32
        assert matrix.flags.c_contiguous
        assert np.array_equal(matrix, np.asarray(values))
    assert np.isinf(as_matrix("A", [[1e300]])).all()
    product = MatrixProduct(20, 30, 40)
    a, b = random_matrices(product, 3)
    assert (a.shape, b.shape, a.dtype, b.dtype) == ((20, 30), (30, 40), np.float32, np.float32)
    assert np.array_equal(a, random_matrices(product, 3)[0])
    assert not np.array_equal(a, random_matrices(product, 4)[0])
    assert not np.array_equal(a.ravel()[:600], b.ravel()[:600])
    assert -1 <= a.min() < -0.9
    assert 0.9 < a.max() < 1


RANDOM = np.random.default_rng(6)


def matrices(rows, inner, columns):
    return (
        RANDOM.uniform(-1, 1, (rows, inner)).astype(np.float32),
        RANDOM.uniform(-1, 1, (inner, columns)).astype(np.float32),
    )


def test_that_the_oracle_is_the_definition_with_nan_and_infinity_where_it_takes_them():
    a, b = matrices(6, 50, 7)
    expected = oracle.exact_product(a, b, Region(1, 5, 2, 7))
    sizes = oracle.magnitudes(a, b, Region(1, 5, 2, 7))
    for row in range(4):
        for column in range(5):
            terms = [float(x) * float(y) for x, y in zip(a[row + 1], b[:, column + 2], strict=True)]
            # Products of two float32 are exact in float64, and fsum rounds once.
            assert abs(expected[row, column] - math.fsum(terms)) <= 50 * 2.0**-53 * sizes[row, column]
            assert sizes[row, column] == pytest.approx(math.fsum(map(abs, terms)), rel=1e-13)
    a, b = np.ones((3, 3), np.float32), np.ones((3, 3), np.float32)
    a[0, 0], a[1, 2], b[2, 1] = np.nan, np.inf, 0.0
    expected = oracle.exact_product(a, b, Region(0, 3, 0, 3))
    assert np.isnan(expected[0]).all()
    assert np.isinf(expected[1, [0, 2]]).all()
    assert np.isnan(expected[1, 1])
    assert expected[2].tolist() == [3.0, 2.0, 3.0]
    assert oracle.magnitudes(a, b, Region(0, 3, 0, 3))[1].tolist() == [2.0, 2.0, 2.0]


def test_that_nothing_beyond_the_bound_of_the_roundings_is_verified_and_whole_numbers_are_equal():
    u = 2.0**-24
    (bound,) = oracle.rounding_bound(np.array([3.0]), 9, 40)
    assert bound == 10 * u / (1 - 10 * u) * 3.0 + 41 * 2.0**-149
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
