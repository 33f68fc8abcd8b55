"""The compiled part of `cpu-dct`: 8 x 8 pixels to quantised coefficients and back, many blocks side by side.

Cell (x, y) of all these blocks is line 8 x + y of `cells`, so that the arithmetic is along lines, in vectors.
"""

import numpy as np
from numba import njit

from engine.compiled.entry_point import entry_point
from engine.device.threads.shared_call import finish, share
from engine.variants.operations.rows_code import rows_taken


def transform(image, out, first, last, rows, channels, basis, steps, middle, whole, cells, task):
    """Transform rows of blocks; `cells` is (2 x workers, 64, blocks x C), `basis` and `steps` are (64,).

    `image` is (H, W x C), `out` (2 rows of blocks x 8, columns x C); `whole` makes a sum a whole number by
    being added and subtracted.
    """
    entry_point()
    worker = share(task)
    a, b = cells[2 * worker], cells[2 * worker + 1]
    half, columns = out.shape[0] // 2, out.shape[1] // channels
    blocks = cells.shape[2] // channels
    for block_row in rows_taken(task, first, last, rows):
        begin = block_row * 8
        for left in range(0, columns, 8 * blocks):
            count = min(blocks, (columns - left) // 8)
            lanes = count * channels
            _load(image, begin, left, channels, count, middle, a)
            # Columns, then rows; of the basis row i is the cosines of a frequency.
            for i in range(8):
                for y in range(8):
                    _weighted(a, y, 8, basis, 8 * i, 1, lanes, b[8 * i + y])
            for i in range(8):
                for j in range(8):
                    _weighted(b, 8 * i, 1, basis, 8 * j, 1, lanes, a[8 * i + j])
                    _quantise(a[8 * i + j], steps[8 * i + j], whole, lanes)
            _store(a, begin, left, channels, count, out)
            for cell in range(64):
                _change(a[cell], steps[cell], np.float32(0.0), lanes)
            for x in range(8):
                for j in range(8):
                    _weighted(a, j, 8, basis, x, 8, lanes, b[8 * x + j])
            for x in range(8):
                for y in range(8):
                    _weighted(b, 8 * x, 1, basis, y, 8, lanes, a[8 * x + y])
                    _change(a[8 * x + y], np.float32(1.0), middle, lanes)
            _store(a, half + begin, left, channels, count, out)
    finish(task, worker)


@njit
def _load(image, begin, left, channels, blocks, middle, cells):
    """Take in eight rows of the picture, less middle grey; its last row and column are repeated."""
    height, width = image.shape[0], image.shape[1] // channels
    for x in range(8):
        row = image[min(begin + x, height - 1)]
        for y in range(8):
            line = cells[8 * x + y]
            for block in range(blocks):
                at = min(left + 8 * block + y, width - 1) * channels
                for channel in range(channels):
                    sample = np.float32(row[np.uintp(at + channel)])
                    line[np.uintp(block * channels + channel)] = sample - middle


@njit
def _store(cells, begin, left, channels, blocks, out):
    for x in range(8):
        row = out[begin + x]
        for y in range(8):
            line = cells[8 * x + y]
            for block in range(blocks):
                at = (left + 8 * block + y) * channels
                for channel in range(channels):
                    row[np.uintp(at + channel)] = line[np.uintp(block * channels + channel)]


@njit
def _weighted(lines, first, step, basis, begin, across, lanes, out):
    """Write what eight lines add up to, each times its number of the basis."""
    for at in range(lanes):
        total = np.float32(0.0)
        for k in range(8):
            total += basis[begin + across * k] * lines[first + step * k, at]
        out[at] = total


@njit
def _quantise(line, step, whole, lanes):
    for at in range(lanes):
        # In float32 the sum with `whole` has no fraction left.
        line[at] = (line[at] / step + whole) - whole


@njit
def _change(line, factor, added, lanes):
    for at in range(lanes):
        line[at] = line[at] * factor + added
