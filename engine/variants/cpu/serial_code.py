"""The compiled part of `cpu-serial`: the textbook loops; the border is chosen at run time."""

import numpy as np
from numba import njit

from engine.compiled.entry_point import entry_point
from engine.device.result_code import cpu_result
from engine.variants.cpu.edges_code import source_row, source_sample


def correlate_serial(
    image, out, first_row, weights, anchor_row, before, outside_rows, outside_samples, channels, ghost_value,
    offset, largest,
):  # fmt: skip
    """Correlate, result by result.

    `image` is (H, W x C); `out` may be some rows of the result, of which `first_row` is the number of the
    first one. What lies beyond the picture is as in `Halo`, the rest as in every filter kernel and in
    `cpu_result`.
    """
    entry_point()
    height, samples = image.shape
    for row in range(out.shape[0]):
        for sample in range(samples):
            total = np.float32(0.0)
            for m in range(weights.shape[0]):
                source = source_row(first_row + row + m - anchor_row, height, outside_rows, anchor_row)
                total += sum_along(
                    image, source, sample, weights, m, before, outside_samples, channels, ghost_value
                )
            out[row, sample] = cpu_result(total + offset, largest)


# A call takes longer than the sum.
@njit(inline="always")
def sum_along(image, row, sample, weights, m, before, outside_samples, channels, ghost_value):
    """Return the sum along a row of the picture, with row `m` of the weights; -1 is a row of ghost cells.

    Two things make this as fast as what a C compiler makes of the same loop. Indices are unsigned: of each
    signed one Numba asks whether it counts from the end. And the loop inside the picture steps by `channels`:
    LLVM cannot tell beforehand how often it runs, and so does not put eight taps into a round, which takes
    more registers than there are.
    """
    samples, taps = image.shape[1], weights.shape[1]
    first = sample - before
    end = first + taps * channels
    total = np.float32(0.0)
    if row >= 0 and first >= 0 and end - channels < samples:
        n, at = 0, first
        while at < end:
            total += np.float32(image[np.uintp(row), np.uintp(at)]) * weights[np.uintp(m), np.uintp(n)]
            n, at = n + 1, at + channels
    else:
        for n in range(taps):
            source = source_sample(first + n * channels, samples, outside_samples, before)
            value = ghost_value
            if row >= 0 and source >= 0:
                value = np.float32(image[np.uintp(row), np.uintp(source)])
            total += value * weights[np.uintp(m), np.uintp(n)]
    return total
