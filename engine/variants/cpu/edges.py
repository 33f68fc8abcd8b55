"""The columns of a picture on the CPU: a middle that is read where it lies, and two edges that are copied.

    |<-- left edge -->|<----------- middle ----------->|<-- right edge -->|
                      left_end                         right_start

All taps of the middle's results lie inside the picture, so its rows are read straight from it. A row of an
edge is copied into a buffer with the cells that the border's rule puts beside it: a few dozen samples of some
thousand. Rows above and below the picture are other rows of it, or a row of ghost cells.
"""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import DTypeLike

from engine.compiled.late_names import late_njit
from engine.variants.cpu.register_tiles import LINE, VECTOR
from engine.work.problem import Problem

if TYPE_CHECKING:  # imported where code is compiled
    from engine.variants.emit.cpu_vectors import address_of, copy_samples, larger, smaller

# Rows of buffers begin half a page after NumPy's large arrays do in theirs, for all workers: two passes take
# 2 to 3 % less than at the pictures' own offset, 4 % with two threads.
ROWS_BEGIN_BYTES = 2048
ROWS_ALIGNMENT_BYTES = 4096
# Between what two threads write: cores prefetch, and two that write neighbouring cache lines wait for each
# other (8-bit RGB 15 x 15 on 256 x 256 took 10 % longer).
BETWEEN_ROWS_BYTES = 1024


class Halo:
    """What lies beyond a picture, as tables for compiled code: sources of rows and samples, -1 for ghosts."""

    def __init__(self, problem: Problem) -> None:
        channels = problem.channels

        def sources(length: int, axis: int) -> np.ndarray:
            # Above or left of the picture, then below or right of it.
            side, anchor = problem.mask_shape[axis], problem.anchor[axis]
            beyond = [*range(-anchor, 0), *range(length, length + side - 1 - anchor)]
            return np.array([problem.border.rule(index, length) for index in beyond], np.int64)

        # Samples that a mask reaches to the left and to the right of a result's own.
        self.before = problem.anchor[1] * channels
        self.after = (problem.mask_shape[1] - 1 - problem.anchor[1]) * channels
        self.outside_rows = sources(problem.height, 0)
        columns = sources(problem.width, 1)[:, np.newaxis]
        self.outside_samples = np.where(columns < 0, -1, columns * channels + np.arange(channels)).reshape(-1)

    @property
    def longest_edge(self) -> int:
        """The most results that an edge has."""
        return max(self.before, self.after) + LINE + VECTOR

    def columns(self, samples: int, before_line: int = 0, reach: int = 0) -> tuple[int, int]:
        """Return left_end and right_start of a row of `samples`; the middle has whole vectors, or none.

        The first `before_line` results of a row lie before the first cache line of them; the middle
        begins with a line. At least `reach` samples lie behind those that it needs.
        """
        left_end = min(samples, self.before + (before_line - self.before) % LINE)
        inside = max(0, samples - self.after - reach - left_end)
        return left_end, left_end + inside // VECTOR * VECTOR


def holds(dtype: str, value: float) -> bool:
    """Return whether a sample of this type can be exactly this value."""
    return dtype == "float32" or (value == int(value) and 0 <= value <= np.iinfo(dtype).max)


def aligned_rows(rows: int, count: int, dtype: DTypeLike) -> np.ndarray:
    """Return zeros of `rows` rows of at least `count` samples, each at the same offset in its page."""
    kind = np.dtype(dtype)
    length = count * kind.itemsize + BETWEEN_ROWS_BYTES
    pitch = -(-length // ROWS_ALIGNMENT_BYTES) * ROWS_ALIGNMENT_BYTES
    memory = np.zeros(rows * pitch + ROWS_ALIGNMENT_BYTES, np.uint8)
    first = (ROWS_BEGIN_BYTES - memory.ctypes.data) % ROWS_ALIGNMENT_BYTES
    return memory[first : first + rows * pitch].view(kind).reshape(rows, -1)


@late_njit(nogil=True, inline="always")
def source_row(row, height, outside_rows, anchor_row):
    """Return the picture's row that the border puts at `row`, or -1 for a row of ghost cells."""
    if row < 0:
        return outside_rows[row + anchor_row]
    return row if row < height else outside_rows[row - height + anchor_row]


@late_njit(nogil=True, inline="always")
def source_sample(sample, samples, outside_samples, before):
    """Return the sample of a row that the border puts at `sample`, or -1 for a ghost cell."""
    if sample < 0:
        return outside_samples[sample + before]
    return sample if sample < samples else outside_samples[sample - samples + before]


@late_njit(nogil=True, inline="always")
def copy_edge(row_address, samples, first, last, outside_samples, before, ghost_row, edge, at):
    """Copy samples first .. last - 1 of a row, with those beside the picture, into the buffer `edge`."""
    size = edge.itemsize
    inside = larger(first, 0)
    count = smaller(last, samples) - inside
    copy_samples(address_of(edge, at + inside - first), row_address + inside * size, count, edge)
    left = larger(-first, 0)
    for number in range(left + larger(last - samples, 0)):
        # Those left of the picture come first, in the table too.
        sample = first + number if number < left else samples + number - left
        source = outside_samples[before + (sample if number < left else sample - samples)]
        address = address_of(ghost_row, 0) if source < 0 else row_address + source * size
        copy_samples(address_of(edge, at + sample - first), address, 1, edge)
