"""Sizes, tiles and matrices that a person gives: read, or refused in words."""

import numpy as np
import pytest

from engine.errors import BadValue
from engine.tasks.product.operands import as_matrix, product_of, random_matrices, refuse_too_large
from engine.tasks.product.problem import MAX_SIDE, MatrixProduct
from engine.tasks.product.tile import as_tile


def test_that_sizes_are_read():
    read = {text: MatrixProduct.parse(text) for text in ("512", "17x33x5", " 1 X 2 × 3 ")}
    assert list(read.values()) == [
        MatrixProduct(512, 512, 512), MatrixProduct(17, 33, 5), MatrixProduct(1, 2, 3),
    ]  # fmt: skip


def test_that_a_product_knows_its_operations_and_bytes():
    product = MatrixProduct(2, 3, 5)
    assert (product.multiply_adds, product.flops, product.values) == (30, 60, 10)
    assert product.bytes == 4 * (6 + 15 + 10)
    assert product.size_text == "2 x 3 x 5"


def test_that_matrices_of_less_than_the_limit_are_taken():
    refuse_too_large(MatrixProduct(16_384, 16_384, 16_384))


@pytest.mark.parametrize(("value", "tile"), [(2, 2), (32, 32), ("16", 16), (np.int64(7), 7), (8.0, 8)])
def test_that_a_tile_is_read(value, tile):
    assert as_tile(value) == tile


@pytest.mark.parametrize(
    ("value", "nearest"),
    [(1, 2), (0, 2), (-5, 2), (33, 32), (10**9, 32), (3.7, 4), ("3.7", 4), ("x", 16), ("", 16), (True, 16),
     (None, 16), (float("nan"), 16), (float("inf"), 32), ("1e1", 16)],
)  # fmt: skip
def test_that_what_is_no_tile_is_refused_with_the_nearest_legal_one(value, nearest):
    with pytest.raises(BadValue, match=rf"a whole number from 2 to 32.*nearest legal tile is {nearest}\."):
        as_tile(value)


ONE_EXAMPLE = r"rows x inner x columns.*17x33x5"
RANGE = r"from 1 to 1,048,576"


@pytest.mark.parametrize(
    ("read", "given", "words"),
    [
        *((MatrixProduct.parse, (text,), ONE_EXAMPLE)
          for text in ("", "big", "3x4", "1x2x3x4", "1.5", "-3", "9999999999")),
        *((MatrixProduct, sides, RANGE) for sides in ((0, 1, 1), (1, -1, 1), (1, 1, MAX_SIDE + 1))),
        (refuse_too_large, (MatrixProduct(MAX_SIDE, MAX_SIDE, MAX_SIDE),),
         r"the three take 12\.0 TiB, the limit is 4\.0 GiB"),
        (product_of, (np.ones((2, 3)), np.ones((4, 5))),
         r"A of 2 x 3 times B of 4 x 5: A has 3 columns and B has 4 rows"),
        (product_of, (np.ones((2, 3)), np.ones((4, 3))), r"B turned \(b\.T\) would fit"),
        (as_matrix, ("A", [1, 2]), "matrix A has 1 axis:"),
        (as_matrix, ("A", 3), "matrix A has 0 axes"),
        (as_matrix, ("A", np.ones((2, 2, 2))), "matrix A has 3 axes"),
        (as_matrix, ("A", np.ones((0, 3))), "it has no elements"),
        (as_matrix, ("A", [[1, 2], [3]]), "its rows differ in length"),
        (as_matrix, ("A", [["a"]]), "only real numbers"),
        (as_matrix, ("A", [[1j]]), "only real numbers"),
    ],
)  # fmt: skip
def test_that_what_is_no_size_or_no_matrix_is_refused_in_words(read, given, words):
    with pytest.raises(BadValue, match=words):
        read(*given)


def test_that_real_numbers_of_any_kind_and_layout_become_dense_float32():
    for values in ([[True, False]], np.arange(6, dtype=np.uint8).reshape(2, 3), np.ones((3, 4))[::2, ::-1]):
        matrix = as_matrix("A", values)
        assert matrix.dtype == np.float32
        assert matrix.flags.c_contiguous
        assert np.array_equal(matrix, np.asarray(values))
    assert np.isinf(as_matrix("A", [[1e300]])).all()


def test_that_a_seed_names_both_matrices():
    product = MatrixProduct(20, 30, 40)
    a, b = random_matrices(product, 3)
    assert (a.shape, b.shape, a.dtype, b.dtype) == ((20, 30), (30, 40), np.float32, np.float32)
    assert np.array_equal(a, random_matrices(product, 3)[0])
    assert not np.array_equal(a, random_matrices(product, 4)[0])
    assert not np.array_equal(a.ravel()[:600], b.ravel()[:600])
    assert -1 <= a.min() < -0.9
    assert 0.9 < a.max() < 1
