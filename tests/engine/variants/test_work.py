"""The models of work against counts: the variants' own source, run in plain Python with arrays that count."""

import numpy as np
import pytest

from engine.device.result_rules import cpu_largest
from engine.geometry.block import Block
from engine.geometry.border import Border
from engine.mask.factors import factor
from engine.mask.mask import Mask
from engine.results.work import Work
from engine.variants.cpu import (
    parallel,
    separable,
    separable_serial,
    separable_serial_code,
    serial,
    serial_code,
)
from engine.variants.cpu.edges import Halo
from engine.variants.tensor_cores.weight_digits import digits_of
from engine.variants.tiles.byte_tile_shape import byte_tile_shape
from engine.work.filtering import oracle
from engine.work.filtering.resolve import describe_problem
from engine.work.filtering.variants import VARIANTS, variant
from tests.engine.variants.cases import Case, compare, error_in_bounds
from tests.engine.variants.counting import CountingArray, Counts, count
from tests.engine.variants.suited import mask_for, suited, typed

CUDA = [variant for variant in VARIANTS if variant.has_kernels]
RANDOM = np.random.default_rng(4)


# Each pair of a type, a block and a border that may go wrong together, but not every three.
@pytest.mark.parametrize(
    ("dtype", "block", "border"),
    [
        ("float32", Block(4, 3), Border.CONSTANT),
        ("float32", Block(16, 16), Border.REFLECT),
        ("uint8", Block(4, 3), Border.REFLECT),
        ("uint8", Block(2, 1), Border.CONSTANT),
    ],
    ids=str,
)
@pytest.mark.parametrize(
    "variant",
    [v for v in CUDA if not v.uint8_only and "uint8" in v.picture_types],
    ids=lambda variant: variant.key,
)
@pytest.mark.slow
def test_that_the_model_of_a_cuda_variant_counts_what_its_source_does(variant, dtype, block, border):
    image = RANDOM.integers(0, 256, (7, 6, 2)).astype(dtype)
    case = Case("work", mask_shape=(3, 4), anchor=(0, 3), offset=1.5, block=block, border=border)
    suited_case = suited(variant, case)
    mask, block = suited_case.mask(), suited_case.block
    problem = describe_problem(image, mask, border, 2.5)
    counts = count(variant, problem, mask, block, image)
    model = variant.work(problem, block)
    other_loads = counts.weight_loads + counts.scratch_loads
    stores = counts.out_stores + counts.scratch_stores
    assert model == Work(
        flops=2 * counts.multiplications,
        global_loads=counts.picture_loads + other_loads,
        global_stores=stores,
        global_load_bytes=counts.picture_loads * image.itemsize + other_loads * 4,
        global_store_bytes=stores * 4,
        minimum_bytes=model.minimum_bytes,
        picture_loads=counts.picture_loads,
        shared_loads=counts.shared_loads,
        shared_stores=counts.shared_stores,
        constant_loads=counts.constant_loads,
    )
    assert error_in_bounds(variant, problem, mask, image, counts.out) <= 1


@pytest.mark.parametrize("dtype", ["uint8", pytest.param("uint16", marks=pytest.mark.slow)])
@pytest.mark.parametrize("variant", [v for v in CUDA if v.integer_output], ids=lambda variant: variant.key)
@pytest.mark.slow
def test_that_the_model_counts_quantised_results_by_their_own_size(variant, dtype):
    case = Case("work", 7, 6, 2, dtype, weights="halves", offset=9.0, is_quantised=True)
    suited_case = suited(variant, case)
    image, mask, problem = suited_case.picture(), suited_case.mask(), suited_case.problem()
    counts = count(variant, problem, mask, suited_case.block, image)
    model = variant.work(problem, suited_case.block)
    itemsize = problem.result_itemsize
    assert model.global_store_bytes == counts.out_stores * itemsize + counts.scratch_stores * 4
    assert model.minimum_bytes == 7 * 6 * 2 * 2 * itemsize
    added = variant.added_to(problem, mask, image)
    compare(counts.out, image, mask, suited_case, added)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("key", "channels", "border", "shape"),
    [
        ("digit-sums", 1, Border.CONSTANT, (3, 4)),
        ("digit-sums", 3, Border.REFLECT, (3, 3)),
        ("digit-sums", 4, Border.ZERO, (2, 5)),
        ("register-blocked", 1, Border.CONSTANT, (3, 4)),
        ("register-blocked", 3, Border.REFLECT, (3, 4)),
    ],
)
def test_that_the_model_of_bytes_counts_what_the_source_does(key, channels, border, shape):
    image = RANDOM.integers(0, 256, (7, 6, channels), np.uint8)
    # Halves: sums are exact, and some lie in the middle of two whole numbers.
    mask = Mask(RANDOM.integers(-3, 4, shape) / 2, anchor=(0, shape[1] - 1), offset=1.5)
    problem = describe_problem(image, mask, border, 3.0, "uint8")
    assert digits_of(mask).count == 1
    assert byte_tile_shape(problem) is not None
    known, block = variant(key), variant(key).default_block
    counts, model = count(known, problem, mask, block, image), known.work(problem, block)
    # At an edge only those cells are filled that a result reads; the model counts whole tiles.
    assert model.picture_loads >= counts.picture_loads > 0
    assert model.shared_stores >= counts.shared_stores > 0
    assert model.global_loads - model.picture_loads == counts.weight_loads
    assert (model.shared_loads, model.constant_loads) == (counts.shared_loads, counts.constant_loads)
    assert model.flops == 2 * counts.multiplications
    assert model.global_store_bytes == counts.out_stores
    exact = oracle.correlate(image, mask, border, 3.0)
    assert np.array_equal(counts.out, np.rint(np.clip(exact, 0, 255)).astype(np.uint8))


def as_python(module, monkeypatch):
    """Let a compiled module's functions run as they are written."""
    monkeypatch.setattr(module, "entry_point", lambda: None)
    for name, value in vars(module).copy().items():
        if hasattr(value, "py_func"):
            monkeypatch.setattr(module, name, value.py_func)


@pytest.mark.parametrize("border", list(Border))
@pytest.mark.slow
def test_that_the_model_of_the_serial_loops_counts_what_they_do(border, monkeypatch):
    as_python(serial_code, monkeypatch)
    image = RANDOM.integers(0, 256, (5, 4, 3), np.uint16)
    mask = Mask(RANDOM.standard_normal((3, 6)))
    problem = describe_problem(image, mask, border, 0.0)
    counts = Counts()
    picture, weights, out = (
        CountingArray(values, counts, kind)
        for values, kind in (
            (image.reshape(5, 12), "picture"), (mask.weights32, "weight"),
            (np.empty((5, 12), np.float32), "out"),
        )
    )  # fmt: skip
    halo, zero = Halo(problem), np.float32(0)
    beyond = mask.anchor[0], halo.before, halo.outside_rows, halo.outside_samples, 3
    serial_code.correlate_serial(picture, out, 0, weights, *beyond, zero, zero, cpu_largest("float32"))
    model = serial.VARIANT.work(problem, Block(1, 1))
    assert model.global_loads == counts.picture_loads + counts.weight_loads
    assert model.global_load_bytes == counts.picture_loads * 2 + counts.weight_loads * 4
    assert model.global_store_bytes == counts.out_stores * 4
    assert model.flops == 2 * counts.multiplications


@pytest.mark.slow
@pytest.mark.parametrize("border", list(Border))
def test_that_the_model_of_the_serial_loops_in_two_passes_counts_what_they_do(border, monkeypatch):
    as_python(separable_serial_code, monkeypatch)
    image = RANDOM.integers(0, 256, (5, 4, 3), np.uint16)
    mask = Mask(np.outer([1.0, 3.0, 1.0], [1.0, 2.0, 0.0, 5.0]), anchor=(2, 0))
    problem = describe_problem(image, mask, border, 0.0)
    factors, counts = factor(mask), Counts()
    picture, row, column, sums, out = (
        CountingArray(values, counts, kind)
        for values, kind in (
            (image.reshape(5, 12), "picture"), (factors.row[np.newaxis], "weight"),
            (factors.column, "weight"), (np.empty((5, 12), np.float32), "scratch"),
            (np.empty((5, 12), np.float32), "out"),
        )
    )  # fmt: skip
    halo, zero, largest = Halo(problem), np.float32(0), cpu_largest("float32")
    columns = halo.before, halo.outside_samples, 3
    separable_serial_code.along_rows_serial(picture, sums, row, *columns, zero)
    rows = column, 2, halo.outside_rows
    separable_serial_code.down_columns_serial(sums, out, 0, *rows, zero, zero, largest)
    model = separable_serial.VARIANT.work(problem, Block(1, 1))
    assert model.picture_loads == counts.picture_loads
    assert model.global_loads == counts.picture_loads + counts.scratch_loads + counts.weight_loads
    assert model.global_stores == counts.out_stores + counts.scratch_stores
    assert model.flops == 2 * counts.multiplications
    assert np.array_equal(out.values.reshape(image.shape), oracle.correlate(image, mask, border, 0.0))


@pytest.mark.parametrize(("module", "multiply_adds"), [(parallel, 12), (separable, 7)])
def test_that_the_model_of_a_banded_cpu_variant_counts_each_sample_once(module, multiply_adds):
    mask = Mask(np.ones((4, 3)), anchor=(3, 0))
    problem = describe_problem(np.zeros((97, 100, 3), np.uint8), mask, Border.WRAP, 0.0)
    model = module.work(problem, Block(1, 1))
    assert model.picture_loads == model.global_loads == 97 * 100 * 3
    assert model.flops == 2 * 97 * 100 * 3 * multiply_adds


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.key)
def test_that_least_bytes_and_intensity_follow_from_the_problem(variant):
    mask = mask_for(variant, 3, 5)
    problem = typed(variant, describe_problem(np.zeros((7, 11, 3), np.uint16), mask, Border.WRAP, 0.0))
    work = variant.work(problem, variant.default_block)
    assert work.minimum_bytes == 7 * 11 * problem.channels * (problem.itemsize + problem.result_itemsize)
    assert work.cgma == work.flops / work.global_loads
    assert work.arithmetic_intensity == work.flops / (work.global_load_bytes + work.global_store_bytes)
    assert work == variant.work(problem, variant.default_block)
