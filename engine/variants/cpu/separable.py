"""`cpu-separable`: a column times a row on all cores, in one walk or in two passes tile by tile.

Idea
    If the mask is one column times one row, a row of sums along the picture's rows is computed first, then results down
    the columns of these sums: rows + columns instead of rows x columns multiply-adds a result.
Who loads what
    With few mask rows (up to 13 for float32, 3 for integers) a core walks down a band as `cpu-parallel` does: the sum along
    the row is formed in registers and added at once to all results that wait for it. With more rows it walks down a tile of
    500 to 2000 samples. Each input row is read once a band, in the picture's own type; its sums along the row stay in
    the core's second cache (256 KB) until the last result that needs them is done.
What it saves
    Against `cpu-parallel`: 31 x 31 needs 62 instead of 961 multiply-adds. Against two passes over the whole picture: the
    values between the passes never go to memory. In one walk they are not stored at all.
Limit
    Only masks of rank 1. Memory up to 5 x 5. Then the loads: along the row each multiply-add loads its own samples, which
    lie across two lines of the cache.

What two passes may replace, and why the result keeps the bound of the direct sum: docs/decisions/0003.
"""

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numba import njit

from engine.block import Block, Limits
from engine.block_rules import Refusal
from engine.device.cpu import cores
from engine.errors import UnsupportedVariant
from engine.mask.analysis import analyse, why_not_separable
from engine.mask.factors import factor
from engine.mask.mask import Mask
from engine.problem import Problem
from engine.variants.contract import DeviceKind, Launch, Variant
from engine.variants.cpu.band_walk import BandWalk
from engine.variants.cpu.bands import FINISHED, Progress, cut, run_together, workers_for
from engine.variants.cpu.edges import Halo, aligned_zeros, copy_edge, holds, source_row
from engine.variants.emit.cpu_memory import address_of, await_count, copy_samples, count_one, fetch_ahead
from engine.variants.emit.cpu_rows import product_rows
from engine.variants.emit.cpu_two_passes import RESULTS_AT_ONCE, as_floats, sum_along, sum_down
from engine.variants.emit.cpu_vectors import VECTOR
from engine.work import Work, filter_work

# Sums of a tile, in floats: with its input they stay in a core's second cache. Wide tiles read longer stretches of memory.
TILE_FLOATS = 1 << 16
MOST_TILE_SAMPLES = 4096
# Rows of results between two moves of the sums that are still needed to the top of their buffer, at least.
BLOCK_ROWS = 32
# Rows between the one that is read and the one that the memory is asked for: 8-bit RGB takes a fifth less time with it.
ROWS_AHEAD = 2


def plan(problem: Problem, block: Block) -> tuple[Launch, ...]:
    """Return no launches: the bands are tasks of CPU threads."""
    return ()


def work(problem: Problem, block: Block) -> Work:
    """Return the work: each sample once and rows + columns multiply-adds; the sums between the passes stay in the cache.

    What two bands or two tiles share is not counted: how many bands there are depends on the cores.
    """
    return filter_work(
        problem,
        picture_loads=problem.samples,
        multiply_adds=problem.samples * sum(problem.mask_shape),
    )


def tile_samples(sums_rows: int, samples: int) -> int:
    """Return how wide the tiles of a row of `samples` are: equally, of whole vectors, as wide as their sums allow."""
    most = min(MOST_TILE_SAMPLES, TILE_FLOATS // sums_rows)
    tiles = -(-samples // most)
    return -(-samples // (tiles * VECTOR)) * VECTOR


def unsupported(problem: Problem, mask: Mask, block: Block, limits: Limits) -> Refusal | None:
    """Return why the mask is not one column times one row, or None."""
    return None if factor(mask).separable else _refusal(mask.shape, mask.weights.tobytes())


# A window asks at every edit; the singular values of 63 x 63 cells take 2 to 190 ms, as busy as the cores are.
@lru_cache(maxsize=64)
def _refusal(shape: tuple[int, int], weights: bytes) -> Refusal:
    mask = Mask(np.frombuffer(weights).reshape(shape))
    sentence = why_not_separable(mask, analyse(mask))
    return Refusal(f"{sentence} Two passes need one column times one row; cpu-parallel takes every mask.")


@njit(nogil=True, cache=True, error_model="numpy")
def two_passes_of_bands(
    picture,
    out,
    height,
    samples,
    channels,
    column_factor,
    row_factor,
    mirrored,
    anchor_row,
    before,
    after,
    outside_rows,
    outside_samples,
    offset,
    block_rows,
    tile_samples,
    bands,
    counters,
    looks,
    edge,
    floats,
    ghost_row,
    last_results,
    sums,
):
    """Take one band after another and compute its results until none is left."""
    size, out_size = edge.itemsize, last_results.itemsize
    mask_rows, mask_columns = column_factor.size, row_factor.size
    pitch = tile_samples + VECTOR
    while True:
        band = count_one(counters, 0)
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
                if source < 0:
                    address = address_of(ghost_row, 0)
                elif not inside:
                    copy_edge(
                        row_address,
                        samples,
                        first - before,
                        last + after,
                        outside_samples,
                        before,
                        ghost_row,
                        edge,
                        0,
                    )
                    address = address_of(edge, 0)
                address = as_floats(address, edge, floats, last - first + before + after)
                sum_along(
                    address,
                    edge,
                    row_factor,
                    mask_columns,
                    mirrored,
                    channels,
                    last - first,
                    sums,
                    number * pitch,
                )
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
                            copy_samples(
                                out + at + (r * samples + begin) * out_size,
                                address_of(last_results, r * VECTOR),
                                width,
                                last_results,
                            )
                row += results
        count_one(counters, FINISHED)
    await_count(counters, FINISHED, bands.shape[0], looks)


@dataclass
class _Buffers:
    """What one thread computes in; kept from launch to launch."""

    edge: np.ndarray
    floats: np.ndarray
    last_results: np.ndarray
    sums: np.ndarray


class TwoPasses:
    """The bands of a mask with many rows, ready for one problem and mask."""

    def __init__(self, problem: Problem, mask: Mask) -> None:
        factors = factor(mask)
        self._problem = problem
        self._halo = Halo.of(problem)
        self._column, self._row = np.array(factors.column), np.array(factors.row)
        self._offset = np.float32(mask.offset)
        # At least as many as are moved, so that none is overwritten before it is read.
        self._block_rows = max(BLOCK_ROWS, problem.mask_shape[0] - 1)
        self._sums_rows = self._block_rows + problem.mask_shape[0] - 1
        self._tile_samples = tile_samples(self._sums_rows, problem.width * problem.channels)
        self._dtype = np.dtype(problem.dtype if holds(problem.dtype, problem.ghost_value) else np.float32)
        self._mirrored = bool((self._row == self._row[::-1]).all())
        self._ghost_row = self._ghosts()
        self._buffers: list[_Buffers] = []

    def launch(self, image: np.ndarray, out: np.ndarray, stream: object = None) -> None:
        """Filter `image` into `out` on all cores; returns when it is done."""
        problem, halo = self._problem, self._halo
        samples = problem.width * problem.channels
        image = np.ascontiguousarray(image, self._dtype)
        workers = workers_for(problem.samples * sum(problem.mask_shape), cores())
        bands = cut(problem.height, -(-samples // self._tile_samples), workers, problem.mask_shape[0])
        progress = Progress.of(bands)
        source, target = image.ctypes.data, out.ctypes.data

        def work(looks: int) -> None:
            try:
                buffers = self._buffers.pop()
            except IndexError:
                buffers = self._new_buffers()
            two_passes_of_bands(
                source,
                target,
                problem.height,
                samples,
                problem.channels,
                self._column,
                self._row,
                self._mirrored,
                problem.anchor[0],
                halo.before,
                halo.after,
                halo.outside_rows,
                halo.outside_samples,
                self._offset,
                self._block_rows,
                self._tile_samples,
                bands,
                progress.counters,
                looks,
                buffers.edge,
                buffers.floats,
                self._ghost_row,
                buffers.last_results,
                buffers.sums,
            )
            self._buffers.append(buffers)

        run_together(work, min(workers, len(bands)), progress)

    def _ghosts(self) -> np.ndarray:
        count = self._tile_samples + self._halo.before + self._halo.after + 3 * VECTOR
        return np.full(count, self._problem.ghost_value, self._dtype)

    def _new_buffers(self) -> _Buffers:
        return _Buffers(
            edge=self._ghosts(),
            floats=aligned_zeros(self._ghost_row.size),
            last_results=np.empty(RESULTS_AT_ONCE * VECTOR, self._problem.result_dtype),
            sums=aligned_zeros(self._sums_rows * (self._tile_samples + VECTOR)),
        )


def prepare(problem: Problem, mask: Mask, block: Block) -> BandWalk | TwoPasses:
    """Return the bands for one problem and mask, compiled.

    Raises
    ------
    UnsupportedVariant
        The mask is not one column times one row.
    """
    refusal = unsupported(problem, mask, block, Limits())
    if refusal is not None:
        raise UnsupportedVariant("The mask cannot be applied in two passes", refusal.reason)
    tiny = np.zeros((1, 1, problem.channels), problem.dtype)
    small = _prepared(replace(problem, height=1, width=1), mask)
    small.launch(tiny, np.empty(tiny.shape, problem.result_dtype))
    return _prepared(problem, mask)


def _prepared(problem: Problem, mask: Mask) -> BandWalk | TwoPasses:
    if problem.mask_shape[0] not in product_rows(np.dtype(problem.dtype).kind == "u"):
        return TwoPasses(problem, mask)
    factors = factor(mask)
    column, row = np.array(factors.column), np.array(factors.row)
    return BandWalk(problem, column, row, mask.offset, problem.samples * sum(problem.mask_shape))


VARIANT = Variant(
    key="cpu-separable",
    title="CPU, separable",
    device=DeviceKind.CPU,
    idea="Masks that are one column times one row: along the rows, then down the columns, tile by tile, so that the sums "
    "between the passes stay in each core's cache.",
    default_block=Block(1, 1),
    plan=plan,
    work=work,
    prepare=prepare,
    unsupported=unsupported,
    uses_block=False,
    remark="Takes only masks of rank 1, such as box, Gaussian and Sobel.",
    quantises=True,
)
