"""Streaming down the bands of a picture: for `cpu-parallel`, and for `cpu-separable` with masks of few rows.

An input row is added at once to all results that it takes part in (`engine.variants.cpu.row_sums`), tile by
tile of its columns; what results still wait for stays in totals. The columns beside the picture's edges are
parts of their own.
"""

import numpy as np
from numba import njit

from engine.device.core_count import cores
from engine.device.cpu_code_cache import kept_on_disk
from engine.tasks.filtering.problem import Problem
from engine.variants.cpu.banded_filter import BandedFilter, Buffers, Cut, cut, workers_for
from engine.variants.cpu.edges import aligned_rows, copy_edge, source_row
from engine.variants.cpu.row_sums import MOST_ROWS, sum_rows
from engine.variants.cpu.shared_call import TAKEN, finish, row_of, share
from engine.variants.ir.cpu_memory import address_of, copy_samples, count_one
from engine.variants.ir.cpu_vectors import VECTOR

# With 15 mask rows the totals of a tile take 125 KB: they stay in a core's second cache. Narrower ones pay
# for beginning each row anew (512 samples: 10 to 20 % slower).
TILE_SAMPLES = 2048
# Rows that a strip takes with its totals in registers: 8 is 2 to 5 % faster than 4.
ROWS_AT_ONCE = 8
# Results of small masks are stored past the cache where they are larger than it. It takes a quarter off the
# time of 3 x 3 (2048 x 2048, float32); with larger masks the totals' stores would wait for the slower ones.
# Masks that are a column times a row are bound by memory up to 9 rows, and store past the cache whatever
# their size.
PAST_CACHE_BYTES = 16 << 20
PAST_CACHE_MASK_ROWS = 5


# Addresses instead of arrays for the picture and the result: whether they may be written to is part of an
# array's type, and each type costs a compilation. What can be computed before comes computed: each line here
# costs 10 ms of it.
@kept_on_disk
@njit(nogil=True, error_model="numpy", no_cfunc_wrapper=True)
def stream_bands(
    picture, out, height, samples, channels, weights, row_factor, pairs, mask_rows, mask_columns, anchor_row,
    before, after, outside_rows, outside_samples, offset, past_cache, bands, parts, board, edges, edge_pitch,
    ghost_row, edges_results, edge_results_pitch, all_totals, totals_pitch,
):  # fmt: skip
    """Take one band after another, until none is left, on as many threads as the board says.

    A band has its first and past-the-last row, and its first and past-the-last part; a part its first and
    past-the-last result of a row, the column of its totals, and the element of its edge buffer, or -1 for a
    part of the middle. With a `row_factor` the weights are the column of a mask that is a column times this
    row, and `pairs` as `sum_rows` has it. Of the buffers each worker has a row.
    """
    worker = share(board)
    edge, edge_results = row_of(edges, worker), row_of(edges_results, worker)
    totals = row_of(all_totals, worker)
    size, out_size = edge.itemsize, edge_results.itemsize
    while True:
        band = count_one(board, TAKEN)
        if band >= bands.shape[0]:
            break
        top, bottom = bands[band, 0], bands[band, 1]
        # The row of results that the input row completes; negative: none yet.
        result = 1 - mask_rows
        while result < bottom - top:
            # The mask rows under which this input row meets results of the band. With a row factor all are
            # taken: it costs little, and without code for each number of rows that a band begins and ends
            # with, two thirds are left.
            past, lowest, left = mask_rows, 0, bottom - top - result
            if row_factor is None:
                if result < 0:
                    past = result + mask_rows
                lowest = max(0, mask_rows - left)
                left -= mask_rows - 1
            row = top - anchor_row + result + mask_rows - 1
            source = source_row(row, height, outside_rows, anchor_row)
            rows = 1
            if lowest == 0 and result >= 0 and source == row and mask_rows <= MOST_ROWS:
                rows = min(ROWS_AT_ONCE, height - row, left)
            for part in range(bands[band, 2], bands[band, 3]):
                first, last, buffer = parts[part, 0], parts[part, 1], parts[part, 3]
                row_address = picture + source * samples * size
                if source < 0:
                    address, pitch = address_of(ghost_row, 0), 0
                elif buffer < 0:
                    address, pitch = row_address + (first - before) * size, samples
                else:
                    for r in range(rows):
                        copy_edge(
                            row_address + r * samples * size, samples, first - before, last + after,
                            outside_samples, before, ghost_row, edge, buffer + r * edge_pitch,
                        )  # fmt: skip
                    address, pitch = address_of(edge, buffer), edge_pitch
                results = out + ((top + result) * samples + first) * out_size
                target, target_pitch = results, samples
                if buffer >= 0:
                    target, target_pitch = address_of(edge_results, 0), edge_results_pitch
                elif result < 0:
                    # Of the band before; where its own totals do not matter.
                    target = address_of(totals, mask_rows * totals_pitch)
                end = past
                while end > lowest:
                    # Of equal parts, the last ones first: each row of totals is read before it is
                    # overwritten.
                    takes = (end - lowest + MOST_ROWS - 1) // MOST_ROWS
                    begin = end - (end - lowest + takes - 1) // takes
                    sum_rows(
                        address, edge, pitch, rows, totals, begin * totals_pitch + parts[part, 2],
                        totals_pitch, weights, begin, mask_rows, row_factor, pairs, end - begin, mask_columns,
                        channels, last - first, offset, target, edge_results, target_pitch, end == mask_rows,
                        past_cache and buffer < 0 and result >= 0,
                    )  # fmt: skip
                    end = begin
                if buffer >= 0 and result >= 0:
                    for r in range(rows):
                        source_address = address_of(edge_results, r * edge_results_pitch)
                        copy_samples(
                            results + r * samples * out_size, source_address, last - first, edge_results
                        )
            result += rows
    finish(board, worker)


class StreamedBands(BandedFilter):
    """A filter that streams down bands, ready for one problem and mask.

    `weights` are the mask's, column after column; with a `row_factor` they are the column of a mask that is a
    column times this row, and has one of `product_rows` rows. `multiply_adds` decides on the number of
    threads; `cost_rows` is what a band costs beside its own rows, as `cut` has it.
    """

    def __init__(
        self,
        problem: Problem,
        weights: np.ndarray,
        row_factor: np.ndarray | None,
        offset: float,
        multiply_adds: int,
        cost_rows: float,
    ) -> None:
        super().__init__(problem, offset)
        halo = self._halo
        self._weights, self._row_factor = weights, row_factor
        self._pairs = 0
        if row_factor is not None and self._dtype.kind == "u" and (row_factor == row_factor[::-1]).all():
            self._pairs = len(row_factor) // 2
        self._multiply_adds, self._cost_rows = multiply_adds, cost_rows
        self._edge_pitch = halo.longest_edge + halo.before + halo.after + VECTOR
        self._edge_results_pitch = halo.longest_edge + VECTOR
        longest_row = min(TILE_SAMPLES, self._samples) + 2 * self._edge_results_pitch
        self._totals_pitch = _whole_vectors(longest_row)
        self._ghost_row = self._ghosts(longest_row + halo.before + halo.after)
        # Vectors can be stored past the cache only where they are aligned, in all rows.
        self._aligns_results = problem.result_dtype == "float32" and self._samples % VECTOR == 0
        few_rows = row_factor is not None or problem.mask_shape[0] <= PAST_CACHE_MASK_ROWS
        result_bytes = problem.samples * problem.result_itemsize
        self._past_cache = self._aligns_results and few_rows and result_bytes >= PAST_CACHE_BYTES
        # By `before_vector`: it takes 30 us, and a picture is often filtered again.
        self._cuts: dict[int, tuple[int, Cut]] = {}

    def _cut_for(self, out: np.ndarray) -> tuple[int, Cut]:
        before_vector = -(out.ctypes.data // out.itemsize) % VECTOR if self._aligns_results else 0
        if before_vector not in self._cuts:
            tiles, parts = self._parts(before_vector)
            workers = workers_for(self._multiply_adds, cores())
            bands = cut(self._problem.height, len(tiles), workers, self._cost_rows)
            self._cuts[before_vector] = workers, (np.hstack([bands[:, :2], tiles[bands[:, 2]]]), parts)
        return self._cuts[before_vector]

    def _compute(self, source: int, target: int, cut: Cut, board: np.ndarray, buffers: Buffers) -> None:
        edges, edge_results, totals = buffers
        stream_bands(
            source, target, *self._size, self._weights, self._row_factor, self._pairs,
            *self._problem.mask_shape, *self._beyond, self._past_cache, *cut, board, edges, self._edge_pitch,
            self._ghost_row, edge_results, self._edge_results_pitch, totals, self._totals_pitch,
        )  # fmt: skip

    def _parts(self, before_vector: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the tiles of a row, as ranges of parts, and the parts, as `stream_bands` takes them."""
        left_end, right_start = self._halo.columns(self._samples, before_vector)
        middles = range(left_end, max(right_start, left_end + 1), TILE_SAMPLES)
        tiles: list[tuple[int, int]] = []
        parts: list[tuple[int, int, int, int]] = []
        for middle in middles:
            wanted = [(middle, min(middle + TILE_SAMPLES, right_start), -1)]
            if middle == middles[0]:
                wanted.insert(0, (0, left_end, 0))
            if middle == middles[-1]:
                wanted.append((right_start, self._samples, ROWS_AT_ONCE * self._edge_pitch))
            tiles.append((len(parts), len(parts) + sum(first < last for first, last, _ in wanted)))
            column = 0
            for first, last, buffer in wanted:
                if first < last:
                    parts.append((first, last, column, buffer))
                    column += _whole_vectors(last - first)
        return np.array(tiles, np.int64), np.array(parts, np.int64)

    def _new_buffers(self, workers: int) -> Buffers:
        totals = (self._problem.mask_shape[0] + 1) * self._totals_pitch
        edge_results = ROWS_AT_ONCE * self._edge_results_pitch
        return (
            self._edges(workers, 2 * ROWS_AT_ONCE * self._edge_pitch),
            aligned_rows(workers, edge_results, self._problem.result_dtype),
            aligned_rows(workers, totals, np.float32),
        )


def _whole_vectors(samples: int) -> int:
    return -(-samples // VECTOR) * VECTOR
