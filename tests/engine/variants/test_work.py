"""The models of work against counts: of kernels what the interpreter counts, of loops the cells of rules."""

from functools import partial
from itertools import product

import numpy as np
import pytest

from engine.geometry.block import Block
from engine.geometry.border import Border
from engine.mask.mask import Mask
from engine.variants.cpu import parallel, separable, serial
from engine.variants.fast.tile_shape import byte_tile_shape
from engine.work.filter_task import describe_problem
from engine.work.filtering.variants import VARIANTS, variant
from engine.work.pictures import as_samples
from tests.engine.variants.cases import Case, result_of, verified
from tests.engine.variants.executed import check_executed, executed, observed
from tests.engine.variants.suited import mask_for, suited, typed

# Those whose block a person chooses are counted in every case (`test_variants`).
OWN_BLOCKS = [one for one in VARIANTS if one.has_kernels and not one.uses_block and not one.uint8_only]


# Each pair of a type, a block and a border that may go wrong together, but not every three.
WORK = partial(Case, "work", 7, 6, 2, mask_shape=(3, 4), anchor=(0, 3), cval=2.5, offset=1.5)
WORKS = (
    WORK(block=Block(4, 3), border=Border.CONSTANT),
    WORK(dtype="uint8", block=Block(16, 16), border=Border.REFLECT),
    WORK(dtype="uint16", block=Block(2, 1), border=Border.REFLECT, weights="halves", is_quantised=True),
)


@pytest.mark.slow
@pytest.mark.parametrize("known", OWN_BLOCKS, ids=lambda known: known.key)
def test_that_the_model_of_a_kernel_counts_what_its_code_does(known):
    for case in WORKS:
        if (own := suited(known, case)) is not None:
            check_executed(known, own.problem(), own.mask(), as_samples(own.picture()), own.block)
        else:
            assert case.is_quantised
            assert not known.integer_output


@pytest.mark.slow
@pytest.mark.parametrize(
    ("key", "channels", "border", "shape"),
    [
        ("digit-sums", 1, Border.CONSTANT, (3, 4)),
        ("digit-sums", 3, Border.REFLECT, (3, 3)),
        ("digit-sums", 4, Border.WRAP, (2, 5)),
        ("register-blocked", 1, Border.CONSTANT, (3, 4)),
        ("register-blocked", 3, Border.REFLECT, (3, 4)),
    ],
)
def test_that_the_model_of_bytes_counts_what_the_code_does(key, channels, border, shape):
    case = Case(
        "bytes",
        7,
        6,
        channels,
        "uint8",
        shape,
        (0, shape[1] - 1),
        border,
        3.0,
        1.5,
        weights="halves",
        is_quantised=True,
    )
    known, problem, mask, image = variant(key), case.problem(), case.mask(), case.picture()
    with observed(counted=True) as launches:
        result = result_of(known, problem, mask, known.default_block, image)
    verified(result, image, mask, problem, known.added_to(problem, mask, image))
    found, model = executed(launches), known.work(problem, known.default_block)
    assert byte_tile_shape(problem) is not None
    # At an edge only those cells are filled that a result reads; the model counts whole tiles.
    assert model.picture_loads >= found.picture_loads > 0
    assert model.shared_stores >= 4 * found.shared_stores > 0
    assert model.shared_loads == 4 * found.shared_loads
    assert model.global_store_bytes == found.global_store_bytes


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


@pytest.mark.parametrize(("module", "multiply_adds"), [(parallel, 12), (separable, 7)])
def test_that_the_model_of_a_banded_cpu_variant_counts_each_sample_once(module, multiply_adds):
    mask = Mask(np.ones((4, 3)), anchor=(3, 0))
    problem = describe_problem(np.zeros((97, 100, 3), np.uint8), mask, Border.WRAP, 0.0)
    model = module.VARIANT.work(problem, Block(1, 1))
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
