"""What is compiled of `display_levels` and `measuring`: samples to the screen's pixels, halves, counts."""

import numpy as np
from numba import njit

from engine.compiled.entry_point import entry_point

OPAQUE = np.float32(1.0)


# Called by compiled code alone: without a wrapper for Python they take 13 ms less to compile.
_compiled = njit(no_cpython_wrapper=True, no_cfunc_wrapper=True)


@_compiled
def _byte(value, scale, shift, absolute, opacity):
    """Return the screen's byte of a sample; NaN becomes 0, as in a saved file."""
    level = (abs(value) if absolute else value) * scale + shift
    # Comparisons that select, not that branch: vector instructions have those.
    level = level if level > np.float32(0.0) else np.float32(0.0)
    level = level if level < np.float32(255.0) else np.float32(255.0)
    return np.int32(np.rint(level * opacity))


@_compiled
def _pixel(red, green, blue, opacity):
    """Return a pixel of 32 bits: from the lowest byte blue, green, red, alpha."""
    alpha = np.int32(np.rint(opacity * np.float32(255.0)))
    return np.uint32(blue | green << 8 | red << 16 | alpha << 24)


# Two functions, because each is compiled when it is first called: together they took 0.2 s of a first start.
def fill_from_grey(samples, alpha, scale, shift, absolute, out):
    """Write pixels of `samples`, which has one per pixel."""
    entry_point()
    for pixel in range(out.size):
        opacity = alpha[pixel] if alpha.size else OPAQUE
        grey = _byte(samples[pixel], scale, shift, absolute, opacity)
        out[pixel] = _pixel(grey, grey, grey, opacity)


def fill_from_colours(samples, alpha, scale, shift, absolute, out):
    """Write pixels of `samples`, which has three per pixel: red, green and blue."""
    entry_point()
    for pixel in range(out.size):
        opacity = alpha[pixel] if alpha.size else OPAQUE
        # Unsigned and a constant times the pixel: so this loop is vectorized too, 1.5 ms instead of 22 for
        # 1920 x 1080 on one core.
        first = np.uint64(3) * np.uint64(pixel)
        red = _byte(samples[first], scale, shift, absolute, opacity)
        green = _byte(samples[first + np.uint64(1)], scale, shift, absolute, opacity)
        blue = _byte(samples[first + np.uint64(2)], scale, shift, absolute, opacity)
        out[pixel] = _pixel(red, green, blue, opacity)


def halve(source, out, top, bottom):
    """Write rows of a level of half the size: means of two by two, rounded."""
    entry_point()
    height, width = source.shape[0], source.shape[1]
    for row in range(top, bottom):
        above = 2 * row
        below = above + 1 if above + 1 < height else above
        for column in range(out.shape[1]):
            left = 2 * column
            right = left + 1 if left + 1 < width else left
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


def count(samples, white, first, per_unit, bins, counts, sums):
    """Add samples to the counts of their channel: `per_unit` bins for 1 from `first` on, and those outside.

    `counts` are those below black, above white, and not finite; `sums` are the sum, that of squares, the
    least and the most.
    """
    entry_point()
    total, squares, least, most = 0.0, 0.0, np.inf, -np.inf
    for sample in samples:
        if not np.isfinite(sample):
            counts[2] += 1
            continue
        value = np.float64(sample)
        total += value
        squares += value * value
        least, most = min(least, value), max(most, value)
        if value < 0.0:
            counts[0] += 1
        elif value > white:
            counts[1] += 1
        bins[min(max(np.int64((value - first) * per_unit), 0), bins.size - 1)] += 1
    sums[0] += total
    sums[1] += squares
    sums[2], sums[3] = min(sums[2], least), max(sums[3], most)
