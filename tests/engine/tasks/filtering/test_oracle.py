"""The oracle: mathematics that must hold, a naive loop written here, and SciPy as a second witness."""

import itertools

import numpy as np
import pytest
from scipy import ndimage

from engine.geometry.border import Border
from engine.mask.mask import Mask
from engine.tasks.filtering.oracle import correlate, magnitudes
from engine.verify.regions import Region

RANDOM = np.random.default_rng(20)
# Small integers: every product and sum is exact in float64, so that equality is what must hold.
PICTURE = RANDOM.integers(-9, 10, (7, 6)).astype(np.float32)
SCIPY = {
    Border.ZERO: "constant",
    Border.CONSTANT: "constant",
    Border.REPLICATE: "nearest",
    Border.REFLECT: "reflect",
    Border.MIRROR: "mirror",
    Border.WRAP: "grid-wrap",
}
every_border = pytest.mark.parametrize("border", list(Border))


def whole_mask(rows: int, columns: int, anchor: tuple[int, int] | None = None, offset: float = 0.0) -> Mask:
    return Mask(RANDOM.integers(-5, 6, (rows, columns)), anchor, offset)


@pytest.mark.parametrize(("row", "column"), [(0, 0), (0, 3), (2, 0), (2, 3)])
def test_that_a_single_weight_shifts_the_picture(row, column):
    weights = np.zeros((3, 4))
    weights[row, column] = 1
    shifted = correlate(PICTURE, Mask(weights, (1, 1)), Border.WRAP)
    assert np.array_equal(shifted, np.roll(PICTURE, (1 - row, 1 - column), (0, 1)))


def naive(image: np.ndarray, mask: Mask, border: Border, cval: float) -> np.ndarray:
    """Correlate as the formula is written, one multiply-add at a time."""
    result = np.zeros(image.shape)
    ghost = cval if border is Border.CONSTANT else 0.0
    for r, c, m, n in itertools.product(*map(range, (*image.shape, *mask.shape))):
        row = border.rule(r + m - mask.anchor[0], image.shape[0])
        column = border.rule(c + n - mask.anchor[1], image.shape[1])
        result[r, c] += mask.weights[m, n] * (ghost if min(row, column) < 0 else float(image[row, column]))
    return result + mask.offset


@every_border
@pytest.mark.parametrize(
    ("shape", "anchor"),
    [((3, 3), None), ((2, 5), (0, 4)), ((4, 1), (3, 0)), ((15, 13), None), ((9, 20), (8, 0))],
)
def test_that_it_is_the_quadruple_loop(shape, anchor, border):
    mask = whole_mask(*shape, anchor, offset=-2.0)
    assert np.array_equal(correlate(PICTURE, mask, border, 3.0), naive(PICTURE, mask, border, 3.0))


@every_border
@pytest.mark.parametrize("shape", [(3, 3), (2, 5), (4, 4), (5, 7)])
def test_that_scipy_agrees(shape, border):
    mask = whole_mask(*shape)
    cval = 3.0 if border is Border.CONSTANT else 0.0
    witness = ndimage.correlate(PICTURE.astype(np.float64), mask.weights, mode=SCIPY[border], cval=cval)
    assert np.array_equal(correlate(PICTURE, mask, border, cval), witness)


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float32", "float64"])
def test_that_channels_are_filtered_apart(dtype):
    image = RANDOM.integers(0, 200, (5, 6, 3)).astype(dtype)
    mask = whole_mask(3, 3)
    whole = correlate(image, mask, Border.MIRROR)
    for channel in range(3):
        assert np.array_equal(whole[:, :, channel], correlate(image[:, :, channel], mask, Border.MIRROR))


@every_border
@pytest.mark.parametrize("region", [Region(0, 1, 0, 6), Region(2, 5, 1, 3), Region(6, 7, 5, 6)], ids=str)
def test_that_a_region_is_the_crop_of_the_whole(region, border):
    mask = whole_mask(5, 9)
    for compute in (correlate, magnitudes):
        crop = compute(PICTURE, mask, border, 2.0)[region.slices]
        assert np.array_equal(compute(PICTURE, mask, border, 2.0, region), crop)
        assert crop.size == region.pixels


def test_that_weights_offset_and_ghost_value_are_rounded_as_the_kernels_get_them():
    mask = Mask([[0.1]], offset=0.3)
    assert correlate(np.ones((1, 1)), mask)[0, 0] == float(np.float32(0.1)) + float(np.float32(0.3))
    seen = correlate(np.zeros((1, 1)), Mask([[1, 0]]), Border.CONSTANT, 0.7)
    assert seen[0, 0] == float(np.float32(0.7))


def test_that_zero_times_nan_and_zero_times_infinity_are_nan():
    image = np.array([[np.nan, 1, np.inf]])
    assert np.isnan(correlate(image, Mask([[0.0]]))).tolist() == [[True, False, True]]


def test_that_magnitudes_take_no_sign_and_no_cell_that_is_not_finite():
    image = np.array([[-2.0, np.nan, np.inf, 5.0]])
    sizes = magnitudes(image, Mask([[-1.0, 3.0]], (0, 0), offset=-0.5), Border.CONSTANT, -4.0)
    assert sizes.tolist() == [[2.5, 0.5, 15.5, 17.5]]
