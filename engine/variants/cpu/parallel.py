"""`cpu-parallel`: all cores, sums in registers, vectors of the machine's own width.

Idea
    A core streams down a band of the picture. Each input row is added at once to all results that it takes
    part in, one per mask row; their totals so far are kept in a row per mask row.
Who loads what
    Each input row is read once per band, straight from the picture in its own type; its neighbours along the
    row come from the core's first cache. The weights are operands of the multiply-adds.
What it saves
    Against `cpu-serial`: the border's rule leaves the inner loop (the few columns beside the edges are copied
    to a buffer), sixteen samples are computed at once, and all cores work. Interleaved channels need nothing
    special: a mask column is `channels` samples further on.
Limit
    From 5 x 5 on the multiply-adds (95 % of the machine's rate), below that memory and, for integers, the
    conversion.

Sums are formed as in `cpu-serial`, but each multiply-add rounds once (fused). Where the samples of an integer
picture cannot hold the ghost value, the picture is made float32 first.
"""

import numpy as np

from engine.compiled.entry_point import entry_point
from engine.compiled.machine_code import MachineFunction
from engine.device.thread_code import finish, row_of, share
from engine.device.thread_pool import TAKEN, TASK
from engine.mask.factors import Factors
from engine.mask.mask import Mask
from engine.results.problem import LoopWork
from engine.run.variant import ON_CPU
from engine.variants.cpu import banded_filter as banded
from engine.variants.cpu import register_tiles as tuned
from engine.variants.cpu.banded_filter import BandedFilter, aligned_rows, copy_edge, equal_tiles, source_row
from engine.variants.cpu.line_sums import as_floats, sum_along, sum_down
from engine.variants.cpu.register_tiles import LINE, RESULTS_AT_ONCE, VECTOR, product_rows
from engine.variants.cpu.streamed_bands import StreamedBands
from engine.variants.emit.cpu_vectors import address_of, copy_samples, count_one, fetch_ahead, smaller
from engine.variants.mask_classes import RANK_1, refuse_mask, required_factors
from engine.work.filtering.sum_order import SumOrder, by_rows, one_chain, two_passes
from engine.work.filtering.variants import Variant, filter_work
from engine.work.problem import Problem

VARIANT = Variant(
    **ON_CPU,
    key="cpu-parallel",
    title="CPU, all cores",
    idea="Each input row is added at once to all results that it takes part in; sums in vector registers, "
    "all cores.",
    # Each sample is loaded once; its further reads, and those of weights, hit the cache. Input rows that two
    # bands share are not counted: the number of bands depends on the cores.
    work=lambda problem, block: filter_work(problem, picture_loads=problem.samples),
    prepare=lambda problem, mask, block: StreamedBands(problem, mask).compiled(),
    # It depends on how many registers this processor has.
    sum_order=lambda problem, mask: (
        by_rows(mask.columns, is_fused=True) if tuned.PARTIAL_SUMS else one_chain(mask.taps)
    ),
    integer_output=True,
)


SEPARABLE_STORY = """
`cpu-separable`: a column times a row on all cores, in one pass or in two passes tile by tile.

Idea
    A mask that is one column times one row is applied along the picture's rows, then down the columns of
    these sums: rows + columns instead of rows x columns multiply-adds per result.
Who loads what
    With few mask rows (`product_rows`: at most 14) a core streams down a band as in `cpu-parallel`:
    the sum along the row is formed in registers and added at once to all results that it takes part in. With
    more rows it streams down a tile of 500 to 2000 samples; the sums along its rows stay in the core's second
    cache (256 KB) while results need them.
What it saves
    Against `cpu-parallel`: 31 x 31 needs 62 instead of 961 multiply-adds. Against two passes over the whole
    picture: the values between the passes never go to memory.
Limit
    Masks of rank 1. Memory up to 5 x 5; then loads: along the row each multiply-add loads its own samples,
    which lie across two cache lines.

What two passes may replace, and why the result keeps the bound of the direct sum: docs/decisions/0003.
"""
INSTEAD = "cpu-parallel takes every mask"
# Sums of a tile, in floats: with its input they stay in a core's second cache. Wide tiles read longer
# stretches of memory.
TILE_FLOATS = 1 << 16
MOST_TILE_SAMPLES = 4096


class TwoPasses(BandedFilter):
    """Two passes with a mask of many rows, ready for one problem and mask."""

    function = MachineFunction(__name__, "two_passes_of_bands", error_model="numpy")

    def __init__(self, problem: Problem, mask: Mask, factors: Factors) -> None:
        super().__init__(problem, mask, problem.samples * sum(problem.mask_shape))
        self._column, self._row = np.array(factors.column), np.array(factors.row)
        self.mirrored = bool((self._row == self._row[::-1]).all())
        shares = tuned.SHARES_SAMPLES and problem.channels in (1, 3)
        self.taps_in_order = _sharing_order(len(self._row)) if shares else ()
        is_paired = self.mirrored and self._dtype.kind == "u" and not tuned.SHARES_SAMPLES
        self.pairs = len(self._row) // 2 if is_paired else 0
        # At least as many as are moved, so that none is overwritten before it is read.
        self._block_rows = max(tuned.BLOCK_ROWS, tuned.BLOCK_OF_MASK_ROWS * (problem.mask_shape[0] - 1))
        self._sums_rows = self._block_rows + problem.mask_shape[0] - 1
        most = min(MOST_TILE_SAMPLES, TILE_FLOATS // self._sums_rows)
        self._tile_samples = equal_tiles(self._samples, most, VECTOR)
        # From a row of sums to the next; a vector is written past each. What is summed down the columns at
        # once begins in other lines of the first cache in each row.
        self._pitch = self._tile_samples + VECTOR
        if tuned.DOWN_SAMPLES < MOST_TILE_SAMPLES:
            self._pitch += (tuned.DOWN_SAMPLES + LINE - self._pitch) % 1024
        ghosts = self._tile_samples + self._halo.before + self._halo.after + 3 * VECTOR
        self._ghost_row = np.full(ghosts, problem.ghost_value, self._dtype)
        tiles = -(-self._samples // self._tile_samples)
        # A band costs half a row beside its own ones for each mask row but one, and sums leave the cache.
        cost_rows = problem.mask_shape[0] - 1
        self._cut = banded.BandedCut((banded.cut(problem.height, tiles, self.workers, cost_rows),))

    @property
    def loops(self) -> tuple[LoopWork, ...]:
        """Samples are made float32; sums along the rows; of those some are moved; sums down the columns."""
        rows, columns = self._problem.mask_shape
        converting = () if self._dtype == np.float32 else (banded.CONVERTED.times(self._rows_taken),)
        # Vectors that are moved within registers, or serve two taps a vector apart, are loaded once.
        loads = float(columns)
        if tuned.PAIRS:
            loads *= (tuned.ALONG_VECTORS + 1) / (2 * tuned.ALONG_VECTORS)
        elif self.taps_in_order and columns > VECTOR:
            loads *= (tuned.ALONG_VECTORS + self._problem.channels) / (2 * tuned.ALONG_VECTORS)
        loads, made = self._line_accesses(columns, loads, step=1 + tuned.PAIRS), columns - self.pairs
        along = LoopWork(
            multiply_adds=made,
            operations=self.pairs + tuned.PAIRS * (columns // 2),
            loads=loads + made / tuned.ALONG_VECTORS,
            stores=1,
        ).times(self._rows_taken)
        bands = self._cut.arguments[0]
        height = bands[:, 1] - bands[:, 0]
        moves = (rows - 1) * (-(-height // self._block_rows) - 1).sum() / height.sum()
        at_once = RESULTS_AT_ONCE if rows >= RESULTS_AT_ONCE else 1
        down = LoopWork(multiply_adds=rows, loads=(rows + at_once - 1) / at_once + rows / tuned.DOWN_VECTORS)
        edges, moving = self._edge_copies(self._tile_samples), LoopWork(loads=moves, stores=moves)
        return (edges, *converting, along, moving, down + self._results)

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


# Rows between the one that is read and the one that is prefetched: 8-bit RGB takes a fifth less time with it.
ROWS_AHEAD = 2


def two_passes_of_bands(picture, out, extent, factors, beyond, fits, block, bands, task, buffers):
    """Take one band after another, until none is left, on as many threads as take part.

    Of the buffers each worker has a row.
    """
    entry_point()
    height, samples, channels = extent
    column_factor, row_factor, mirrored = factors
    anchor_row, before, after, outside_rows, outside_samples, offset = beyond
    block_rows, tile_samples, pitch = block
    edges, all_floats, ghost_row, all_last_results, all_sums = buffers
    worker = share(task)
    edge, floats = row_of(edges, worker), row_of(all_floats, worker)
    last_results, sums = row_of(all_last_results, worker), row_of(all_sums, worker)
    size, out_size = edge.itemsize, last_results.itemsize
    mask_rows, mask_columns = column_factor.size, row_factor.size
    while True:
        band = count_one(task, TAKEN)
        if band >= bands.shape[0]:
            break
        band_top, bottom, tile = bands[band, 0], bands[band, 1], bands[band, 2]
        first = tile * tile_samples
        last = smaller(samples, first + tile_samples)
        whole = (last - first) // VECTOR * VECTOR
        inside = first >= before and last + after + 2 * VECTOR <= samples
        for top in range(band_top, bottom, block_rows):
            rows = smaller(block_rows, bottom - top)
            kept = 0
            if top > band_top:
                kept = mask_rows - 1
                copy_samples(address_of(sums, 0), address_of(sums, block_rows * pitch), kept * pitch, sums)
            for number in range(kept, rows + mask_rows - 1):
                source = source_row(top - anchor_row + number, height, outside_rows, anchor_row)
                row_address = picture + source * samples * size
                address = row_address + (first - before) * size
                fetch_ahead(address + ROWS_AHEAD * samples * size, last - first + before + after, edge)
                if tuned.FETCHES_RESULTS and number - kept < rows:
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
            begin = 0
            while begin < last - first:
                # What is left beside whole vectors goes through a buffer: it would be written past the row.
                is_whole = begin < whole
                width = smaller(tuned.DOWN_SAMPLES, whole - begin) if is_whole else last - first - whole
                row = 0
                while row < rows:
                    results = RESULTS_AT_ONCE if rows - row >= RESULTS_AT_ONCE <= mask_rows else 1
                    at = out + ((top + row) * samples + first + begin) * out_size
                    target, target_pitch = at, samples
                    if not is_whole:
                        target, target_pitch = address_of(last_results, 0), VECTOR
                    sum_down(
                        sums, row * pitch + begin, pitch, column_factor, mask_rows, width, offset, fits,
                        results, target, last_results, target_pitch,
                    )  # fmt: skip
                    if not is_whole:
                        for r in range(results):
                            there = at + r * samples * out_size
                            copy_samples(there, address_of(last_results, r * VECTOR), width, last_results)
                    row += results
                begin += width
    finish(task, worker)


def sum_order(problem: Problem, mask: Mask) -> SumOrder:
    """Return the order of a result's sum; equal weights of whole numbers are multiplied once."""
    factors, bands = required_factors(mask, INSTEAD), _bands(problem, mask)
    return two_passes(factors.row, factors.column, pairs=bands.pairs, taps=bands.taps_in_order)


def _bands(problem: Problem, mask: Mask) -> StreamedBands | TwoPasses:
    factors = required_factors(mask, INSTEAD)
    if mask.rows not in product_rows(problem.dtype != "float32", problem.result_dtype != "float32"):
        return TwoPasses(problem, mask, factors)
    return StreamedBands(problem, mask, factors)


SEPARABLE = Variant(
    **ON_CPU,
    key="cpu-separable",
    title="CPU, separable",
    idea="Masks that are one column times one row: along the rows, then down the columns, tile by tile, so "
    "that the sums between the passes stay in each core's cache.",
    # Each sample once, rows + columns multiply-adds; sums between passes stay in the cache. What two bands or
    # two tiles share is not counted: the number of bands depends on the cores.
    work=lambda problem, block: filter_work(
        problem, picture_loads=problem.samples, multiply_adds=problem.samples * sum(problem.mask_shape)
    ),
    prepare=lambda problem, mask, block: _bands(problem, mask).compiled(),
    sum_order=sum_order,
    unsupported=lambda problem, mask, block, limits: refuse_mask(mask, INSTEAD),
    integer_output=True,
    **RANK_1,
)
