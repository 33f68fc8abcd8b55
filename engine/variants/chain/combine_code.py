"""The compiled part of what chains do between steps on the CPU: scaling, and two results become one."""

import math

import numpy as np

from engine.compiled.entry_point import entry_point
from engine.device.threads.shared_call import finish, share
from engine.variants.operations.rows_code import rows_taken


def scaled(image, out, first, last, rows, factor, task):
    """Write samples times a factor, float32."""
    entry_point()
    worker = share(task)
    for row in rows_taken(task, first, last, rows):
        for sample in range(image.shape[1]):
            out[row, sample] = np.float32(image[row, sample]) * factor
    finish(task, worker)


def weighted(image, out, first, last, rows, other, of_image, of_other, task):
    """Write the weighted sum of two pictures."""
    entry_point()
    worker = share(task)
    for row in rows_taken(task, first, last, rows):
        for sample in range(image.shape[1]):
            out[row, sample] = of_image * image[row, sample] + of_other * other[row, sample]
    finish(task, worker)


def magnitude(image, out, first, last, rows, other, of_image, of_other, task):
    """Write the root of the sum of two squares."""
    entry_point()
    worker = share(task)
    for row in rows_taken(task, first, last, rows):
        for sample in range(image.shape[1]):
            x, y = image[row, sample], other[row, sample]
            out[row, sample] = math.sqrt(x * x + y * y)
    finish(task, worker)


def maximum(image, out, first, last, rows, other, of_image, of_other, task):
    """Write the larger of two; NaN where one is NaN."""
    entry_point()
    worker = share(task)
    for row in rows_taken(task, first, last, rows):
        for sample in range(image.shape[1]):
            x, y = image[row, sample], other[row, sample]
            # x + y is NaN where y is; where x is NaN nothing is larger.
            larger = y if y > x else x
            out[row, sample] = larger if y == y else y
    finish(task, worker)
