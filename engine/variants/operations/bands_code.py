"""Which rows a worker computes: the loop around all code for the CPU that works on rows."""

from numba import njit

from engine.compiled.entry_point import entry_point
from engine.device.threads.descriptors import TAKEN
from engine.device.threads.shared_call import finish, share
from engine.variants.emit.cpu_vectors import count_one


def on_bands(write):
    """Return what Numba compiles: workers `write` one band of `rows` after another, until none is left.

    All workers count the bands that are taken in the task descriptor, so that each row is computed once.
    """
    write_rows = njit(write)

    def all_bands(image, out, first, last, rows, arguments, task):
        entry_point()
        worker = share(task)
        while True:
            top = first + count_one(task, TAKEN) * rows
            if top >= last:
                break
            write_rows(image, out, top, min(last, top + rows), worker, *arguments)
        finish(task, worker)

    return all_bands


@njit
def put_nan(image, row, half, channels, out):
    """Write NaN where the window around a sample has one."""
    height, samples = image.shape
    for sample in range(samples):
        column, channel = sample // channels, sample % channels
        for m in range(-half, half + 1):
            source = min(max(row + m, 0), height - 1)
            for n in range(-half, half + 1):
                at = min(max(column + n, 0), samples // channels - 1) * channels + channel
                value = image[source, at]
                if value != value:
                    out[row, sample] = value
