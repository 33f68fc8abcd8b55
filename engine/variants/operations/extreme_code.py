"""The compiled part of minimum, maximum and morphology: lowest and highest samples, and differences."""

import numpy as np

from engine.compiled.entry_point import entry_point
from engine.device.threads.shared_call import finish, share
from engine.variants.operations.median_code import put_nan
from engine.variants.operations.rows_code import rows_taken


def lowest(image, out, first, last, rows, channels, half, sign, lines, is_float, task):
    """Write the lowest of each square window, or the highest where the sign is -1.

    `lines` has two for each worker: the lowest of each column, its ends repeated, and of each row of these. A
    window that the edge cuts has the lowest of what is left, since repeating a cell changes nothing.
    """
    entry_point()
    worker = share(task)
    height, samples = image.shape
    line, found, edge = lines[worker, 0], lines[worker, 1], half * channels
    for row in rows_taken(task, first, last, rows):
        top, bottom = max(row - half, 0), min(row + half + 1, height)
        strange = 0
        for source in range(top, bottom):
            if is_float:
                for sample in range(samples):
                    strange += image[source, sample] != image[source, sample]
            if source == top:
                for sample in range(samples):
                    line[edge + sample] = sign * np.float32(image[source, sample])
            else:
                for sample in range(samples):
                    value, own = sign * np.float32(image[source, sample]), line[edge + sample]
                    line[edge + sample] = value if value < own else own
        for step in range(edge):
            line[step] = line[edge + step % channels]
            line[edge + samples + step] = line[edge + samples - channels + step % channels]
        for sample in range(samples):
            found[sample] = line[sample]
        for step in range(1, 2 * half + 1):
            other = line[step * channels :]
            for sample in range(samples):
                value, own = other[sample], found[sample]
                found[sample] = value if value < own else own
        for sample in range(samples):
            out[row, sample] = sign * found[sample]
        if strange > 0:
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
