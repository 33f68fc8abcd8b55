"""The compiled part of `cpu-separable-serial`: the textbook loops of both passes."""

import numpy as np

from engine.compiled.entry_point import entry_point
from engine.device.result_code import cpu_result
from engine.variants.cpu.serial_code import source_index


def along_rows_serial(image, row_factor, anchor_column, border, ghost_value, sums):
    """Sum along the rows of `image`, some rows of the picture, result by result."""
    entry_point()
    rows, width, channels = image.shape
    for row in range(rows):
        for column in range(width):
            for channel in range(channels):
                total = np.float32(0.0)
                for n in range(row_factor.shape[0]):
                    source_column = source_index(column + n - anchor_column, width, border)
                    value = ghost_value
                    if source_column >= 0:
                        value = np.float32(image[row, source_column, channel])
                    total += value * row_factor[n]
                sums[row, column, channel] = total


def down_columns_serial(sums, column_factor, anchor_row, border, ghost_row_value, offset, largest, out):
    """Sum down the columns of the first pass's sums, result by result.

    `out` may be some rows of the result: `anchor_row` is then less by the number of the first of them.
    """
    entry_point()
    height, width, channels = sums.shape
    for row in range(out.shape[0]):
        for column in range(width):
            for channel in range(channels):
                total = np.float32(0.0)
                for m in range(column_factor.shape[0]):
                    source_row = source_index(row + m - anchor_row, height, border)
                    value = ghost_row_value
                    if source_row >= 0:
                        value = sums[source_row, column, channel]
                    total += value * column_factor[m]
                out[row, column, channel] = cpu_result(total + offset, largest)
