"""`cpu-box`: masks of equal weights by running sums, on all cores.

Idea
    Down the columns each sample is added three times whatever the height of the mask
    (`engine.variants.mask_classes`: ends of one segment of rows, beginnings of the next). Along the rows a
    window is made of sums of 1, 4, 16 and 64 neighbours: at most three times four additions of whole vectors
    for 63 columns.
Who loads what
    A core streams down a tile of a band. Each input row is read once and weighted into a ring of as many rows
    as the mask has, which stays in the core's second cache (264 KB for 63 x 63); the windows' sums are formed
    on the way.
What it saves
    Against `cpu-parallel`: rows x columns multiply-adds become one multiplication and a few additions.
Limit
    Memory for small masks; loads and stores of lines for large ones.

Along the rows three additions per sample would do, but each waits for the one before it: 0.69 ns per sample
and core with four rows interleaved, where the sums of vectors take 0.1 (3 columns) to 0.5 (63).
"""

import numpy as np

from engine.compiled.entry_point import entry_point
from engine.compiled.machine_code import MachineFunction
from engine.device.thread_code import finish, row_of, share
from engine.device.thread_pool import TAKEN, TASK
from engine.geometry.block import Block, UnsupportedVariant
from engine.mask.mask import Mask
from engine.results.problem import LoopWork
from engine.run.variant import ON_CPU
from engine.variants.cpu import banded_filter as banded
from engine.variants.cpu.banded_filter import (
    BandedCut,
    BandedFilter,
    aligned_rows,
    copy_edge,
    cut,
    source_row,
)
from engine.variants.cpu.line_sums import add_line, add_neighbours, take_row
from engine.variants.cpu.register_tiles import ACROSS_LINES, VECTOR
from engine.variants.emit.cpu_vectors import address_of, copy_samples, count_one, smaller
from engine.variants.mask_classes import refuse_unequal
from engine.work.filtering.sum_order import RUNNING_SUMS
from engine.work.filtering.variants import Growth, MaskClass, Variant, filter_work
from engine.work.problem import Problem

TILE_SAMPLES = 1024
# Lines beside the ring: a line of zeros at its end, the sum of the segment so far, the windows, and their
# neighbours' sums.
MORE_LINES = 5
# What a sample costs, in the multiply-adds by which the number of threads is chosen.
COST_PER_SAMPLE = 12


INSTEAD = "cpu-parallel"


class BoxSums(BandedFilter):
    """Running sums, ready for one problem and mask."""

    function = MachineFunction(__name__, "box_sums_of_bands", error_model="numpy")

    def __init__(self, problem: Problem, mask: Mask) -> None:
        super().__init__(problem, mask, problem.samples * COST_PER_SAMPLE)
        self._weight = mask.weights32[0, 0]
        self._tile_samples = min(TILE_SAMPLES, -(-self._samples // VECTOR) * VECTOR)
        length = self._tile_samples + self._halo.before + self._halo.after
        # Neighbours are looked for up to three windows on; there is nothing there that any result needs.
        self._pitch = -(-(length + 2 * VECTOR) // VECTOR) * VECTOR
        self._ghost_row = np.full(self._pitch, problem.ghost_value, self._dtype)
        tiles = -(-self._samples // self._tile_samples)
        self._cut = BandedCut((cut(problem.height, tiles, self.workers, problem.mask_shape[0] - 1),))

    @property
    def loops(self) -> tuple[LoopWork, ...]:
        """A row is taken in; sums of a segment's ends; windows, digit by digit."""
        rows, columns = self._problem.mask_shape
        are_floats = self._dtype == np.float32
        taking = LoopWork(operations=3 if are_floats else 3 + banded.CONVERSION, loads=3, stores=3)
        # Once for each segment, but for two of its rows.
        ends = LoopWork(operations=1, loads=2, stores=1).times(max(0, rows - 2) / rows)
        # What lies beside a tile is taken in too, and summed up as far as windows need it.
        count = min(self._tile_samples, self._samples)
        length = count + self._halo.before + self._halo.after
        beside = self._rows_taken * length / count
        windows, step, covered, left = list[LoopWork](), self._problem.channels, 0, columns
        while left:
            terms, begins = left % 4, not windows
            if terms or begins:
                windows.append(_neighbours(terms, step, covered, not begins))
            covered += terms * step
            left //= 4
            length -= 3 * step
            if left:
                windows.append(_neighbours(4, step, 0, False).times(length / count))
            step *= 4
        return (self._edge_copies(self._tile_samples), taking.times(beside), ends.times(beside), *windows)

    def _arguments(self, cut: tuple[np.ndarray, ...], workers: int) -> tuple[object, ...]:
        # Some of the last line's neighbours lie past it.
        lines = aligned_rows(
            workers, (self._problem.mask_shape[0] + MORE_LINES + 1) * self._pitch, np.float32
        )
        return (
            0, 0, self._size, (*self._problem.mask_shape, self._weight), self._beyond, self._tile_samples,
            *cut, TASK, (self._edges(workers, self._pitch), self._ghost_row, lines, self._pitch),
        )  # fmt: skip


def _neighbours(terms: int, step: int, first: int, adds: bool) -> LoopWork:
    """Return the work of `add_neighbours`; lines begin at whole vectors, and `adds` to what is there."""
    apart = sum((first + step * term) % VECTOR != 0 for term in range(terms))
    operations = max(0, terms - 1) + adds
    return LoopWork(operations=operations, loads=terms + apart * ACROSS_LINES + adds, stores=1)


def box_sums_of_bands(picture, out, extent, mask, beyond, tile_samples, bands, task, buffers):
    """Take one band after another, until none is left, on as many threads as take part.

    Of the buffers each worker has a row; one of `lines` has a line of `pitch` values for each mask row, the
    ring, and MORE_LINES more; they are 0 at first.
    """
    entry_point()
    height, samples, channels = extent
    mask_rows, mask_columns, weight = mask
    anchor_row, before, after, outside_rows, outside_samples, offset = beyond
    edges, ghost_row, all_lines, pitch = buffers
    worker = share(task)
    edge, lines = row_of(edges, worker), row_of(all_lines, worker)
    size, value_size = edge.itemsize, lines.itemsize
    front, window = (mask_rows + 1) * pitch, (mask_rows + 2) * pitch
    unused, results = (mask_rows + 3) * pitch, (mask_rows + 4) * pitch
    while True:
        band = count_one(task, TAKEN)
        if band >= bands.shape[0]:
            break
        top, bottom, tile = bands[band, 0], bands[band, 1], bands[band, 2]
        first = tile * tile_samples
        last = smaller(samples, first + tile_samples)
        count = last - first
        length = count + before + after
        inside = first >= before and last + after + VECTOR <= samples
        ring_line = 0
        for number in range(bottom - top + mask_rows - 1):
            source = source_row(top - anchor_row + number, height, outside_rows, anchor_row)
            row_address = picture + source * samples * size
            address = row_address + (first - before) * size
            if source < 0:
                address = address_of(ghost_row, 0)
            elif not inside:
                copy_edge(
                    row_address, samples, first - before, last + after, outside_samples, before, ghost_row,
                    edge, 0,
                )  # fmt: skip
                address = address_of(edge, 0)
            # Lines 0 .. ring_line of the ring are rows of this segment; the later ones are sums of rows, each
            # from there to the last one of the segment before.
            here, ends = ring_line * pitch, (ring_line + 1) * pitch
            take_row(address, edge, weight, length, lines, here, front, ends, window, ring_line == 0)
            if number >= mask_rows - 1:
                at = out + ((top + number - mask_rows + 1) * samples + first) * value_size
                target = at if count % VECTOR == 0 else address_of(lines, results)
                line, other, covered, step, left = window, unused, 0, channels, mask_columns
                while left > 0:
                    # The digits of the width to the base 4 say of how many sums of 1, 4, 16, ... neighbours a
                    # window is.
                    terms = left % 4
                    if terms > 0 or step == channels:
                        add_neighbours(
                            lines, line + covered, step, terms, target, offset, step == channels, count
                        )
                    covered += terms * step
                    left //= 4
                    length -= 3 * step
                    if left > 0:
                        add_neighbours(
                            lines, line, step, 4, address_of(lines, other), np.float32(0.0), True, length
                        )
                    line, other = other, line
                    step *= 4
                length = count + before + after
                if target != at:
                    copy_samples(at, target, count, lines)
            ring_line += 1
            if ring_line == mask_rows:
                ring_line = 0
                for row in range(mask_rows - 2, 0, -1):
                    add_line(lines, (row + 1) * pitch, row * pitch, length)
    finish(task, worker)


def prepare(problem: Problem, mask: Mask, block: Block) -> BoxSums:
    """Return compiled running sums; raise UnsupportedVariant for a mask that is not a box."""
    if (refusal := refuse_unequal(mask, INSTEAD)) is not None:
        raise UnsupportedVariant("The mask cannot be applied by running sums", refusal)
    return BoxSums(problem, mask).compiled()


VARIANT = Variant(
    **ON_CPU,
    key="cpu-box",
    title="CPU, running sums",
    idea="For masks of equal weights: each window is the end of one segment of rows and the beginning of "
    "the next, so that a large mask costs hardly more than a small one.",
    # Each sample is read once and multiplied by the weight once. What two bands or two tiles share is not
    # counted: the number of bands depends on the cores.
    work=lambda problem, block: filter_work(
        problem, picture_loads=problem.samples, multiply_adds=problem.samples
    ),
    prepare=prepare,
    sum_order=lambda problem, mask: RUNNING_SUMS,
    unsupported=lambda problem, mask, block, limits: refuse_unequal(mask, INSTEAD),
    remark="Takes only masks whose weights are all equal.",
    band_invariant=False,
    masks=MaskClass.EQUAL_WEIGHTS,
    grows_with=Growth.NOTHING,
)
