"""Two passes tile by tile, for masks with many rows: along the rows, then down the columns.

A core streams down a tile; the sums along the rows stay in its second cache until the last result that needs
them is done.
"""

import numpy as np
from numba import njit

from engine.device.core_count import cores
from engine.device.cpu_code_cache import kept_on_disk
from engine.mask.factors import factor
from engine.mask.mask import Mask
from engine.tasks.filtering.problem import Problem
from engine.variants.cpu.banded_filter import BandedFilter, Buffers, Cut, cut, workers_for
from engine.variants.cpu.edges import aligned_rows, copy_edge, source_row
from engine.variants.cpu.factor_sums import RESULTS_AT_ONCE, as_floats, sum_along, sum_down
from engine.variants.cpu.shared_call import TAKEN, finish, row_of, share
from engine.variants.ir.cpu_memory import address_of, copy_samples, count_one, fetch_ahead
from engine.variants.ir.cpu_vectors import VECTOR

# Sums of a tile, in floats: with its input they stay in a core's second cache. Wide tiles read longer
# stretches of memory.
TILE_FLOATS = 1 << 16
MOST_TILE_SAMPLES = 4096
# Least rows of results between two moves of sums that are still needed to the top of their buffer.
BLOCK_ROWS = 32
# Rows between the one that is read and the one that is prefetched: 8-bit RGB takes a fifth less time with it,
# and 15 x 15 float32 with rows of results in the second cache too (a row fills an eighth of the first one).
ROWS_AHEAD = 2
# What a band costs beside its own rows, in rows per mask row but one: half a row, and sums leaving the cache.
COST_OF_MASK_ROWS = 1.0


def tile_samples(sums_rows: int, samples: int) -> int:
    """Return the width of tiles of a row of `samples`: whole vectors, equal, as wide as their sums allow."""
    most = min(MOST_TILE_SAMPLES, TILE_FLOATS // sums_rows)
    tiles = -(-samples // most)
    return -(-samples // (tiles * VECTOR)) * VECTOR


@kept_on_disk
@njit(nogil=True, error_model="numpy", no_cfunc_wrapper=True)
def two_passes_of_bands(
    picture, out, height, samples, channels, column_factor, row_factor, mirrored, anchor_row, before, after,
    outside_rows, outside_samples, offset, block_rows, tile_samples, bands, board, edges, all_floats,
    ghost_row, all_last_results, all_sums,
):  # fmt: skip
    """Take one band after another, until none is left, on as many threads as the board says.

    Of the buffers each worker has a row.
    """
    worker = share(board)
    edge, floats = row_of(edges, worker), row_of(all_floats, worker)
    last_results, sums = row_of(all_last_results, worker), row_of(all_sums, worker)
    size, out_size = edge.itemsize, last_results.itemsize
    mask_rows, mask_columns = column_factor.size, row_factor.size
    pitch = tile_samples + VECTOR
    while True:
        band = count_one(board, TAKEN)
        if band >= bands.shape[0]:
            break
        band_top, bottom, tile = bands[band, 0], bands[band, 1], bands[band, 2]
        first = tile * tile_samples
        last = min(samples, first + tile_samples)
        whole = (last - first) // VECTOR * VECTOR
        inside = first >= before and last + after + 2 * VECTOR <= samples
        for top in range(band_top, bottom, block_rows):
            rows = min(block_rows, bottom - top)
            kept = 0
            if top > band_top:
                kept = mask_rows - 1
                copy_samples(address_of(sums, 0), address_of(sums, block_rows * pitch), kept * pitch, sums)
            for number in range(kept, rows + mask_rows - 1):
                source = source_row(top - anchor_row + number, height, outside_rows, anchor_row)
                row_address = picture + source * samples * size
                address = row_address + (first - before) * size
                fetch_ahead(address + ROWS_AHEAD * samples * size, last - first + before + after, edge)
                if number - kept < rows:
                    result = out + ((top + number - kept) * samples + first) * out_size
                    fetch_ahead(result, last - first, last_results)
                if source < 0:
                    address = address_of(ghost_row, 0)
                elif not inside:
                    copy_edge(
                        row_address, samples, first - before, last + after, outside_samples, before,
                        ghost_row, edge, 0,
                    )  # fmt: skip
                    address = address_of(edge, 0)
                address = as_floats(address, edge, floats, last - first + before + after)
                width, at = last - first, number * pitch
                sum_along(address, edge, row_factor, mask_columns, mirrored, channels, width, sums, at)
            row = 0
            while row < rows:
                results = RESULTS_AT_ONCE if rows - row >= RESULTS_AT_ONCE <= mask_rows else 1
                at = ((top + row) * samples + first) * out_size
                # What is left beside whole vectors goes through a buffer: it would be written past the row.
                for part in range(2):
                    begin, width = (0, whole) if part == 0 else (whole, last - first - whole)
                    if width == 0:
                        continue
                    target, target_pitch = out + at + begin * out_size, samples
                    if part == 1:
                        target, target_pitch = address_of(last_results, 0), VECTOR
                    sum_down(
                        sums, row * pitch + begin, pitch, column_factor, mask_rows, width, offset, results,
                        target, last_results, target_pitch,
                    )  # fmt: skip
                    if part == 1:
                        for r in range(results):
                            there = out + at + (r * samples + begin) * out_size
                            copy_samples(there, address_of(last_results, r * VECTOR), width, last_results)
                row += results
    finish(board, worker)


class TwoPasses(BandedFilter):
    """Two passes with a mask of many rows, ready for one problem and mask."""

    def __init__(self, problem: Problem, mask: Mask) -> None:
        super().__init__(problem, mask.offset)
        factors = factor(mask)
        self._column, self._row = np.array(factors.column), np.array(factors.row)
        self._mirrored = bool((self._row == self._row[::-1]).all())
        # At least as many as are moved, so that none is overwritten before it is read.
        self._block_rows = max(BLOCK_ROWS, problem.mask_shape[0] - 1)
        self._sums_rows = self._block_rows + problem.mask_shape[0] - 1
        self._tile_samples = tile_samples(self._sums_rows, self._samples)
        self._ghost_row = self._ghosts(self._tile_samples + self._halo.before + self._halo.after + 3 * VECTOR)
        tiles = -(-self._samples // self._tile_samples)
        workers = workers_for(problem.samples * sum(problem.mask_shape), cores())
        cost_rows = COST_OF_MASK_ROWS * (problem.mask_shape[0] - 1)
        self._cut = workers, (cut(problem.height, tiles, workers, cost_rows),)

    def _compute(self, source: int, target: int, cut: Cut, board: np.ndarray, buffers: Buffers) -> None:
        edges, floats, last_results, sums = buffers
        two_passes_of_bands(
            source, target, *self._size, self._column, self._row, self._mirrored, *self._beyond,
            self._block_rows, self._tile_samples, *cut, board, edges, floats, self._ghost_row, last_results,
            sums,
        )  # fmt: skip

    def _new_buffers(self, workers: int) -> Buffers:
        return (
            self._edges(workers, self._ghost_row.size),
            aligned_rows(workers, self._ghost_row.size, np.float32),
            aligned_rows(workers, RESULTS_AT_ONCE * VECTOR, self._problem.result_dtype),
            aligned_rows(workers, self._sums_rows * (self._tile_samples + VECTOR), np.float32),
        )
