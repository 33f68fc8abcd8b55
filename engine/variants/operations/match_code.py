"""The compiled part of `cpu-match`: positions of a row side by side, so that all loops are along them."""

import numpy as np

from engine.compiled.entry_point import entry_point
from engine.device.threads.shared_call import finish, share
from engine.variants.operations.match_grid import LINES, POSITIONS
from engine.variants.operations.rows_code import rows_taken
from engine.work.operations.find_patch import LEAST_SQUARES


def scores(planes, out, first, last, rows, patch, lines, task):
    """Write the score of each position; `planes` is (C, H, W) float32, `patch` (C, h, w)."""
    entry_point()
    worker = share(task)
    begin = worker * LINES
    origin, mean, above = lines[begin], lines[begin + 1], lines[begin + 2]
    below, part, part_below = lines[begin + 3], lines[begin + 4], lines[begin + 5]
    channels, height, width = patch.shape
    zero = np.float32(0.0)
    count = np.float32(channels * height * width)
    for row in rows_taken(task, first, last, rows):
        for left in range(0, out.shape[1], POSITIONS):
            positions = min(POSITIONS, out.shape[1] - left)
            for at in range(positions):
                mean[at] = above[at] = below[at] = zero
                origin[at] = planes[0, row, left + at]
            for channel in range(channels):
                for m in range(height):
                    line = planes[channel, row + m]
                    for at in range(positions):
                        part[at] = zero
                    for n in range(width):
                        for at in range(positions):
                            part[at] += line[left + at + n] - origin[at]
                    for at in range(positions):
                        mean[at] += part[at]
            for at in range(positions):
                mean[at] /= count
            for channel in range(channels):
                for m in range(height):
                    line = planes[channel, row + m]
                    for at in range(positions):
                        part[at] = part_below[at] = zero
                    for n in range(width):
                        weight = patch[channel, m, n]
                        for at in range(positions):
                            difference = line[left + at + n] - origin[at] - mean[at]
                            part[at] += difference * weight
                            part_below[at] += difference * difference
                    for at in range(positions):
                        above[at] += part[at]
                        below[at] += part_below[at]
            for at in range(positions):
                score = zero
                if below[at] > LEAST_SQUARES:
                    score = above[at] / np.sqrt(below[at])
                # 0, or NaN where a sample is NaN or infinite.
                out[row, left + at] = score + (mean[at] - mean[at])
    finish(task, worker)
