"""The compiled part of `cpu-serial`: the textbook loops; the border is chosen at run time."""

import numpy as np
from numba import njit

from engine.compiled.entry_point import entry_point
from engine.device.result_code import cpu_result
from engine.variants.cpu.edges_code import source_row, source_sample

# Two things make these loops as fast as those that a C compiler makes of the same C. Indices into arrays are
# unsigned: of each signed one Numba asks whether it counts from the end. And loops over taps step by
# `channels`: LLVM cannot tell beforehand how often they run, and so does not unroll them eight times, which
# needs more registers than there are, for the five or nine taps that there mostly are.


def correlate_serial(
    image, out, first_row, weights, anchor_row, before, outside_rows, outside_samples, channels, ghost_value,
    offset, largest,
):  # fmt: skip
    """Correlate, result by result.

    `image` is (H, W x C); `out` may be some rows of the result, of which `first_row` is the number of the first
    one. What lies beyond the picture is as in `Halo`, the rest as in every filter kernel and in `cpu_result`.
    """
    entry_point()
    height, samples = image.shape
    mask_rows, mask_columns = weights.shape
    reach = mask_columns * channels
    for row in range(out.shape[0]):
        for sample in range(samples):
            first = sample - before
            is_inside = first >= 0 and first + reach - channels < samples
            total = np.float32(0.0)
            for m in range(mask_rows):
                source = source_row(first_row + row + m - anchor_row, height, outside_rows, anchor_row)
                if is_inside and source >= 0:
                    partial = np.float32(0.0)
                    n, at, end = 0, first, first + reach
                    while at < end:
                        value = np.float32(image[np.uintp(source), np.uintp(at)])
                        partial += value * weights[np.uintp(m), np.uintp(n)]
                        n, at = n + 1, at + channels
                else:
                    partial = sum_at_edge(
                        image, source, first, channels, outside_samples, before, ghost_value, weights[m]
                    )
                total += partial
            out[row, sample] = cpu_result(total + offset, largest)


@njit
def sum_at_edge(image, row, first, channels, outside_samples, before, ghost_value, weights):
    """Return the sum along a row of which some samples may lie beside the picture; -1: a row of ghosts."""
    partial = np.float32(0.0)
    for n in range(weights.shape[0]):
        source = source_sample(first + n * channels, image.shape[1], outside_samples, before)
        value = ghost_value
        if row >= 0 and source >= 0:
            value = np.float32(image[np.uintp(row), np.uintp(source)])
        partial += value * weights[np.uintp(n)]
    return partial
