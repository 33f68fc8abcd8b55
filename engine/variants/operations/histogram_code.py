"""The compiled part of `cpu-histogram` and `cpu-equalise`: counts into bins of one's own, and look-ups.

A row is a function of its own: in the loop over a generator of rows a sample takes half as long again.
"""

import numpy as np
from numba import njit

from engine.compiled.entry_point import entry_point
from engine.device.threads.shared_call import finish, share
from engine.variants.operations.rows_code import rows_taken


def count_whole_numbers(image, out, first, last, rows, counts, channels, bins, shift, task):
    """Count samples of 8 or 16 bit; `counts` is (workers, channels x bins)."""
    entry_point()
    worker = share(task)
    for row in rows_taken(task, first, last, rows):
        _count_whole_numbers(image[row], channels, bins, shift, counts[worker])
    finish(task, worker)


def count_floats(image, out, first, last, rows, counts, channels, bins, task):
    """Count float32 samples from 0 to 1; those outside are in the first or the last bin, NaN in none."""
    entry_point()
    worker = share(task)
    for row in rows_taken(task, first, last, rows):
        _count_floats(image[row], channels, bins, counts[worker])
    finish(task, worker)


def look_up_whole_numbers(image, out, first, last, rows, levels, shift, task):
    """Write the level of each sample's bin; `levels` is (channels, bins), below 0 the sample stays."""
    entry_point()
    worker = share(task)
    for row in rows_taken(task, first, last, rows):
        _look_up_whole_numbers(image[row], levels, shift, out[row])
    finish(task, worker)


def look_up_floats(image, out, first, last, rows, levels, bins, task):
    """Write the level of each float32 sample's bin; NaN stays."""
    entry_point()
    worker = share(task)
    for row in rows_taken(task, first, last, rows):
        _look_up_floats(image[row], levels, bins, out[row])
    finish(task, worker)


@njit
def _count_whole_numbers(samples, channels, bins, shift, counts):
    # Indices are unsigned, as in `engine.variants.cpu.serial_code.sum_along`.
    for left in range(0, len(samples), channels):
        for channel in range(channels):
            bin_of = np.uintp(samples[np.uintp(left + channel)]) >> np.uintp(shift)
            counts[np.uintp(channel * bins) + bin_of] += 1


@njit
def _count_floats(samples, channels, bins, counts):
    for left in range(0, len(samples), channels):
        for channel in range(channels):
            index = _bin_of(samples[np.uintp(left + channel)], bins)
            if index >= 0:
                counts[np.uintp(channel * bins + index)] += 1


@njit
def _look_up_whole_numbers(samples, levels, shift, out):
    channels = levels.shape[0]
    for left in range(0, len(samples), channels):
        for channel in range(channels):
            at = np.uintp(left + channel)
            level = levels[channel, np.uintp(samples[at]) >> np.uintp(shift)]
            out[at] = level if level >= 0 else samples[at]


@njit
def _look_up_floats(samples, levels, bins, out):
    channels = levels.shape[0]
    for left in range(0, len(samples), channels):
        for channel in range(channels):
            at = np.uintp(left + channel)
            index = _bin_of(samples[at], bins)
            level = np.float32(-1.0)
            if index >= 0:
                level = levels[channel, np.uintp(index)]
            out[at] = level if level >= np.float32(0.0) else samples[at]


@njit
def _bin_of(sample, bins):
    """Return the bin of a float32 sample, -1 for NaN."""
    value = sample * np.float32(bins)
    if value >= np.float32(bins):
        return np.int64(bins - 1)
    if value >= np.float32(0.0):
        return np.int64(value)
    return np.int64(0) if value < np.float32(0.0) else np.int64(-1)
