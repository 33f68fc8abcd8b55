"""The compiled part of minimum, maximum and morphology: lowest and highest samples, and differences."""

import numpy as np
from numba import njit

from engine.compiled.entry_point import entry_point
from engine.device.threads.shared_call import finish, share
from engine.variants.operations.median_code import put_nan
from engine.variants.operations.rows_code import rows_taken


@njit
def _lowest_of_3(one, other, third, out):
    """Write the lowest of three samples of one type, for each of a line."""
    for sample in range(len(out)):
        lower = one[sample] if one[sample] < other[sample] else other[sample]
        out[sample] = lower if lower < third[sample] else third[sample]


@njit
def _highest_of_3(one, other, third, out):
    """Write the highest of three samples of one type, for each of a line."""
    for sample in range(len(out)):
        higher = one[sample] if one[sample] > other[sample] else other[sample]
        out[sample] = higher if higher > third[sample] else third[sample]


@njit
def _last_nan(image, first, last, known):
    """Return the last row before `last` that has NaN; those before `first` are known."""
    for row in range(first, last):
        count = 0
        for sample in range(image.shape[1]):
            count += image[row, sample] != image[row, sample]
        known = row if count > 0 else known
    return known


@njit
def _row(image, out, row, channels, half, lines, best_of_3):
    """Write a row of results; each of both `lines` has room for the row with its ends repeated."""
    height, samples = image.shape
    edge, size = half * channels, 2 * half + 1
    top, end = max(row - half, 0), min(row + half, height - 1)
    line, other, inside = lines[0], lines[1], slice(edge, edge + samples)
    # No pass writes where it reads: only so the compiler makes vectors of it. A row may come twice.
    best_of_3(image[top], image[min(top + 1, end)], image[end], line[inside])
    for source in range(top + 2, end, 2):
        best_of_3(image[source], image[min(source + 1, end)], line[inside], other[inside])
        line, other = other, line
    for step in range(edge):
        line[step] = line[edge + step % channels]
        line[edge + samples + step] = line[edge + samples - channels + step % channels]
    # Of 1 cell, of 3, of 9 to the right, and the rest: 3 passes for 15 cells.
    reach, count = 1, samples + 2 * edge
    while 3 * reach < size:
        step = reach * channels
        count -= 2 * step
        best_of_3(line[:count], line[step : step + count], line[2 * step : 2 * step + count], other[:count])
        line, other = other, line
        reach *= 3
    far, near = (size - reach) * channels, (size - reach + 1) // 2 * channels
    best_of_3(line[:samples], line[near : near + samples], line[far : far + samples], out[row])


@njit
def _rows(image, out, first, last, rows, channels, half, lines, is_float, task, worker, best_of_3):
    """Write the rows of a worker, which gets them from top to bottom."""
    seen, strange = 0, -1
    for row in rows_taken(task, first, last, rows):
        _row(image, out, row, channels, half, lines[worker], best_of_3)
        if is_float:
            top, bottom = max(row - half, 0), min(row + half + 1, len(image))
            strange, seen = _last_nan(image, max(seen, top), bottom, strange), bottom
            if strange >= top:
                put_nan(image, row, half, channels, out)


def lowest(image, out, first, last, rows, channels, half, lines, is_float, task):
    """Write the lowest of each square window; `lines` has two for each worker.

    The lowest of each column of the window comes first, then that of neighbouring columns. A window that the
    edge cuts has the lowest of what is left, since repeating a cell changes nothing.
    """
    entry_point()
    worker = share(task)
    _rows(image, out, first, last, rows, channels, half, lines, is_float, task, worker, _lowest_of_3)
    finish(task, worker)


def highest(image, out, first, last, rows, channels, half, lines, is_float, task):
    """Write the highest of each square window, as `lowest` does."""
    entry_point()
    worker = share(task)
    _rows(image, out, first, last, rows, channels, half, lines, is_float, task, worker, _highest_of_3)
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
