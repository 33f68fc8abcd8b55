"""Levels for the screen against the same in plain NumPy."""

import itertools

import numpy as np
import pytest

from engine.host.display_levels import SMALLEST_LEVEL, full_scale, level_shapes, render

RANDOM = np.random.default_rng(6)


def levels_for(height: int, width: int) -> list[np.ndarray]:
    return [np.full(shape, 7, np.uint8) for shape in level_shapes(height, width)]


def shown(
    values: np.ndarray, white: float, range_mode: str = "clip", alpha: np.ndarray | None = None
) -> np.ndarray:
    levels = levels_for(*values.shape[:2])
    render(values, levels, white, range_mode, alpha)
    return levels[0]


@pytest.mark.parametrize(("height", "width"), [(1, 1), (64, 64), (65, 64), (1, 300), (301, 7)])
def test_that_levels_halve_until_they_are_small(height, width):
    shapes = level_shapes(height, width)
    assert shapes[0] == (height, width, 4)
    for (above, left, _), (below, right, _) in itertools.pairwise(shapes):
        assert (below, right) == ((above + 1) // 2, (left + 1) // 2)
        assert max(above, left) > SMALLEST_LEVEL
    assert max(shapes[-1][:2]) <= SMALLEST_LEVEL


@pytest.mark.parametrize("dtype", ["uint8", "uint16"])
@pytest.mark.parametrize("channels", [1, 3])
def test_that_a_picture_is_shown_in_eight_bits_blue_first(channels, dtype):
    white = full_scale(np.dtype(dtype))
    values = RANDOM.integers(0, int(white) + 1, (70, 90, channels)).astype(dtype)
    colours = np.repeat(values, 3, 2) if channels == 1 else values
    wanted = np.rint(colours[:, :, ::-1].astype(np.float32) * np.float32(255 / white))
    bgra = shown(values, white)
    assert np.array_equal(bgra[:, :, :3], wanted)
    assert (bgra[:, :, 3] == 255).all()


def test_that_values_out_of_range_are_clipped_and_nan_is_black():
    values = np.array([[[-5.0], [np.nan], [2.0], [np.inf], [-np.inf], [0.5]]], np.float32)
    assert shown(values, 1.0)[0, :, 0].tolist() == [0, 0, 255, 255, 0, 128]


@pytest.mark.parametrize(
    ("mode", "wanted"),
    [
        ("clip", [0, 0, 100]),
        ("absolute", [100, 0, 100]),
        ("offset", [28, 128, 228]),
        ("rescale", [0, 128, 255]),
    ],
)
def test_that_signed_results_are_shown_as_asked(mode, wanted):
    values = np.array([[[-100.0], [0.0], [100.0]]], np.float32)
    assert shown(values, 255.0, mode)[0, :, 0].tolist() == wanted


@pytest.mark.parametrize("mode", ["rescale", "clip"])
def test_that_an_even_or_strange_picture_is_shown_without_a_fault(mode):
    for values in (np.full((2, 2, 1), 3.0, np.float32), np.full((2, 2, 1), np.nan, np.float32)):
        assert (shown(values, 255.0, mode)[:, :, 3] == 255).all()


def test_that_colours_are_multiplied_by_alpha():
    values = np.full((1, 3, 3), 200, np.uint8)
    alpha = np.array([[0, 128, 255]], np.uint8)
    bgra = shown(values, 255.0, alpha=alpha)
    assert bgra[0, :, 0].tolist() == [0, 100, 200]
    assert bgra[0, :, 3].tolist() == [0, 128, 255]


@pytest.mark.parametrize(("height", "width"), [(129, 67), (66, 131)])
def test_that_each_level_is_the_mean_of_four_of_the_one_before(height, width):
    values = RANDOM.integers(0, 256, (height, width, 3), np.uint8)
    levels = levels_for(height, width)
    render(values, levels, 255.0)
    for above, below in itertools.pairwise(levels):
        padded = np.pad(
            above, ((0, above.shape[0] % 2), (0, above.shape[1] % 2), (0, 0)), mode="edge"
        ).astype(int)
        fours = padded[::2, ::2] + padded[1::2, ::2] + padded[::2, 1::2] + padded[1::2, 1::2]
        assert np.array_equal(below, (fours + 2) // 4)
