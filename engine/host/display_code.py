"""The compiled part of `engine.host.display_levels`: samples to the screen's bytes, halves, the range."""

import numpy as np

from engine.compiled.entry_point import entry_point


def fill(values, alpha, scale, shift, absolute, out, top, bottom):
    """Write rows top .. bottom - 1 of a picture as bytes: blue, green, red, alpha."""
    entry_point()
    channels = values.shape[2]
    transparent = alpha.shape[0] > 0
    for row in range(top, bottom):
        for column in range(values.shape[1]):
            opacity = alpha[row, column] if transparent else np.float32(1.0)
            for channel in range(3):
                value = values[row, column, channel if channels >= 3 else 0]
                if absolute:
                    value = abs(value)
                value = value * scale + shift
                # NaN fails both comparisons and becomes 0, as in a saved file.
                level = np.float32(0.0)
                if value >= np.float32(255.0):
                    level = np.float32(255.0)
                elif value > np.float32(0.0):
                    level = value
                out[row, column, 2 - channel] = np.uint8(np.rint(level * opacity))
            out[row, column, 3] = np.uint8(np.rint(opacity * np.float32(255.0)))


def halve(source, out, top, bottom):
    """Write rows of a level of half the size: means of two by two, rounded."""
    entry_point()
    height, width = source.shape[0], source.shape[1]
    for row in range(top, bottom):
        above = 2 * row
        below = min(above + 1, height - 1)
        for column in range(out.shape[1]):
            left = 2 * column
            right = min(left + 1, width - 1)
            for channel in range(4):
                total = (
                    np.uint16(source[above, left, channel])
                    + source[above, right, channel]
                    + source[below, left, channel]
                    + source[below, right, channel]
                )
                out[row, column, channel] = np.uint8((total + 2) >> 2)


def find_range(values, ends):
    """Widen `ends` to the lowest and highest of the values that are finite."""
    entry_point()
    for value in values:
        if np.isfinite(value):
            ends[0] = min(ends[0], np.float64(value))
            ends[1] = max(ends[1], np.float64(value))
