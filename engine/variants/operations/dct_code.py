"""The compiled part of `cpu-dct`: 8 x 8 pixels to quantised coefficients and back, block by block."""

import numpy as np

from engine.compiled.entry_point import entry_point
from engine.device.threads.shared_call import finish, share
from engine.variants.operations.rows_code import rows_taken


def transform(image, out, first, last, rows, channels, basis, steps, middle, whole, cells, task):
    """Transform rows of blocks; `cells` has two blocks of 8 x 8 for each worker.

    `image` is (H, W x C), `out` (2 rows of blocks x 8, columns x C); `whole` makes a sum a whole number by
    being added and subtracted.
    """
    entry_point()
    worker = share(task)
    a, b = cells[2 * worker], cells[2 * worker + 1]
    height, width = image.shape[0], image.shape[1] // channels
    half, columns = out.shape[0] // 2, out.shape[1] // channels
    zero = np.float32(0.0)
    for block_row in rows_taken(task, first, last, rows):
        begin = block_row * 8
        for left in range(0, columns, 8):
            for channel in range(channels):
                for x in range(8):
                    source = min(begin + x, height - 1)
                    for y in range(8):
                        at = min(left + y, width - 1) * channels + channel
                        a[x, y] = np.float32(image[source, at]) - middle
                # b[i, y]: columns transformed, then a[i, j]: rows.
                for i in range(8):
                    for y in range(8):
                        b[i, y] = zero
                    for x in range(8):
                        factor = basis[i, x]
                        for y in range(8):
                            b[i, y] += factor * a[x, y]
                for i in range(8):
                    for j in range(8):
                        total = zero
                        for y in range(8):
                            total += b[i, y] * basis[j, y]
                        # In float32 the sum with `whole` has no fraction left.
                        level = (total / steps[i, j] + whole) - whole
                        out[begin + i, (left + j) * channels + channel] = level
                        a[i, j] = level * steps[i, j]
                for x in range(8):
                    for j in range(8):
                        b[x, j] = zero
                    for i in range(8):
                        factor = basis[i, x]
                        for j in range(8):
                            b[x, j] += factor * a[i, j]
                for x in range(8):
                    for y in range(8):
                        total = zero
                        for j in range(8):
                            total += b[x, j] * basis[j, y]
                        out[half + begin + x, (left + y) * channels + channel] = total + middle
    finish(task, worker)
