"""The compiled part of `cpu-separable-serial`: the textbook loops of both passes."""

import numpy as np

from engine.compiled.entry_point import entry_point
from engine.device.result_code import cpu_result
from engine.variants.cpu.edges_code import source_row
from engine.variants.cpu.serial_code import sum_along


def along_rows_serial(image, sums, first_row, row_factor, before, outside_samples, channels, ghost_value):
    """Sum along rows of `image`, (H, W x C), from `first_row` on into `sums`; the factor is (1, taps)."""
    entry_point()
    for row in range(sums.shape[0]):
        for sample in range(image.shape[1]):
            sums[row, sample] = sum_along(
                image, first_row + row, sample, row_factor, 0, before, outside_samples, channels, ghost_value
            )


def down_columns_serial(
    sums, out, first_row, column_factor, anchor_row, outside_rows, ghost_row_value, offset, largest
):
    """Sum down the columns of the first pass's sums, (H, W x C), result by result.

    `out` may be some rows of the result, of which `first_row` is the number of the first one.
    """
    entry_point()
    height, taps = sums.shape[0], column_factor.shape[0]
    for row in range(out.shape[0]):
        first = first_row + row - anchor_row
        is_inside = first >= 0 and first + taps <= height
        for sample in range(sums.shape[1]):
            total = np.float32(0.0)
            if is_inside:
                for m in range(taps):
                    total += sums[np.uintp(first + m), sample] * column_factor[np.uintp(m)]
            else:
                for m in range(taps):
                    source = source_row(first + m, height, outside_rows, anchor_row)
                    value = ghost_row_value
                    if source >= 0:
                        value = sums[np.uintp(source), sample]
                    total += value * column_factor[np.uintp(m)]
            out[row, sample] = cpu_result(total + offset, largest)
