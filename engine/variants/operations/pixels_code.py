"""The compiled part of the operations that look at one pixel: negative, threshold, desaturate, hue shift.

Pictures are rows of samples, (H, W x C); each function is `engine.variants.operations.bands.Bands`'s.
"""

import numpy as np
from numba import njit

from engine.compiled.entry_point import entry_point
from engine.device.result_code import cpu_result
from engine.device.threads.shared_call import finish, share
from engine.variants.operations.rows_code import rows_taken


def negative(image, out, first, last, rows, white, task):
    """Write white less each sample."""
    entry_point()
    worker = share(task)
    for row in rows_taken(task, first, last, rows):
        for sample in range(image.shape[1]):
            out[row, sample] = white - image[row, sample]
    finish(task, worker)


def threshold(image, out, first, last, rows, level, white, task):
    """Write white where a sample is above the level, else black; NaN is above none."""
    entry_point()
    worker = share(task)
    for row in rows_taken(task, first, last, rows):
        for sample in range(image.shape[1]):
            out[row, sample] = white if np.float32(image[row, sample]) > level else np.float32(0.0)
    finish(task, worker)


def desaturate(image, out, first, last, rows, red, green, blue, largest, task):
    """Write the weighted sum of each pixel's three samples to all three."""
    entry_point()
    worker = share(task)
    for row in rows_taken(task, first, last, rows):
        for pixel in range(image.shape[1] // 3):
            at = 3 * pixel
            grey = red * np.float32(image[row, at]) + green * np.float32(image[row, at + 1])
            result = cpu_result(grey + blue * np.float32(image[row, at + 2]), largest)
            out[row, at] = result
            out[row, at + 1] = result
            out[row, at + 2] = result
    finish(task, worker)


@njit(inline="always")
def channel_of(offset, hue, highest, chroma):
    """Return a channel of a hue in sextants, 0 to 12."""
    k = np.float32(offset) + hue
    if k >= np.float32(6.0):
        k -= np.float32(6.0)
    if k >= np.float32(6.0):
        k -= np.float32(6.0)
    part = max(np.float32(0.0), min(k, min(np.float32(4.0) - k, np.float32(1.0))))
    return highest - chroma * part


def hue_shift(image, out, first, last, rows, shift, largest, task):
    """Turn each pixel's hue by so many sextants; a pixel with NaN or infinity becomes NaN."""
    entry_point()
    worker = share(task)
    for row in rows_taken(task, first, last, rows):
        for pixel in range(image.shape[1] // 3):
            at = 3 * pixel
            red, green = np.float32(image[row, at]), np.float32(image[row, at + 1])
            blue = np.float32(image[row, at + 2])
            highest, lowest = max(red, max(green, blue)), min(red, min(green, blue))
            chroma = highest - lowest
            hue = shift
            if chroma > np.float32(0.0):
                if highest == red:
                    hue = shift + (green - blue) / chroma
                elif highest == green:
                    hue = shift + (np.float32(2.0) + (blue - red) / chroma)
                else:
                    hue = shift + (np.float32(4.0) + (red - green) / chroma)
            strange = (red - red) + (green - green) + (blue - blue)
            for channel, offset in enumerate((5, 3, 1)):
                result = channel_of(offset, hue, highest, chroma) + strange
                out[row, at + channel] = cpu_result(result, largest)
    finish(task, worker)
