"""The compiled part of `cpu-histogram` and `cpu-equalise`: counts into bins of one's own, and look-ups."""

import numpy as np

from engine.compiled.entry_point import entry_point
from engine.device.threads.shared_call import finish, share
from engine.variants.operations.rows_code import rows_taken


def count_whole_numbers(image, out, first, last, rows, counts, channels, bins, shift, task):
    """Count samples of 8 or 16 bit; `counts` is (workers, channels x bins)."""
    entry_point()
    worker = share(task)
    for row in rows_taken(task, first, last, rows):
        for channel in range(channels):
            for at in range(channel, image.shape[1], channels):
                counts[worker, channel * bins + (np.int64(image[row, at]) >> shift)] += 1
    finish(task, worker)


def count_floats(image, out, first, last, rows, counts, channels, bins, task):
    """Count float32 samples from 0 to 1; those outside are in the first or the last bin, NaN in none."""
    entry_point()
    worker = share(task)
    for row in rows_taken(task, first, last, rows):
        for channel in range(channels):
            for at in range(channel, image.shape[1], channels):
                value = image[row, at] * np.float32(bins)
                if value >= np.float32(bins):
                    counts[worker, channel * bins + bins - 1] += 1
                elif value >= np.float32(0.0):
                    counts[worker, channel * bins + np.int64(value)] += 1
                elif value < np.float32(0.0):
                    counts[worker, channel * bins] += 1
    finish(task, worker)


def look_up_whole_numbers(image, out, first, last, rows, levels, shift, task):
    """Write the level of each sample's bin; `levels` is (channels, bins), below 0 the sample stays."""
    entry_point()
    worker = share(task)
    channels = levels.shape[0]
    for row in rows_taken(task, first, last, rows):
        for channel in range(channels):
            for at in range(channel, image.shape[1], channels):
                sample = image[row, at]
                level = levels[channel, np.int64(sample) >> shift]
                out[row, at] = level if level >= 0 else sample
    finish(task, worker)


def look_up_floats(image, out, first, last, rows, levels, bins, task):
    """Write the level of each float32 sample's bin; NaN stays."""
    entry_point()
    worker = share(task)
    channels = levels.shape[0]
    for row in rows_taken(task, first, last, rows):
        for channel in range(channels):
            for at in range(channel, image.shape[1], channels):
                sample = image[row, at]
                value = sample * np.float32(bins)
                index = np.int64(-1)
                if value >= np.float32(bins):
                    index = np.int64(bins - 1)
                elif value >= np.float32(0.0):
                    index = np.int64(value)
                elif value < np.float32(0.0):
                    index = np.int64(0)
                level = np.float32(-1.0)
                if index >= 0:
                    level = levels[channel, index]
                out[row, at] = level if level >= np.float32(0.0) else sample
    finish(task, worker)
