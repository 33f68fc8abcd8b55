"""The compiled part of the oracle: sums of weights times cells in float64, from tables of source indices.

Plain loops, which share no code with a variant. Each product and each sum is rounded on its own, in the order
of the definition. A picture is (H, W x channels); -1 in a table is a ghost cell. With `absolute` cells are
magnitudes, and those that are not finite count as 0.
"""

import numpy as np
from numba import njit

from engine.compiled.entry_point import entry_point


@njit(inline="always")
def cell(value, absolute):
    """Return a sample as the sums take it."""
    number = np.float64(value)
    if absolute:
        return abs(number) if np.isfinite(number) else 0.0
    return number


def gather(picture, rows, columns, channels, ghost, absolute, inside, past_inside, cells):
    """Fill `cells`, (rows, columns x channels); columns inside .. past_inside - 1 are neighbours in a row."""
    entry_point()
    for r in range(rows.size):
        row = rows[r]
        if row < 0:
            cells[r, :] = cell(ghost, absolute)
            continue
        for c in range(columns.size):
            if inside <= c < past_inside:
                continue
            for channel in range(channels):
                value = ghost
                if columns[c] >= 0:
                    value = np.float64(picture[row, columns[c] * channels + channel])
                cells[r, c * channels + channel] = cell(value, absolute)
        if inside < past_inside:
            first, target = columns[inside] * channels, inside * channels
            for sample in range((past_inside - inside) * channels):
                cells[r, target + sample] = cell(picture[row, first + sample], absolute)


def correlate(cells, weights, offset, channels, out):
    """Fill `out`, (rows, columns x channels), with the sums of weights (M, N) times cells, and the offset."""
    entry_point()
    for r in range(out.shape[0]):
        out[r, :] = offset
        for m in range(weights.shape[0]):
            for n in range(weights.shape[1]):
                weight, first = weights[m, n], n * channels
                for sample in range(out.shape[1]):
                    out[r, sample] += weight * cells[r + m, first + sample]


def correlate_apart(picture, rows, columns, channels, ghost, absolute, weights, offset, out):
    """Fill `out` as `correlate` does, where each result has its own M rows and N columns in the tables."""
    entry_point()
    mask_rows, mask_columns = weights.shape
    for r in range(out.shape[0]):
        for result in range(out.shape[1] // channels):
            for channel in range(channels):
                total = offset
                for m in range(mask_rows):
                    row = rows[r * mask_rows + m]
                    for n in range(mask_columns):
                        column = columns[result * mask_columns + n]
                        value = ghost
                        if row >= 0 and column >= 0:
                            value = np.float64(picture[row, column * channels + channel])
                        total += weights[m, n] * cell(value, absolute)
                out[r, result * channels + channel] = total
