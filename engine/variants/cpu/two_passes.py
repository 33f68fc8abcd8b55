"""Two passes tile by tile, for masks with many rows: along the rows, then down the columns.

A core streams down a tile; the sums along the rows stay in its second cache until the last result that needs
them is done.
"""

import numpy as np

from engine.compiled.machine_code import MachineFunction
from engine.device.core_count import launch_cores
from engine.device.threads.thread_pool import TASK, workers_for
from engine.mask.factors import factor
from engine.mask.mask import Mask
from engine.results.problem import LoopWork
from engine.variants.cpu.banded_filter import CONVERTED, BandedFilter, Cut, cut
from engine.variants.cpu.edges import aligned_rows
from engine.variants.cpu.register_tiles import (
    ALONG_VECTORS,
    BLOCK_OF_MASK_ROWS,
    BLOCK_ROWS,
    DOWN_SAMPLES,
    DOWN_VECTORS,
    LINE,
    PAIRS,
    RESULTS_AT_ONCE,
    SHARES_SAMPLES,
    VECTOR,
)
from engine.work.filtering.problem import Problem

# Sums of a tile, in floats: with its input they stay in a core's second cache. Wide tiles read longer
# stretches of memory.
TILE_FLOATS = 1 << 16
MOST_TILE_SAMPLES = 4096
# What a band costs beside its own rows, in rows per mask row but one: half a row, and sums leaving the cache.
COST_OF_MASK_ROWS = 1.0


def tile_samples(sums_rows: int, samples: int) -> int:
    """Return the width of tiles of a row of `samples`: whole vectors, equal, as wide as their sums allow."""
    most = min(MOST_TILE_SAMPLES, TILE_FLOATS // sums_rows)
    tiles = -(-samples // most)
    return -(-samples // (tiles * VECTOR)) * VECTOR


def sums_pitch(tile_samples: int) -> int:
    """Return the floats from one row of sums to the next, whole vectors; a vector is written past each.

    What is summed down the columns at once begins in other lines of the first cache in each row.
    """
    if DOWN_SAMPLES >= MOST_TILE_SAMPLES:
        return tile_samples + VECTOR
    page = 1024
    between = DOWN_SAMPLES + LINE
    return tile_samples + VECTOR + (between - tile_samples - VECTOR) % page


class TwoPasses(BandedFilter):
    """Two passes with a mask of many rows, ready for one problem and mask."""

    function = MachineFunction(
        "engine.variants.cpu.two_passes_code", "two_passes_of_bands", error_model="numpy"
    )

    def __init__(self, problem: Problem, mask: Mask) -> None:
        super().__init__(problem, mask)
        factors = factor(mask)
        self._column, self._row = np.array(factors.column), np.array(factors.row)
        self.mirrored = bool((self._row == self._row[::-1]).all())
        shares = SHARES_SAMPLES and problem.channels in (1, 3)
        self.taps_in_order = _sharing_order(len(self._row)) if shares else ()
        is_paired = self.mirrored and self._dtype.kind == "u" and not SHARES_SAMPLES
        self.pairs = len(self._row) // 2 if is_paired else 0
        # At least as many as are moved, so that none is overwritten before it is read.
        self._block_rows = max(BLOCK_ROWS, BLOCK_OF_MASK_ROWS * (problem.mask_shape[0] - 1))
        self._sums_rows = self._block_rows + problem.mask_shape[0] - 1
        self._tile_samples = tile_samples(self._sums_rows, self._samples)
        self._pitch = sums_pitch(self._tile_samples)
        self._ghost_row = self._ghosts(self._tile_samples + self._halo.before + self._halo.after + 3 * VECTOR)
        tiles = -(-self._samples // self._tile_samples)
        workers = workers_for(problem.samples * sum(problem.mask_shape), launch_cores())
        cost_rows = COST_OF_MASK_ROWS * (problem.mask_shape[0] - 1)
        self._cut = Cut(workers, (cut(problem.height, tiles, workers, cost_rows),))

    @property
    def loops(self) -> tuple[LoopWork, ...]:
        """Samples are made float32; sums along the rows; of those some are moved; sums down the columns."""
        rows, columns = self._problem.mask_shape
        converting = () if self._dtype == np.float32 else (CONVERTED.times(self._rows_taken),)
        # Vectors that are moved within registers, or serve two taps a vector apart, are loaded once.
        loads = float(columns)
        if PAIRS:
            loads *= (ALONG_VECTORS + 1) / (2 * ALONG_VECTORS)
        elif self.taps_in_order and columns > VECTOR:
            loads *= (ALONG_VECTORS + self._problem.channels) / (2 * ALONG_VECTORS)
        made = columns - self.pairs
        along = LoopWork(
            multiply_adds=made,
            operations=self.pairs + PAIRS * (columns // 2),
            loads=self._line_accesses(columns, loads, step=2 if PAIRS else 1) + made / ALONG_VECTORS,
            stores=1,
        ).times(self._rows_taken)
        bands = self._cut.arguments[0]
        height = bands[:, 1] - bands[:, 0]
        moves = (rows - 1) * (-(-height // self._block_rows) - 1).sum() / height.sum()
        at_once = RESULTS_AT_ONCE if rows >= RESULTS_AT_ONCE else 1
        down = LoopWork(
            multiply_adds=rows,
            operations=self._result_operations,
            loads=(rows + at_once - 1) / at_once + rows / DOWN_VECTORS,
            stores=self._result_stores,
        )
        return (
            self._edge_copies(self._tile_samples),
            *converting,
            along,
            LoopWork(loads=moves, stores=moves),
            down,
        )

    def _arguments(self, cut: tuple[np.ndarray, ...], workers: int) -> tuple[object, ...]:
        last_results = aligned_rows(workers, RESULTS_AT_ONCE * VECTOR, self._problem.result_dtype)
        floats = aligned_rows(workers, self._ghost_row.size, np.float32)
        sums = aligned_rows(workers, self._sums_rows * self._pitch, np.float32)
        return (
            0, 0, self._size, (self._column, self._row, self.mirrored), self._beyond, self._fits,
            (self._block_rows, self._tile_samples, self._pitch), *cut, TASK,
            (self._edges(workers, self._ghost_row.size), floats, self._ghost_row, last_results, sums),
        )  # fmt: skip


def _sharing_order(taps: int) -> tuple[int, ...]:
    """Return the order of a row's weights where those a vector apart share samples (`sum_along`)."""
    order: list[int] = []
    at, left = 0, taps
    while left > VECTOR:
        rounds = min(left - VECTOR, VECTOR)
        for tap in range(at, at + rounds):
            order += tap, tap + VECTOR
        at, left = at + rounds + (VECTOR if rounds == VECTOR else 0), left - 2 * rounds
    return (*order, *range(at, at + left))
