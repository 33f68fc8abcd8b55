"""`cpu-box`: masks of equal weights by running sums, on all cores.

Idea
    Down the columns each sample is added three times whatever the height of the mask
    (`engine.variants.box.box_mask`: ends of one segment of rows, beginnings of the next). Along the rows a
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
from numba import njit

from engine.device.core_count import cores
from engine.device.cpu_code_cache import kept_on_disk
from engine.device.launches import DeviceKind
from engine.errors import UnsupportedVariant
from engine.geometry.block import Block, Limits
from engine.geometry.block_rules import Refusal
from engine.mask.mask import Mask
from engine.tasks.filtering.problem import Problem
from engine.tasks.filtering.work import filter_work
from engine.tasks.work import Work
from engine.variants.box.box_mask import refuse_other_masks
from engine.variants.contract import Growth, MaskClass, Variant
from engine.variants.cpu.banded_filter import BandedFilter, Buffers, Cut, cut, prepared, workers_for
from engine.variants.cpu.edges import aligned_rows, copy_edge, source_row
from engine.variants.cpu.shared_call import TAKEN, finish, row_of, share
from engine.variants.cpu.window_sums import add_line, add_neighbours, take_row
from engine.variants.ir.cpu_memory import address_of, copy_samples, count_one
from engine.variants.ir.cpu_vectors import VECTOR
from engine.variants.ladder.geometry import no_launches

TILE_SAMPLES = 1024
# Lines beside the ring: a line of zeros at its end, the sum of the segment so far, the windows, and their
# neighbours' sums.
MORE_LINES = 5
# What a sample costs, in the multiply-adds by which the number of threads is chosen.
COST_OF_A_SAMPLE = 12


def work(problem: Problem, block: Block) -> Work:
    """Return the work: each sample is read once and multiplied by the weight once.

    What two bands or two tiles share is not counted: the number of bands depends on the cores.
    """
    return filter_work(problem, picture_loads=problem.samples, multiply_adds=problem.samples)


def unsupported(problem: Problem, mask: Mask, block: Block, limits: Limits) -> Refusal | None:
    """Return why the mask is no box, or None."""
    return refuse_other_masks(mask, "cpu-parallel")


@kept_on_disk
@njit(nogil=True, error_model="numpy", no_cfunc_wrapper=True)
def box_sums_of_bands(
    picture, out, height, samples, channels, mask_rows, mask_columns, weight, anchor_row, before, after,
    outside_rows, outside_samples, offset, tile_samples, bands, board, edges, ghost_row, all_lines, pitch,
):  # fmt: skip
    """Take one band after another, until none is left, on as many threads as the board says.

    Of the buffers each worker has a row; one of `lines` has a line of `pitch` values for each mask row, the
    ring, and MORE_LINES more; they are 0 at first.
    """
    worker = share(board)
    edge, lines = row_of(edges, worker), row_of(all_lines, worker)
    size, value_size = edge.itemsize, lines.itemsize
    front, window = (mask_rows + 1) * pitch, (mask_rows + 2) * pitch
    spare, results = (mask_rows + 3) * pitch, (mask_rows + 4) * pitch
    while True:
        band = count_one(board, TAKEN)
        if band >= bands.shape[0]:
            break
        top, bottom, tile = bands[band, 0], bands[band, 1], bands[band, 2]
        first = tile * tile_samples
        last = min(samples, first + tile_samples)
        count = last - first
        length = count + before + after
        inside = first >= before and last + after + VECTOR <= samples
        place = 0
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
            # Lines 0 .. place of the ring are rows of this segment; the later ones are sums of rows, each
            # from there to the last one of the segment before.
            here, ends = place * pitch, (place + 1) * pitch
            take_row(address, edge, weight, length, lines, here, front, ends, window, place == 0)
            if number >= mask_rows - 1:
                at = out + ((top + number - mask_rows + 1) * samples + first) * value_size
                target = at if count % VECTOR == 0 else address_of(lines, results)
                line, other, covered, step, left = window, spare, 0, channels, mask_columns
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
            place += 1
            if place == mask_rows:
                place = 0
                for row in range(mask_rows - 2, 0, -1):
                    add_line(lines, (row + 1) * pitch, row * pitch, length)
    finish(board, worker)


class BoxSums(BandedFilter):
    """Running sums, ready for one problem and mask."""

    def __init__(self, problem: Problem, mask: Mask) -> None:
        super().__init__(problem, mask.offset)
        self._weight = mask.weights32[0, 0]
        self._tile_samples = min(TILE_SAMPLES, -(-self._samples // VECTOR) * VECTOR)
        length = self._tile_samples + self._halo.before + self._halo.after
        # Neighbours are looked for up to three windows on; there is nothing there that any result needs.
        self._pitch = -(-(length + 2 * VECTOR) // VECTOR) * VECTOR
        self._ghost_row = self._ghosts(self._pitch)
        tiles = -(-self._samples // self._tile_samples)
        workers = workers_for(problem.samples * COST_OF_A_SAMPLE, cores())
        self._cut = workers, (cut(problem.height, tiles, workers, problem.mask_shape[0] - 1),)

    def _compute(self, source: int, target: int, cut: Cut, board: np.ndarray, buffers: Buffers) -> None:
        edges, lines = buffers
        box_sums_of_bands(
            source, target, *self._size, *self._problem.mask_shape, self._weight, *self._beyond,
            self._tile_samples, *cut, board, edges, self._ghost_row, lines, self._pitch,
        )  # fmt: skip

    def _new_buffers(self, workers: int) -> Buffers:
        # Of the last line's neighbours some lie past it.
        count = (self._problem.mask_shape[0] + MORE_LINES + 1) * self._pitch
        return self._edges(workers, self._pitch), aligned_rows(workers, count, np.float32)


def prepare(problem: Problem, mask: Mask, block: Block) -> BoxSums:
    """Return compiled running sums; raise UnsupportedVariant for a mask that is no box."""
    refusal = unsupported(problem, mask, block, Limits())
    if refusal is not None:
        raise UnsupportedVariant("The mask cannot be applied by running sums", refusal.reason)
    return prepared(lambda problem: BoxSums(problem, mask), problem)


VARIANT = Variant(
    key="cpu-box",
    title="CPU, running sums",
    device=DeviceKind.CPU,
    idea="For masks of equal weights: each window is the end of one segment of rows and the beginning of "
    "the next, so that a large mask costs hardly more than a small one.",
    default_block=Block(1, 1),
    plan=no_launches,
    work=work,
    prepare=prepare,
    unsupported=unsupported,
    uses_block=False,
    remark="Takes only masks whose weights are all equal.",
    band_invariant=False,
    masks=MaskClass.EQUAL_WEIGHTS,
    grows_with=Growth.NOTHING,
)
