"""The compiled part of `cpu-median`: sorted columns along whole rows, then the network across them."""

import numpy as np
from numba import njit

from engine.compiled.entry_point import entry_point
from engine.device.threads.shared_call import finish, share
from engine.variants.operations.median_network import middle_of_3, sorted_3, sorted_5
from engine.variants.operations.rows_code import rows_taken

_middle_of_3, _sorted_3, _sorted_5 = (
    njit(inline="always")(function) for function in (middle_of_3, sorted_3, sorted_5)
)


@njit
def fill(image, row, half, channels, lines, first, size):
    """Fill `size` lines with the rows around a row, their ends repeated; return whether they have NaN."""
    height, samples = image.shape
    has_nan = False
    for m in range(size):
        source = min(max(row + m - half, 0), height - 1)
        line = first + m
        for sample in range(samples):
            lines[line, half * channels + sample] = np.float32(image[source, sample])
        for step in range(half * channels):
            channel = step % channels
            lines[line, step] = np.float32(image[source, channel])
            lines[line, half * channels + samples + step] = np.float32(
                image[source, samples - channels + channel]
            )
        for sample in range(samples + 2 * half * channels):
            has_nan |= lines[line, sample] != lines[line, sample]
    return has_nan


@njit
def put_nan(image, row, half, channels, out):
    """Write NaN where the window around a sample has one."""
    height, samples = image.shape
    for sample in range(samples):
        column, channel = sample // channels, sample % channels
        for m in range(-half, half + 1):
            source = min(max(row + m, 0), height - 1)
            for n in range(-half, half + 1):
                at = min(max(column + n, 0), samples // channels - 1) * channels + channel
                value = np.float32(image[source, at])
                if value != value:
                    out[row, sample] = value


def median_of_9(image, out, first, last, rows, channels, all_lines, is_float, task):
    """Write the middle of 3 x 3; `all_lines` has 3 lines for each worker."""
    entry_point()
    worker = share(task)
    begin = worker * 3
    for row in rows_taken(task, first, last, rows):
        has_nan = fill(image, row, 1, channels, all_lines, begin, 3)
        a, b, c = all_lines[begin], all_lines[begin + 1], all_lines[begin + 2]
        for at in range(image.shape[1] + 2 * channels):
            a[at], b[at], c[at] = _sorted_3(a[at], b[at], c[at])
        for at in range(image.shape[1]):
            mid, far = at + channels, at + 2 * channels
            low = max(a[at], max(a[mid], a[far]))
            middle = _middle_of_3(b[at], b[mid], b[far])
            high = min(c[at], min(c[mid], c[far]))
            out[row, at] = _middle_of_3(low, middle, high)
        if is_float and has_nan:
            put_nan(image, row, 1, channels, out)
    finish(task, worker)


def median_of_25(image, out, first, last, rows, channels, all_lines, is_float, task):
    """Write the middle of 5 x 5; `all_lines` has 5 lines for each worker."""
    entry_point()
    worker = share(task)
    begin = worker * 5
    for row in rows_taken(task, first, last, rows):
        has_nan = fill(image, row, 2, channels, all_lines, begin, 5)
        a, b, c = all_lines[begin], all_lines[begin + 1], all_lines[begin + 2]
        d, e = all_lines[begin + 3], all_lines[begin + 4]
        for at in range(image.shape[1] + 4 * channels):
            a[at], b[at], c[at], d[at], e[at] = _sorted_5(a[at], b[at], c[at], d[at], e[at])
        for at in range(image.shape[1]):
            v, w, x, y = at + channels, at + 2 * channels, at + 3 * channels, at + 4 * channels
            r0 = _sorted_5(a[at], a[v], a[w], a[x], a[y])
            r1 = _sorted_5(b[at], b[v], b[w], b[x], b[y])
            r2 = _sorted_5(c[at], c[v], c[w], c[x], c[y])
            r3 = _sorted_5(d[at], d[v], d[w], d[x], d[y])
            r4 = _sorted_5(e[at], e[v], e[w], e[x], e[y])
            low = max(max(r0[3], r1[2]), max(r2[1], r3[0]))
            middle = _sorted_5(r0[4], r1[3], r2[2], r3[1], r4[0])[2]
            high = min(min(r1[4], r2[3]), min(r3[2], r4[1]))
            out[row, at] = _middle_of_3(low, middle, high)
        if is_float and has_nan:
            put_nan(image, row, 2, channels, out)
    finish(task, worker)
