"""Every registered variant on every case, on tiny weights and on dark pictures, against the oracle.

And the models of work against counts: of kernels what the interpreter counts, of loops the cells of rules.
"""

from functools import cache
from itertools import product

import numpy as np
import pytest

from engine.device.device_list import cpu_info
from engine.device.launches import DeviceKind
from engine.device_info import AUTO
from engine.geometry.block import Block, Limits
from engine.geometry.border import Border
from engine.mask.factors import factor
from engine.mask.mask import Mask
from engine.variants.cpu import parallel, serial
from engine.work.filter_task import describe_problem
from engine.work.filtering.oracle import verify
from engine.work.filtering.planner import choose
from engine.work.filtering.variants import VARIANTS, variant
from tests.engine.variants.case_lists import (
    cases_in_simulator,
    families,
    full_cases,
    has_value,
    mask_for,
    matrix_in_simulator,
    one_case,
    suited_cases,
    typed,
)
from tests.engine.variants.cases import check, error_in_bounds, faults_of, result_of
from tests.engine.variants.executed import check_all, check_model_of_bytes, observed

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


def test_that_kernels_are_tried_with_a_ghost_value_and_without_and_those_of_a_module_with_each_border():
    for family in (family for family in families() if family[0].has_kernels):
        borders = [{case.border for case in cases_in_simulator(known)} for known in family]
        assert set.union(*borders) == {*Border}
        assert all({has_value(border) for border in found} == {True, False} for found in borders)


@pytest.mark.matrix
@every_kernel
def test_that_a_kernel_agrees_with_the_oracle_with_each_border_type_and_mask(known):
    assert faults_of(known, matrix_in_simulator(known), "simulator") == {}


LIMITS = Limits()
SCALES = (1e-45, 1e-43, 1e-41, 1e-40, 1e-39, 1e-38, 1e-36, 1e-30, 1.0)
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


def dark_pictures(height, width):
    """Return steps of 2^-149, random and all the same, and numbers on both sides of the normal ones."""
    random, shape = np.random.default_rng(13), (height, width, 1)
    values = (
        random.integers(-2000, 2000, shape) * 2.0**-149,
        np.full(shape, 714 * 2.0**-149),
        random.standard_normal(shape) * 10.0 ** random.uniform(-45, -36, shape),
    )
    return [one.astype(np.float32) for one in values]


def over_the_bound(known, mask, picture, border=Border.MIRROR, block=None):
    """Return the largest error of a variant's results, in bounds; None where it refuses the mask."""
    problem, block = describe_problem(picture, mask, border, 0.0), block or known.default_block
    if known.why_not(problem, mask, block, LIMITS, VARIANTS) is not None:
        return None
    out = result_of(known, problem, mask, block, picture)
    return error_in_bounds(known, problem, mask, picture, out)


def assert_bound_on_the_cpu(scale, shapes):
    errors = {
        (known.key, repr(mask), number): over_the_bound(known, mask, picture)
        for mask in masks_of(scale, shapes)
        for number, picture in enumerate((*pictures(17, 37), *dark_pictures(17, 37)))
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
    found = {}
    for known in SIMULATED:
        # Of a shape, an anchor and channels for which its code is compiled anyhow.
        case = next(one for one in cases_in_simulator(known) if one.dtype == "float32")
        for number, one in enumerate(masks_of(scale, (case.mask_shape,))):
            picture = np.repeat(pictures(6, 7)[number % 3].astype(np.float32), case.channels, axis=2)
            mask = Mask(one.weights, case.anchor)
            found[known.key, repr(mask)] = over_the_bound(known, mask, picture, case.border, case.block)
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


@pytest.mark.slow
@pytest.mark.parametrize("key", ["digit-sums", "register-blocked"])
def test_that_the_model_of_bytes_counts_what_the_code_does_where_ghost_cells_have_a_value(key):
    how = {"dtype": "uint8", "cval": 3.0, "offset": 1.5, "weights": "halves", "is_quantised": True}
    case = one_case(variant(key), width=6, **how)
    assert case.border is Border.CONSTANT
    with observed(counted=True) as launches:
        check(variant(key), case, "simulator")
    check_model_of_bytes(variant(key), case, launches)


def cells_of(border, length, taps, anchor):
    """Return the cells inside the picture that the windows along one side have."""
    places = product(range(length), range(taps))
    return sum(border.rule(place + tap - anchor, length) >= 0 for place, tap in places)


def test_that_the_models_of_the_serial_loops_count_the_cells_that_the_border_has():
    mask = Mask(np.outer([1.0, 3.0, 1.0], [1.0, 2.0, 0.0, 5.0]), anchor=(2, 0))
    for border in Border:
        problem = describe_problem(np.zeros((5, 4, 3), np.uint16), mask, border, 0.0)
        rows, columns = cells_of(border, 5, 3, 2), cells_of(border, 4, 4, 0)
        both = serial.VARIANT, serial.SEPARABLE
        one_pass, two_passes = (one.work(problem, Block(1, 1)) for one in both)
        assert one_pass.picture_loads == rows * columns * 3
        assert one_pass.global_loads == rows * columns * 3 + 12 * 60
        assert one_pass.global_load_bytes == rows * columns * 3 * 2 + 12 * 60 * 4
        assert (one_pass.flops, one_pass.global_store_bytes) == (2 * 12 * 60, 60 * 4)
        assert two_passes.picture_loads == columns * 5 * 3
        assert two_passes.global_loads == columns * 5 * 3 + rows * 4 * 3 + (3 + 4) * 60
        assert (two_passes.flops, two_passes.global_stores) == (2 * (3 + 4) * 60, 2 * 60)


@pytest.mark.parametrize(("banded", "multiply_adds"), [(parallel.VARIANT, 12), (parallel.SEPARABLE, 7)])
def test_that_the_model_of_a_banded_cpu_variant_counts_each_sample_once(banded, multiply_adds):
    mask = Mask(np.ones((4, 3)), anchor=(3, 0))
    problem = describe_problem(np.zeros((97, 100, 3), np.uint8), mask, Border.WRAP, 0.0)
    model = banded.work(problem, Block(1, 1))
    assert model.picture_loads == model.global_loads == 97 * 100 * 3
    assert model.flops == 2 * 97 * 100 * 3 * multiply_adds


def test_that_least_bytes_and_intensity_follow_from_the_problem():
    for known in VARIANTS:
        mask = mask_for(known, 3, 5)
        problem = typed(known, describe_problem(np.zeros((7, 11, 3), np.uint16), mask, Border.WRAP, 0.0))
        work = known.work(problem, known.default_block)
        assert work.minimum_bytes == 7 * 11 * problem.channels * (problem.itemsize + problem.result_itemsize)
        assert work.cgma == work.flops / work.global_loads
        assert work.arithmetic_intensity == work.flops / (work.global_load_bytes + work.global_store_bytes)
