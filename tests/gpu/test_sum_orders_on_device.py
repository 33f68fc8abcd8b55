"""The lens forms a pixel's sum again: with the order and the roundings of the compiled kernel."""

import numpy as np
import pytest

from engine.geometry.border import Border
from engine.mask.mask import Mask
from engine.work.filter_task import describe_problem
from engine.work.filtering.variants import VARIANTS
from tests.engine.work.filtering.test_sum_order import all_are_equal


def _is_known(variant):
    problem = describe_problem(np.zeros((1, 1, 1), np.uint8), Mask([[1.0]]), Border.ZERO, 0.0, "float32")
    return variant.sum_order(problem, Mask([[1.0]])).is_known


KNOWN = [variant for variant in VARIANTS.on("cuda") if _is_known(variant)]


@pytest.mark.parametrize("border", [Border.ZERO, Border.CONSTANT, Border.MIRROR], ids=str)
@pytest.mark.parametrize("variant", KNOWN, ids=lambda one: one.key)
def test_that_the_sum_of_a_pixel_is_the_value_that_the_device_stored(variant, border, device):
    all_are_equal(variant, border, device, 45, 30)
