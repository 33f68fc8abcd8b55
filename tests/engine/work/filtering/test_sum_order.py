"""The sum of one pixel, formed again step by step, is what the kernel stored."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from engine import correlate
from engine.geometry.border import Border
from engine.mask.mask import Mask
from engine.work.filter_task import describe_problem
from engine.work.filtering.sum_order import by_rows, stored, sum_of, window_of
from engine.work.filtering.variants import VARIANTS, Variant
from engine.work.problem import Problem
from tests.engine.variants.case_lists import compiled_anyhow
from tests.engine.variants.cases import result_of

CPU = [variant for variant in VARIANTS.on("cpu") if variant.key not in ("cpu-box", "cpu-fft")]
# One for each order.
KEYS = "naive-uncoalesced", "tiled", "implicit-gemm", "separable-l0", "separable-fused"
SIMULATED = [variant for variant in VARIANTS.on("cuda") if variant.key in KEYS]
SHAPES = ((2, 3), (3, 3), (4, 2), (7, 9), (1, 19))


def _mask(variant: Variant, shape: tuple[int, int], random: np.random.Generator) -> Mask:
    rows, columns = shape
    if variant.masks == "masks of one row":
        rows = 1
    weights = random.standard_normal((rows, columns))
    if variant.rank == 1:
        half = random.standard_normal(columns)
        weights = np.outer(random.random(rows) + 0.1, half + half[::-1]).astype(np.float32)
    anchor = int(random.integers(rows)), int(random.integers(columns))
    return Mask(weights, anchor, float(random.choice([0.0, 0.3, -7.1])))


def assert_equal_at(
    variant: Variant, problem: Problem, mask: Mask, picture: np.ndarray, values: np.ndarray, pixels: int
) -> None:
    """Check so many pixels of a result."""
    random, order = np.random.default_rng(mask.taps), variant.sum_order(problem, mask)
    border, cval = problem.border, problem.cval
    for row, column in random.integers((0, 0), picture.shape[:2], (pixels, 2)).tolist():
        window = window_of(picture, (row, column), mask.shape, mask.anchor, border, cval)
        made = sum_of(order, window, mask.weights32, mask.offset)
        assert np.array_equal(stored(made.value, values.dtype), values[row, column]), problem


def all_are_equal(
    variant: Variant, border: Border, device: str, side: int, pixels: int, shapes: Sequence[tuple[int, int]]
) -> None:
    """Check pixels of results of masks of these shapes, which a device computes."""
    random, cval = np.random.default_rng(list(Border).index(border)), 3.5 if border.takes_value else 0.0
    for number, shape in enumerate(shapes):
        dtype, channels = ("uint8", "uint16", "float32")[number % 3], (1, 3)[number % 2]
        picture = (random.random((side, side + 3, channels)) * 255).astype(dtype)
        mask = _mask(variant, shape, random)
        for result in ("float32", "same") if variant.integer_output else ("float32",):
            how: dict[str, Any] = {"variant": variant.key, "device": device, "result": result}
            values = correlate(picture, mask, border=border, cval=cval, **how)
            problem = describe_problem(picture, mask, border, cval, values.dtype.name)
            assert_equal_at(variant, problem, mask, picture, values, pixels)


@pytest.mark.slow
@pytest.mark.parametrize("variant", CPU, ids=lambda one: one.key)
def test_that_the_sum_of_a_pixel_is_the_value_that_the_cpu_stored(variant: Variant) -> None:
    # Each variant reads ghost cells, repeated ones and those of the other side.
    for border, first in ((Border.CONSTANT, 0), (Border.MIRROR, 1), (Border.WRAP, 0)):
        all_are_equal(variant, border, "cpu", 23, 12, SHAPES[first::2])


@pytest.mark.slow
@pytest.mark.parametrize("variant", SIMULATED, ids=lambda one: one.key)
def test_that_the_sum_of_a_pixel_is_the_value_that_the_simulator_stored(variant: Variant) -> None:
    random = np.random.default_rng(3)
    for case, result in compiled_anyhow(variant):
        picture = (random.random((6, 9, case.channels)) * 255).astype(case.dtype)
        weights = _mask(variant, case.mask_shape, random).weights
        mask = Mask(weights, case.anchor, float(random.choice([0.0, 0.3, -7.1])))
        problem = describe_problem(picture, mask, case.border, case.cval, result)
        values = result_of(variant, problem, mask, case.block, picture)
        assert_equal_at(variant, problem, mask, picture, values, 5)


def test_that_a_fused_sum_rounds_once() -> None:
    # The product is 1 + 2^-23 + 2^-46 here, whose last part decides to which side the sum is rounded.
    x = np.float32(1 + 2**-12)
    cells = np.full((1, 1, 1), x, np.float32)
    window = window_of(cells, (0, 0), (1, 1), (0, 0), Border.ZERO, 0.0)
    made = sum_of(by_rows(1, is_fused=True), window, cells[..., 0], -float(x * x))
    exact = np.float32(float(x) * float(x))
    assert made.value[0] == exact - x * x


def test_that_every_variant_says_in_which_order_it_adds() -> None:
    problem = describe_problem(np.zeros((9, 9, 1), np.uint8), Mask([[1.0]]), Border.ZERO, 0.0, "float32")
    silent = Variant.__dataclass_fields__["sum_order"].default(problem, None).words
    orders = {one.key: one.sum_order(problem, Mask([[1.0]])).words for one in VARIANTS}
    assert silent not in orders.values()
