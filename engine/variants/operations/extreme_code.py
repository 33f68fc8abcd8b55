"""The compiled part of minimum, maximum and morphology: lowest and highest samples, and differences."""

import numpy as np

from engine.compiled.entry_point import entry_point
from engine.device.threads.shared_call import finish, share
from engine.variants.operations.median_code import put_nan
from engine.variants.operations.rows_code import rows_taken


def lowest(image, out, first, last, rows, channels, half, sign, lines, is_float, task):
    """Write the lowest of each square window, or the highest where the sign is -1.

    `lines` has one for each worker: the lowest of each column, its ends repeated. A window that the edge cuts
    has the lowest of what is left, since repeating a cell changes nothing.
    """
    entry_point()
    worker = share(task)
    height, samples = image.shape
    line, edge = lines[worker], half * channels
    for row in rows_taken(task, first, last, rows):
        top, bottom = max(row - half, 0), min(row + half + 1, height)
        has_nan = False
        for sample in range(samples):
            value = sign * np.float32(image[top, sample])
            has_nan |= value != value
            line[edge + sample] = value
        for source in range(top + 1, bottom):
            for sample in range(samples):
                value = sign * np.float32(image[source, sample])
                has_nan |= value != value
                line[edge + sample] = min(line[edge + sample], value)
        for step in range(edge):
            line[step] = line[edge + step % channels]
            line[edge + samples + step] = line[edge + samples - channels + step % channels]
        # In place: what is read lies at or behind what is written.
        for step in range(1, 2 * half + 1):
            for sample in range(samples + (2 * half - step) * channels):
                line[sample] = min(line[sample], line[sample + channels])
        for sample in range(samples):
            out[row, sample] = sign * line[sample]
        if is_float and has_nan:
            put_nan(image, row, half, channels, out)
    finish(task, worker)


def difference(image, out, first, last, rows, is_less, task):
    """Make `out` the picture less itself, or itself less the picture: neither is below 0."""
    entry_point()
    worker = share(task)
    for row in rows_taken(task, first, last, rows):
        for sample in range(image.shape[1]):
            picture, other = np.float32(image[row, sample]), np.float32(out[row, sample])
            out[row, sample] = other - picture if is_less else picture - other
    finish(task, worker)
