"""Pictures below the normal numbers of float32: every variant of the CPU holds its bound."""

import numpy as np
import pytest

from engine.device.launches import DeviceKind
from engine.geometry.block import Limits
from engine.geometry.border import Border
from engine.mask.mask import Mask
from engine.work.filter_task import describe_problem
from engine.work.filtering.variants import VARIANTS
from tests.engine.variants.cases import error_in_bounds

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
