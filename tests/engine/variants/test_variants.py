"""Every registered variant on every case, on tiny weights and on dark pictures, against the oracle."""

from functools import cache

import numpy as np
import pytest

from engine.device.device_list import cpu_info
from engine.device.launches import DeviceKind
from engine.device_info import AUTO
from engine.geometry.block import Limits
from engine.geometry.border import Border
from engine.mask.factors import factor
from engine.mask.mask import Mask
from engine.work.filter_task import describe_problem
from engine.work.filtering.oracle import verify
from engine.work.filtering.planner import choose
from engine.work.filtering.variants import VARIANTS
from tests.engine.variants.case_lists import full_cases
from tests.engine.variants.cases import error_in_bounds, faults_of, result_of
from tests.engine.variants.executed import check_all
from tests.engine.variants.suited import cases_in_simulator, matrix_in_simulator, suited_cases

CPU = [known for known in VARIANTS if known.device is DeviceKind.CPU]
CUDA = [known for known in VARIANTS if known.has_kernels]


every_kernel = pytest.mark.parametrize("known", CUDA, ids=lambda known: known.key)


def test_that_a_cpu_variant_agrees_with_the_oracle():
    for known in CPU:
        assert faults_of(known, suited_cases(known, full_cases()), "cpu") == {}


@pytest.mark.slow
@every_kernel
def test_that_a_kernel_agrees_with_the_oracle_its_model_and_its_plan_in_the_simulator(known):
    assert faults_of(known, cases_in_simulator(known), "simulator", checked=check_all) == {}


@pytest.mark.matrix
@every_kernel
def test_that_a_kernel_agrees_with_the_oracle_with_each_border_type_and_mask(known):
    assert faults_of(known, matrix_in_simulator(known), "simulator") == {}


LIMITS = Limits()
SCALES = (1e-45, 1e-43, 1e-41, 1e-40, 1e-39, 1e-38, 1e-36, 1e-30)
SHAPES = ((3, 3), (3, 9), (13, 3), (13, 13))
SIMULATED = [known for known in VARIANTS if known.has_kernels and known.rank == 1]


@cache
def masks_of(scale, shapes):
    """Return products of broken and of whole numbers, products exact in float32, and equal weights."""
    random = np.random.default_rng(8)
    step = 2.0 ** np.round(np.log2(scale))
    found = []
    for rows, columns in shapes:
        broken = np.outer(random.uniform(0.1, 1, rows), random.uniform(0.1, 1, columns))
        whole = np.outer(random.integers(1, 9, rows), random.integers(-8, 9, columns)).astype(float)
        column = (random.uniform(0.1, 1, (rows, 1)) * scale).astype(np.float32)
        exact, equal = column * np.arange(1.0, columns + 1), np.ones_like(broken) * scale
        tables = (broken * scale, whole * scale, whole * step, exact, equal)
        found += [Mask(table) for table in tables if np.float32(np.abs(table).max()) > 0]
    return tuple(found)


def pictures(height, width):
    random = np.random.default_rng(9)
    return (
        random.standard_normal((height, width, 1)).astype(np.float32),
        (random.standard_normal((height, width, 1)) * 1e6).astype(np.float32),
        random.integers(0, 256, (height, width, 1), np.uint8),
    )


def over_the_bound(known, mask, picture):
    """Return the largest error of a variant's results, in bounds; None where it refuses the mask."""
    problem = describe_problem(picture, mask, Border.MIRROR, 0.0)
    if known.why_not(problem, mask, known.default_block, LIMITS, VARIANTS) is not None:
        return None
    out = result_of(known, problem, mask, known.default_block, picture)
    return error_in_bounds(known, problem, mask, picture, out)


def assert_bound_on_the_cpu(scale, shapes):
    errors = {
        (known.key, repr(mask), str(picture.dtype)): over_the_bound(known, mask, picture)
        for mask in masks_of(scale, shapes)
        for picture in pictures(17, 37)
        for known in CPU
    }
    found = {case: error for case, error in errors.items() if error is not None}
    assert {case: error for case, error in found.items() if not error <= 1.0} == {}
    assert any(key == "cpu-separable" for key, *_ in found)


@pytest.mark.slow
def test_that_tiny_weights_hold_the_bound_on_the_cpu():
    for number, scale in enumerate(SCALES):
        assert_bound_on_the_cpu(scale, SHAPES[number % 4 :][:1])


@pytest.mark.matrix
def test_that_tiny_weights_of_each_shape_hold_the_bound_on_the_cpu():
    for scale in SCALES:
        assert_bound_on_the_cpu(scale, SHAPES)


@pytest.mark.slow
@pytest.mark.parametrize("scale", [1e-40, 1e-38])
def test_that_tiny_weights_hold_the_bound_in_the_kernels_own_source(scale):
    found = {
        (known.key, repr(mask)): over_the_bound(known, mask, pictures(6, 7)[number % 3])
        for number, mask in enumerate(masks_of(scale, ((3, 7),)))
        for known in SIMULATED
    }
    assert {known: error for known, error in found.items() if error is not None and not error <= 1.0} == {}
    assert {key for (key, _), error in found.items() if error is not None} >= {
        known.key for known in SIMULATED
    }


@pytest.mark.slow
def test_that_what_auto_chooses_for_tiny_weights_is_never_wrong():
    """Proven where results have more than a few of float32's smallest steps; below, open but never wrong."""
    for number, scale in enumerate(SCALES):
        for mask in masks_of(scale, SHAPES[3 * (number % 2) :][:1]):
            for picture in pictures(40, 61):
                problem = describe_problem(picture, mask, Border.MIRROR, 0.0)
                choice = choose(AUTO, problem, mask, None, cpu_info())
                out = np.empty(picture.shape, np.float32)
                choice.variant.prepare(problem, mask, choice.block).launch(picture, out)
                checked = verify(out, picture, mask, problem)
                is_open = scale < 1e-40 and not checked.wrong_samples
                assert checked.passed or is_open, (choice.variant.key, mask, checked.reason, factor(mask))


RANDOM = np.random.default_rng(13)
BORDERS = tuple(Border)


def dark_picture(number):
    """Return steps of 2^-149, random or all the same; or numbers on both sides of the normal ones."""
    shape = (*RANDOM.integers(3, 40, 2), 1)
    kind = number % 3
    if kind == 0:
        values = np.full(shape, RANDOM.integers(1, 3000) * 2.0**-149)
    elif kind == 1:
        values = RANDOM.integers(-2000, 2000, shape) * 2.0**-149
    else:
        values = RANDOM.standard_normal(shape) * 10.0 ** RANDOM.uniform(-45, -36)
    return values.astype(np.float32)


def product(number):
    """Return a column times a row: ones, whole numbers, numbers of any size, or weights that add up to 1."""
    rows, columns = RANDOM.integers(1, 16, 2)
    kind = number % 4
    if kind == 0:
        weights = np.ones((rows, columns))
    elif kind == 1:
        weights = np.outer(RANDOM.integers(1, 10, rows), RANDOM.integers(-9, 10, columns))
    elif kind == 2:
        weights = np.outer(
            RANDOM.standard_normal(rows) * 10.0 ** RANDOM.uniform(-5, 5), RANDOM.standard_normal(columns)
        )
    else:
        weights = np.full((rows, columns), 1 / (rows * columns))
    return Mask(weights, offset=float(RANDOM.choice([0.0, 1e-41])))


@pytest.mark.slow
def test_that_random_dark_pictures_hold_the_bound_of_every_variant():
    worst = {variant: 0.0 for variant in VARIANTS if variant.device is DeviceKind.CPU}
    for number in range(60):
        image, mask, border = dark_picture(number), product(number), BORDERS[number % len(BORDERS)]
        problem = describe_problem(image, mask, border, 3e-44)
        for variant in worst:
            if variant.unsupported(problem, mask, variant.default_block, Limits()) is not None:
                continue
            out = np.empty(image.shape, np.float32)
            variant.prepare(problem, mask, variant.default_block).launch(image, out)
            found = error_in_bounds(variant, problem, mask, image, out)
            worst[variant] = max(worst[variant], found)
    assert {variant.key: error for variant, error in worst.items() if not 0.0 < error <= 1.0} == {}
