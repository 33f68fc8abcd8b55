"""Integer results on the CPU, in strips of one to four vectors: saturated, rounded half to even, NaN as 0."""

import numpy as np
import pytest

from engine.geometry.border import Border
from engine.mask.mask import Mask
from engine.run.resolve import describe_problem
from engine.variants.cpu import parallel, separable
from engine.variants.ir.cpu_vectors import VECTOR
from tests.engine.variants.banded import BLOCK

# Mask rows for which strips have four vectors, two, three, and one, in one pass and in two.
STRIPS = [*((parallel, rows) for rows in (1, 2, 3, 5)), *((separable, rows) for rows in (3, 5, 7, 9))]
every_strip = pytest.mark.parametrize(
    ("module", "rows"), STRIPS, ids=[f"{m.__name__.rpartition('.')[2]} {rows}" for m, rows in STRIPS]
)
# Whole strips of four vectors, and what is left beside them.
WIDTH = 11 * VECTOR + 3


def filtered(module, image, weights, offset=0.0):
    """Return a picture filtered with a border of 0, in the picture's type."""
    mask = Mask(weights, offset=offset)
    problem = describe_problem(image, mask, Border.ZERO, 0.0, image.dtype.name)
    out = np.full(image.shape, 99, image.dtype)
    module.prepare(problem, mask, BLOCK).launch(image, out)
    return out


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["uint8", "uint16"])
@every_strip
def test_that_results_even_infinite_ones_are_saturated_and_rounded_half_to_even(module, rows, dtype):
    largest = np.iinfo(dtype).max
    image = np.random.default_rng(11).integers(0, largest, (21, WIDTH, 1), dtype, endpoint=True)
    before = np.pad(image, ((0, 0), (1, 0), (0, 0)))[:, :-1].astype(float)
    for left, own, offset in ((0.5, 0.0, 0.0), (1.5, -0.25, 0.5), (-3.0, 2.0, 0.0), (300.0, 0.0, -1.0)):
        weights = np.zeros((rows, 2))
        weights[rows // 2] = left, own
        wanted = np.rint(np.clip(left * before + own * image + offset, 0, largest)).astype(dtype)
        assert np.array_equal(filtered(module, image, weights, offset), wanted)
    # Infinite in float32 from samples of 2 on.
    weights = np.zeros((rows, 1))
    weights[rows // 2] = 3e38
    assert np.array_equal(filtered(module, image, weights), np.where(image > 0, largest, 0))
    assert not filtered(module, image, -weights).any()


@pytest.mark.parametrize("rows", [2, 3, 5])
def test_that_nan_becomes_0(rows):
    image = np.random.default_rng(13).choice(np.array([0, 255], np.uint8), (21, WIDTH, 1))
    weights = np.zeros((rows, 1))
    # Where both samples are 255, one mask row's sum is infinite and the other's is its negative.
    weights[rows // 2 - 1], weights[rows // 2] = 3e38, -3e38
    above = np.pad(image, ((1, 0), (0, 0), (0, 0)))[:-1]
    assert ((above == 255) & (image == 255)).any()
    assert np.array_equal(filtered(parallel, image, weights), np.where((above == 255) & (image == 0), 255, 0))
