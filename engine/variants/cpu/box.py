"""`cpu-box`: masks of equal weights by running sums, on all cores.

Idea
    Down the columns each sample is added three times whatever the height of the mask (`engine.variants.box_mask`: ends of
    one segment of rows, beginnings of the next). Along the rows a window is put together from sums of 1, 4, 16 and 64
    neighbours: at most three times four additions for 63 columns, but of whole vectors.
Who loads what
    A task walks down a strip of 1024 samples. Each input row is read once, weighted, into a ring of as many rows as the
    mask has, which stays in the core's L2 cache (264 KB for 63 x 63).
What it saves
    Against `cpu-parallel`: rows x columns multiply-adds become one multiplication and a few additions.
Limit
    Up to about 5 x 5 the direct sum is as fast.

Along the rows three additions a sample would do as well, but each waits for the one before it: 0.69 ns a sample and core
with four rows interleaved, where the sums of vectors take 0.1 (3 columns) to 0.5 (63).
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache

import numpy as np
from numba import njit

from engine.block import Block, Limits
from engine.block_rules import Refusal
from engine.device.cpu import cores
from engine.device.index_rules import cpu_code, source_index
from engine.errors import UnsupportedVariant
from engine.mask.mask import Mask
from engine.metrics.traffic import cells_inside
from engine.problem import Problem
from engine.variants.box_mask import refuse_other_masks
from engine.variants.contract import DeviceKind, Launch, Variant
from engine.work import Work, filter_work

STRIP_SAMPLES = 1024
STRIP_ROWS = 128

Strip = tuple[int, int, int, int]
"""First and past-the-last row, first and past-the-last sample."""


def plan(problem: Problem, block: Block) -> tuple[Launch, ...]:
    """Return no launches: the strips are tasks of CPU threads."""
    return ()


def strips(height: int, samples: int, mask_rows: int) -> tuple[Strip, ...]:
    """Cut a picture of height x samples into strips; the rows that a strip reads twice are a quarter of it at most."""
    rows = max(STRIP_ROWS, 4 * (mask_rows - 1))
    return tuple(
        (top, min(top + rows, height), left, min(left + STRIP_SAMPLES, samples))
        for top in range(0, height, rows)
        for left in range(0, samples, STRIP_SAMPLES)
    )


def work(problem: Problem, block: Block) -> Work:
    """Return the work by strips: each reads its samples and its halo once, and multiplies each by the weight."""
    (rows, columns), channels = problem.mask_shape, problem.channels
    samples, ghosts = problem.width * channels, problem.border.has_ghost_cells
    loads = 0
    for top, bottom, left, right in strips(problem.height, samples, rows):
        first_row, first_sample = top - problem.anchor[0], left - problem.anchor[1] * channels
        high, wide = bottom - top + rows - 1, right - left + (columns - 1) * channels
        if ghosts:
            high = cells_inside(first_row, first_row + high, problem.height)
            wide = cells_inside(first_sample, first_sample + wide, samples)
        loads += high * wide
    return filter_work(problem, picture_loads=loads, multiply_adds=loads)


def unsupported(problem: Problem, mask: Mask, block: Block, limits: Limits) -> Refusal | None:
    """Return why the mask is no box, or None."""
    return refuse_other_masks(mask, "cpu-parallel")


# Called by compiled code only: what Python would need to call them took a third of the compilation.
inner = njit(nogil=True, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)


# Loops in functions of their own: only there does the compiler see that it can use vectors. Assigning to a slice instead
# would cost 2 s of compilation.
@inner
def _add(line, out):
    for k in range(out.size):
        out[k] += line[k]


@inner
def _fill(value, out):
    for k in range(out.size):
        out[k] = value


@inner
def _sum_of_two(first, second, out):
    for k in range(out.size):
        out[k] = first[k] + second[k]


@inner
def _sum_of_four(line, step, out):
    """Set out[k] to the sum of 4 values of a line from k on, `step` apart."""
    b, c, d = line[step:], line[2 * step :], line[3 * step :]
    for k in range(out.size):
        out[k] = (line[k] + b[k]) + (c[k] + d[k])


@inner
def _sums_along_row(line, spare, columns, channels, offset, out):
    """Set out[k] to the offset and the sum of `columns` values of `line` from k on, `channels` apart.

    The digits of `columns` to the base 4 say of how many sums of 1, 4, 16 and 64 neighbours a window consists. `spare` is
    as long as `line`; both are overwritten.
    """
    _fill(offset, out)
    covered, step, length = 0, channels, line.size
    while columns > 0:
        digit = columns % 4
        for _ in range(digit):
            _add(line[covered:], out)
            covered += step
        columns //= 4
        length -= 3 * step
        if columns > 0:
            _sum_of_four(line, step, spare[:length])
        line, spare = spare, line
        step *= 4


@inner
def _load_row(image, channels, row, left, border, weight, ghost, line):
    """Set a line to the weighted samples of one row from sample `left` on; `ghost` is a weighted ghost cell."""
    row_samples, samples = image.shape[1], line.size
    width = row_samples // channels
    if row < 0:
        _fill(ghost, line)
        return
    first = min(max(0, -left), samples)
    last = max(first, min(samples, row_samples - left))
    source, inside = image[row, left + first : left + last], line[first:last]
    for sample in range(last - first):
        inside[sample] = np.float32(source[sample]) * weight
    for sample in range(samples - last + first):
        place = sample if sample < first else sample - first + last
        column = (left + place) // channels
        source_column = source_index(column, width, border)
        line[place] = ghost
        if source_column >= 0:
            value = image[row, source_column * channels + left + place - column * channels]
            line[place] = np.float32(value) * weight


@njit(nogil=True, error_model="numpy", cache=True)
def sum_strip(
    image,
    channels,
    mask_rows,
    mask_columns,
    anchor_row,
    anchor_column,
    border,
    weight,
    ghost,
    offset,
    out,
    top,
    bottom,
    left,
    right,
    ring,
    lines,
):
    """Compute the results of rows top .. bottom - 1, samples left .. right - 1.

    `image` and `out` are H x (W x channels). `ring` has a line for each mask row and one more, which is 0; `lines` has
    three, each of right - left + (mask_columns - 1) x channels values.
    """
    front, window, spare = lines[0], lines[1], lines[2]
    place = 0
    for number in range(bottom - top + mask_rows - 1):
        # Lines 0 .. place of the ring are rows of this segment; the later ones are sums of rows, each from there to the
        # last one of the segment before.
        line = ring[place]
        row = source_index(top + number - anchor_row, image.shape[0], border)
        _load_row(image, channels, row, left - anchor_column * channels, border, weight, ghost, line)
        if place == 0:
            _fill(np.float32(0.0), front)
        _add(line, front)
        if number >= mask_rows - 1:
            _sum_of_two(ring[place + 1], front, window)
            target = out[top + number - mask_rows + 1, left:right]
            _sums_along_row(window, spare, mask_columns, channels, offset, target)
        place += 1
        if place == mask_rows:
            place = 0
            for last in range(mask_rows - 2, 0, -1):
                _add(ring[last + 1], ring[last])


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=cores(), thread_name_prefix="cpu-box")


class BoxSums:
    """The strips, ready for one problem and mask."""

    def __init__(self, problem: Problem, mask: Mask) -> None:
        rows, columns = problem.mask_shape
        weight = mask.weights32[0, 0]
        # A ghost cell may be as large as float32 goes, and so may its product.
        with np.errstate(over="ignore"):
            ghost = np.float32(problem.ghost_value) * weight
        self._problem = problem
        self._arguments = (
            problem.channels,
            rows,
            columns,
            *problem.anchor,
            cpu_code(problem.border),
            weight,
            ghost,
            np.float32(mask.offset),
        )
        self._strips = strips(problem.height, problem.width * problem.channels, rows)

    def launch(self, image: np.ndarray, out: np.ndarray, stream: object = None) -> None:
        """Filter `image` into `out` on all cores; returns when it is done."""
        flat_image, flat_out = (array.reshape(self._problem.height, -1) for array in (image, out))
        if len(self._strips) == 1:
            self._filter_strip(flat_image, flat_out, self._strips[0])
            return
        for _ in _threads().map(lambda strip: self._filter_strip(flat_image, flat_out, strip), self._strips):
            pass

    def _filter_strip(self, image: np.ndarray, out: np.ndarray, strip: Strip) -> None:
        rows, columns = self._problem.mask_shape
        samples = strip[3] - strip[2] + (columns - 1) * self._problem.channels
        ring, lines = np.empty((rows + 1, samples), np.float32), np.empty((3, samples), np.float32)
        ring[rows] = 0.0
        sum_strip(image, *self._arguments, out, *strip, ring, lines)


def prepare(problem: Problem, mask: Mask, block: Block) -> BoxSums:
    """Return the strips for one problem and mask, compiled.

    Raises
    ------
    UnsupportedVariant
        The mask is no box.
    """
    refusal = unsupported(problem, mask, block, Limits())
    if refusal is not None:
        raise UnsupportedVariant("The mask cannot be applied by running sums", refusal.reason)
    tiny = np.zeros((1, 1, problem.channels), problem.dtype)
    BoxSums(replace(problem, height=1, width=1), mask).launch(tiny, np.empty(tiny.shape, np.float32))
    return BoxSums(problem, mask)


VARIANT = Variant(
    key="cpu-box",
    title="CPU, running sums",
    device=DeviceKind.CPU,
    idea="For masks of equal weights: each window is the end of one segment of rows and the beginning of the next, so that "
    "a large mask costs hardly more than a small one.",
    default_block=Block(1, 1),
    plan=plan,
    work=work,
    prepare=prepare,
    unsupported=unsupported,
    uses_block=False,
    remark="Takes only masks whose weights are all equal.",
    cuttable=False,
)
