"""The compiled part of `network-serial`: a loop nest per layer; no vectors by hand, threads, fast-math."""

import numpy as np

from engine.compiled.entry_point import entry_point
from engine.tasks.network.problem import FILTER_SIDE
from engine.variants.network.layer_kernels import TILE


def convolve_serial(maps, filters, results):
    """Correlate maps (c, rows, columns) with filters (m, c, 5, 5) where they lie on them whole; rectify."""
    entry_point()
    channels = filters.shape[1]
    for m in range(results.shape[0]):
        for row in range(results.shape[1]):
            for column in range(results.shape[2]):
                total = np.float32(0.0)
                for c in range(channels):
                    partial = np.float32(0.0)
                    for p in range(FILTER_SIDE):
                        for q in range(FILTER_SIDE):
                            partial += maps[c, row + p, column + q] * filters[m, c, p, q]
                    total += partial
                results[m, row, column] = np.float32(0.0) if total < np.float32(0.0) else total


def pool_serial(maps, results):
    """Average squares of 2 x 2."""
    entry_point()
    for m in range(results.shape[0]):
        for row in range(results.shape[1]):
            for column in range(results.shape[2]):
                total = np.float32(0.0)
                for i in range(2):
                    for j in range(2):
                        total += maps[m, 2 * row + i, 2 * column + j]
                results[m, row, column] = total * np.float32(0.25)


def connect_serial(values, weights, rectifies, results):
    """Multiply values with weights (inputs, outputs); negative results become 0 if it `rectifies`.

    Each TILE products have a partial sum, as on the device (`roundings_by_parts`).
    """
    entry_point()
    for output in range(results.shape[0]):
        total = np.float32(0.0)
        first = 0
        while first < values.shape[0]:
            partial = np.float32(0.0)
            for k in range(first, min(first + TILE, values.shape[0])):
                partial += values[k] * weights[k, output]
            total += partial
            first += TILE
        if rectifies and total < np.float32(0.0):
            total = np.float32(0.0)
        results[output] = total
