"""Plots and marks as pictures: a histogram's bars, a rectangle around the best match."""

import numpy as np

from engine.results.problem import Mark

PLOT_WIDTH, PLOT_HEIGHT = 512, 256
_TOP = 6
BACKGROUND, BAR = 24, 230


def histogram_picture(counts: np.ndarray) -> np.ndarray:
    """Return the bars of a histogram, (channels, bins), as 8-bit RGB; colours add up where bars overlap."""
    picture = np.full((PLOT_HEIGHT, PLOT_WIDTH, 3), BACKGROUND, np.uint8)
    highest = max(1, int(counts.max()))
    bins = np.arange(PLOT_WIDTH) * counts.shape[1] // PLOT_WIDTH
    rows = np.arange(PLOT_HEIGHT)[:, np.newaxis]
    for channel, of_channel in enumerate(counts[:3]):
        bars = np.ceil(of_channel[bins] / highest * (PLOT_HEIGHT - _TOP))
        # One or two channels have white bars.
        colours = [channel] if len(counts) >= 3 else [0, 1, 2]
        for colour in colours:
            picture[..., colour][rows >= PLOT_HEIGHT - bars] = BAR
    return picture


def marked(picture: np.ndarray, mark: Mark, full_scale: float) -> np.ndarray:
    """Return a copy of a picture (H, W, C) with a frame around the mark: white, and black around it."""
    framed = picture.copy()
    thickness = max(1, round(max(picture.shape[:2]) / 400))
    for width, value in ((2 * thickness, 0), (thickness, full_scale)):
        top, left = max(0, mark.row - width), max(0, mark.column - width)
        framed[top : mark.row + mark.height + width, left : mark.column + mark.width + width] = value
    inside = slice(mark.row, mark.row + mark.height), slice(mark.column, mark.column + mark.width)
    framed[inside] = picture[inside]
    return framed
