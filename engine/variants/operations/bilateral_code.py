"""The compiled part of `cpu-bilateral`."""

import numpy as np
from numba import njit

from engine.compiled.entry_point import entry_point
from engine.device.result_code import cpu_result
from engine.device.threads.shared_call import finish, share
from engine.variants.operations.falling_exponential import MOST, falling_polynomial, half_by_bits
from engine.variants.operations.rows_code import rows_taken

_falling, _half = (njit(inline="always")(function) for function in (falling_polynomial, half_by_bits))


@njit
def _fill(image, row, half, channels, planes):
    """Fill a line for each channel with a row of the picture, its ends repeated."""
    width = image.shape[1] // channels
    source = image[min(max(row, 0), len(image) - 1)]
    for channel in range(channels):
        plane = planes[channel]
        for at in range(width):
            plane[half + at] = np.float32(source[at * channels + channel])
        for step in range(half):
            plane[step] = plane[half]
            plane[half + width + step] = plane[half + width - 1]


def bilateral(image, out, first, last, rows, channels, disc, steepness, all_planes, all_sums, largest, task):
    """Write the means.

    `all_planes` has, for each worker, `size` rows with a line for each channel; row r of the picture is in
    the place (r + half) modulo `size`. `all_sums` has two lines for each worker, and one for each channel.
    """
    entry_point()
    worker = share(task)
    size, width = len(disc), image.shape[1] // channels
    half, filled = size // 2, -size
    planes = all_planes[worker]
    squares, totals, sums = all_sums[worker, 0], all_sums[worker, 1], all_sums[worker, 2:]
    for row in rows_taken(task, first, last, rows):
        # Rows come from top to bottom, mostly one after another: then one is new.
        for source in range(max(row - half, filled), row + half + 1):
            _fill(image, source, half, channels, planes[(source + half) % size])
        filled = row + half + 1
        middle = planes[(row + half) % size]
        for at in range(width):
            totals[at] = np.float32(0.0)
        for channel in range(channels):
            for at in range(width):
                sums[channel, at] = np.float32(0.0)
        for m in range(size):
            lines = planes[(row + m) % size]
            for n in range(size):
                place = disc[m, n]
                if place == np.float32(0.0):
                    continue
                for channel in range(channels):
                    line, own = lines[channel, n : n + width], middle[channel, half : half + width]
                    if channel == 0:
                        for at in range(width):
                            apart = line[at] - own[at]
                            squares[at] = apart * apart
                    else:
                        for at in range(width):
                            apart = line[at] - own[at]
                            squares[at] += apart * apart
                for at in range(width):
                    t = steepness * squares[at]
                    t = MOST if t > MOST else t
                    whole = np.float32(np.int32(t))
                    weight = place * (_falling(t - whole) * _half(whole))
                    squares[at] = weight
                    totals[at] += weight
                for channel in range(channels):
                    line, total = lines[channel, n : n + width], sums[channel]
                    own = middle[channel, half : half + width]
                    for at in range(width):
                        total[at] += squares[at] * (line[at] - own[at])
        for channel in range(channels):
            total, own = sums[channel], middle[channel, half : half + width]
            for at in range(width):
                total[at] = cpu_result(own[at] + total[at] / totals[at], largest)
            for at in range(width):
                out[row, at * channels + channel] = total[at]
    finish(task, worker)
