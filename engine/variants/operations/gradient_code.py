"""The compiled part of `cpu-gradient`."""

import math

import numpy as np

from engine.compiled.entry_point import entry_point
from engine.device.result_code import cpu_result
from engine.device.threads.shared_call import finish, share
from engine.variants.operations.rows_code import rows_taken


def magnitude(image, out, first, last, rows, channels, side, middle, lines, largest, task):
    """Write the length of both derivatives; `lines` has two for each worker, their ends repeated."""
    entry_point()
    worker = share(task)
    height, samples = image.shape
    # Of each column the sum of three cells, for the derivative along the row, and the difference of two.
    summed, differences = lines[worker, 0], lines[worker, 1]
    for row in rows_taken(task, first, last, rows):
        above, below = max(row - 1, 0), min(row + 1, height - 1)
        for sample in range(samples):
            high, low = np.float32(image[above, sample]), np.float32(image[below, sample])
            summed[channels + sample] = side * (high + low) + middle * np.float32(image[row, sample])
            differences[channels + sample] = low - high
        for channel in range(channels):
            summed[channel] = summed[channels + channel]
            differences[channel] = differences[channels + channel]
            end = samples + channel
            summed[channels + end] = summed[end]
            differences[channels + end] = differences[end]
        for sample in range(samples):
            x = summed[sample + 2 * channels] - summed[sample]
            y = side * (differences[sample] + differences[sample + 2 * channels])
            y += middle * differences[sample + channels]
            out[row, sample] = cpu_result(math.sqrt(x * x + y * y), largest)
    finish(task, worker)
