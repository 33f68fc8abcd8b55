"""The compiled part of `cpu-histogram`: each worker counts into bins of its own."""

import numpy as np

from engine.compiled.entry_point import entry_point
from engine.variants.cpu.shared_call import finish, share
from engine.variants.operations.rows_code import rows_taken


def count_whole_numbers(image, out, first, last, rows, counts, channels, bins, shift, board):
    """Count samples of 8 or 16 bit; `counts` is (workers, channels x bins)."""
    entry_point()
    worker = share(board)
    for row in rows_taken(board, first, last, rows):
        for channel in range(channels):
            for at in range(channel, image.shape[1], channels):
                counts[worker, channel * bins + (np.int64(image[row, at]) >> shift)] += 1
    finish(board, worker)


def count_floats(image, out, first, last, rows, counts, channels, bins, board):
    """Count float32 samples from 0 to 1; those outside are in the first or the last bin, NaN in none."""
    entry_point()
    worker = share(board)
    for row in rows_taken(board, first, last, rows):
        for channel in range(channels):
            for at in range(channel, image.shape[1], channels):
                value = image[row, at] * np.float32(bins)
                if value >= np.float32(bins):
                    counts[worker, channel * bins + bins - 1] += 1
                elif value >= np.float32(0.0):
                    counts[worker, channel * bins + np.int64(value)] += 1
                elif value < np.float32(0.0):
                    counts[worker, channel * bins] += 1
    finish(board, worker)
