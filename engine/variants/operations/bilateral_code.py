"""The compiled part of `cpu-bilateral`."""

import numpy as np
from numba import njit

from engine.compiled.entry_point import entry_point
from engine.device.result_code import cpu_result
from engine.device.threads.shared_call import finish, share
from engine.variants.operations.falling_exponential import falling_exponential
from engine.variants.operations.median_code import fill
from engine.variants.operations.rows_code import rows_taken

_falling = njit(inline="always")(falling_exponential)


def bilateral(image, out, first, last, rows, channels, disc, steepness, all_lines, all_sums, largest, task):
    """Write the means; `all_lines` has `size` lines for each worker, `all_sums` two and one per channel."""
    entry_point()
    worker = share(task)
    size, samples = len(disc), image.shape[1]
    half, begin, width = size // 2, worker * size, samples // channels
    squares, totals, sums = all_sums[worker, 0], all_sums[worker, 1], all_sums[worker, 2:]
    for row in rows_taken(task, first, last, rows):
        fill(image, row, half, channels, all_lines, begin, size)
        middle = all_lines[begin + half]
        for at in range(width):
            totals[at] = np.float32(0.0)
        for channel in range(channels):
            for at in range(width):
                sums[channel, at] = np.float32(0.0)
        for m in range(size):
            line = all_lines[begin + m]
            for n in range(size):
                place = disc[m, n]
                if place == np.float32(0.0):
                    continue
                for at in range(width):
                    squares[at] = np.float32(0.0)
                for channel in range(channels):
                    to, own = n * channels + channel, half * channels + channel
                    for at in range(width):
                        apart = line[at * channels + to] - middle[at * channels + own]
                        squares[at] += apart * apart
                for at in range(width):
                    weight = place * _falling(steepness * squares[at])
                    squares[at] = weight
                    totals[at] += weight
                for channel in range(channels):
                    to = n * channels + channel
                    for at in range(width):
                        sums[channel, at] += squares[at] * line[at * channels + to]
        for channel in range(channels):
            for at in range(width):
                out[row, at * channels + channel] = cpu_result(sums[channel, at] / totals[at], largest)
    finish(task, worker)
