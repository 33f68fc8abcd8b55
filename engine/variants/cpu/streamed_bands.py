"""Streaming down the bands of a picture: for `cpu-parallel`, and for `cpu-separable` with masks of few rows.

An input row is added at once to all results that it takes part in (`engine.variants.cpu.row_sums`), tile by
tile of its columns; what results still wait for stays in totals. The columns beside the picture's edges are
parts of their own.

Of a large mask, parts of its rows are taken one after another for the same few hundred columns. What some
input rows add up to in one part lies in rows of its own, `between`, for the next part: they never leave the
first cache.
"""

import numpy as np

from engine.compiled.entry_point import entry_point
from engine.compiled.machine_code import MachineFunction
from engine.device.thread_code import finish, row_of, share
from engine.device.thread_pool import TAKEN, TASK
from engine.mask.factors import Factors
from engine.mask.mask import Mask
from engine.results.problem import LoopWork
from engine.variants.cpu import banded_filter as banded
from engine.variants.cpu import register_tiles as tuned
from engine.variants.cpu.banded_filter import BandedCut, BandedFilter, aligned_rows, copy_edge, source_row
from engine.variants.cpu.register_tiles import MOST_ROWS, PART_SAMPLES, PARTIAL_SUMS, ROWS_AT_ONCE, VECTOR
from engine.variants.cpu.row_sums import rows_as_floats, sum_rows
from engine.variants.emit.cpu_vectors import address_of, copy_samples, count_one, larger, smaller
from engine.work.problem import Problem

# Totals of a tile, in floats: 128 KB, which stay in a core's second cache. Narrower tiles pay for beginning
# each row anew: 512 samples take 10 to 20 % longer than 2048, and for 3 x 3 of 1920 in RGB three tiles 5 %
# longer than one.
TILE_FLOATS = 1 << 15
LEAST_TILE_SAMPLES = 2048
# Results of small masks are stored past the cache where they are larger than it. It takes a quarter off the
# time of 3 x 3 (2048 x 2048, float32); with larger masks the totals' stores would wait for the slower ones.
# Masks that are a column times a row are bound by memory up to 9 rows, and store past the cache whatever
# their size.
PAST_CACHE_BYTES = 16 << 20
PAST_CACHE_MASK_ROWS = 5
# What a band costs beside its own rows, measured: 1 (15 x 15) to 2.5 (3 x 3), as partly taken rows make fewer
# multiply-adds. Of a column times a row those are taken one by one: in rows per mask row but one.
COST_ROWS, COST_OF_PRODUCT = 2.0, 1.5


class StreamedBands(BandedFilter):
    """A filter that streams down bands, ready for one problem and mask.

    `factors` are those of a mask that is a column times a row, and has one of `product_rows` rows.
    """

    taps_in_order: tuple[int, ...] = ()  # the row's weights are taken from left to right
    function = MachineFunction(__name__, "stream_bands", error_model="numpy")

    def __init__(self, problem: Problem, mask: Mask, factors: Factors | None = None) -> None:
        made = problem.multiply_adds if factors is None else problem.samples * sum(problem.mask_shape)
        super().__init__(problem, mask, made)
        halo = self._halo
        rows = problem.mask_shape[0]
        # Column after column; with factors the column.
        self._weights, self._offset = np.array(mask.weights32.T, order="C").reshape(-1), mask.offset
        self.row_factor, self.pairs, self._cost_rows = None, 0, COST_ROWS
        if factors is not None:
            self._weights, self.row_factor = np.array(factors.column), np.array(factors.row)
            self._cost_rows = COST_OF_PRODUCT * (rows - 1)
            if self._dtype.kind == "u" and (factors.row == factors.row[::-1]).all():
                self.pairs = len(factors.row) // 2
        longest_edge = max(halo.before, halo.after) + tuned.LINE + VECTOR
        self._edge_pitch = longest_edge + halo.before + halo.after + VECTOR
        self._edge_results_pitch = longest_edge + VECTOR
        # As wide as their totals allow.
        most = max(LEAST_TILE_SAMPLES, TILE_FLOATS // (rows + 1))
        self._tile_samples = banded.equal_tiles(self._samples, most, tuned.LINE)
        longest_row = min(self._tile_samples, self._samples) + 2 * self._edge_results_pitch
        is_in_parts = factors is None and rows > MOST_ROWS and not PARTIAL_SUMS
        converts = factors is None and self._dtype != np.float32 and rows >= tuned.CONVERTS_FROM_ROWS
        # Whole vectors are made float32: samples that are read past the last one lie in the picture too.
        self._reach = VECTOR if converts else 0
        self._step = PART_SAMPLES if is_in_parts or converts else self._tile_samples
        self._floats_pitch = _whole_vectors(PART_SAMPLES + halo.before + halo.after) if converts else 0
        self._totals_pitch = _whole_vectors(longest_row)
        ghosts = longest_row + halo.before + halo.after
        self._ghost_row = np.full(ghosts, problem.ghost_value, self._dtype)
        # Past the cache go whole lines only, so results have to begin at one in all rows.
        self._aligns_results = problem.result_dtype == "float32" and self._samples % tuned.LINE == 0
        vectors = (tuned.STRIP_VECTORS if factors is None else tuned.PRODUCT_VECTORS).get(rows, 1)
        few_rows = factors is not None or rows <= PAST_CACHE_MASK_ROWS
        result_bytes = problem.samples * problem.result_itemsize
        self._past_cache = (
            self._aligns_results
            and few_rows
            and result_bytes >= PAST_CACHE_BYTES
            and vectors * VECTOR % tuned.LINE == 0
        )
        # By `before_line`: it takes 30 us, and a picture is often filtered again.
        self._cuts: dict[int, BandedCut] = {}
        self._cut = self._cut_at(0)

    @property
    def loops(self) -> tuple[LoopWork, ...]:
        """Samples are made float32, first or as they are summed; sums stay in registers for some rows."""
        sums = self._sums_of_rows() if self.row_factor is None else self._sums_of_product()
        converting = [banded.CONVERTED.times(self._rows_taken)] if self._floats_pitch else []
        return (*converting, sums + self._results)

    def _sums_of_rows(self) -> LoopWork:
        """Return what `sum_rows` does for each row of results, with any mask."""
        rows, columns = self._problem.mask_shape
        # The mask rows that are taken at once: all, or equal parts.
        parts = [len(part) for part in np.array_split(range(rows), -(-rows // MOST_ROWS))]
        # Where a band begins and ends each input row is taken by itself, for half of the mask's rows.
        alone = 1.0 if len(parts) > 1 and PARTIAL_SUMS else min(1.0, self._rows_taken - 1)
        work = LoopWork(
            multiply_adds=rows * columns,
            operations=rows * PARTIAL_SUMS,
            loads=sum(part * columns / tuned.STRIP_VECTORS.get(part, 1) for part in parts),
        )
        # Sums wait in memory for the next input row, or the next part of the mask.
        waiting = (alone + (1 - alone) / ROWS_AT_ONCE) * (rows - len(parts)) + len(parts) - 1
        moved = LoopWork(loads=waiting, stores=waiting)
        return work + moved + self._samples_loaded(len(parts) * columns)

    def _sums_of_product(self) -> LoopWork:
        """Return the same with a mask that is a column times a row."""
        rows, columns = self._problem.mask_shape
        made = rows + columns - self.pairs
        # Bytes are widened and added as numbers of 16 bit: half a vector takes a unit as a whole one does.
        pairs = LoopWork(operations=banded.CONVERSION + 3 if self._dtype.itemsize == 1 else 4, loads=2)
        each = LoopWork(multiply_adds=made, loads=made / tuned.PRODUCT_VECTORS[rows])
        single = self._samples_loaded(columns - 2 * self.pairs)
        # Where a band begins each input row is taken by itself, for all of the mask's rows.
        waiting = (self._rows_taken - 1 + 1 / ROWS_AT_ONCE) * (rows - 1)
        moved = LoopWork(loads=waiting, stores=waiting)
        return (each + pairs.times(self.pairs) + single).times(self._rows_taken) + moved

    def _samples_loaded(self, loads: int) -> LoopWork:
        """Return so many loads of vectors of samples, and their conversion if they are integers still."""
        if self._dtype != np.float32 and not self._floats_pitch:
            return LoopWork(operations=loads * banded.CONVERSION, loads=loads)
        return LoopWork(loads=self._line_accesses(self._problem.mask_shape[1], loads))

    def _cut_for(self, out: np.ndarray) -> BandedCut:
        return self._cut_at(-(out.ctypes.data // out.itemsize) % tuned.LINE if self._aligns_results else 0)

    def _cut_at(self, before_line: int) -> BandedCut:
        if before_line not in self._cuts:
            tiles, parts = self._parts(before_line)
            bands = banded.cut(self._problem.height, len(tiles), self.workers, self._cost_rows)
            ranges = np.hstack([bands[:, :2], tiles[bands[:, 2]]])
            self._cuts[before_line] = BandedCut((ranges, parts))
        return self._cuts[before_line]

    def _arguments(self, cut: tuple[np.ndarray, ...], workers: int) -> tuple[object, ...]:
        edges = self._edges(workers, 2 * ROWS_AT_ONCE * self._edge_pitch)
        edge_results = aligned_rows(
            workers, ROWS_AT_ONCE * self._edge_results_pitch, self._problem.result_dtype
        )
        floats = None
        if self._floats_pitch:
            floats = aligned_rows(workers, ROWS_AT_ONCE * self._floats_pitch, np.float32)
        between = aligned_rows(workers, 2 * ROWS_AT_ONCE * PART_SAMPLES, np.float32)
        totals = aligned_rows(workers, (self._problem.mask_shape[0] + 1) * self._totals_pitch, np.float32)
        if self.row_factor is None and not PARTIAL_SUMS:
            totals[:, : self._totals_pitch] = self._offset
        return (
            0, 0, self._size, self._weights, self.row_factor, (self.pairs, *self._problem.mask_shape),
            self._beyond, (self._fits, self._past_cache, self._step, *cut), TASK,
            (edges, self._edge_pitch, self._ghost_row, edge_results, self._edge_results_pitch), floats,
            (self._floats_pitch, between, totals, self._totals_pitch),
        )  # fmt: skip

    def _parts(self, before_line: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the tiles of a row, as ranges of parts, and the parts, as `stream_bands` takes them."""
        # The middle begins with a cache line of results, of which `before_line` lie before the first, and has
        # whole vectors, or none. At least `_reach` samples lie behind those that it needs.
        before, after = self._halo.before, self._halo.after
        left_end = min(self._samples, before + (before_line - before) % tuned.LINE)
        inside = max(0, self._samples - after - self._reach - left_end)
        right_start = left_end + inside // VECTOR * VECTOR
        middles = range(left_end, max(right_start, left_end + 1), self._tile_samples)
        tiles: list[tuple[int, int]] = []
        parts: list[tuple[int, int, int, int]] = []
        for middle in middles:
            wanted = [(middle, min(middle + self._tile_samples, right_start), -1)]
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


def _whole_vectors(samples: int) -> int:
    return -(-samples // VECTOR) * VECTOR


# Addresses instead of arrays for the picture and the result: whether they may be written to is part of an
# array's type, and each type costs a compilation. What can be computed before comes computed: each line here
# costs 10 ms of it.
def stream_bands(
    picture, out, extent, weights, row_factor, mask, beyond, how, task, edge_buffers, all_floats, buffers
):
    """Take one band after another, until none is left, on as many threads as take part.

    A band has its first and past-the-last row, and its first and past-the-last part; a part its first and
    past-the-last result of a row, the column of its totals, and the element of its edge buffer, or -1 for a
    part of the middle. With a `row_factor` the weights are the column of a mask that is a column times this
    row, and `pairs` as `sum_rows` has it. So many samples as `step` are taken at once, across. Of the buffers
    each worker has a row. `all_floats` is None where samples are not made float32 first.
    """
    entry_point()
    height, samples, channels = extent
    pairs, mask_rows, mask_columns = mask
    anchor_row, before, after, outside_rows, outside_samples, offset = beyond
    fits, past_cache, step, bands, parts = how
    edges, edge_pitch, ghost_row, edges_results, edge_results_pitch = edge_buffers
    floats_pitch, all_between, all_totals, totals_pitch = buffers
    worker = share(task)
    edge, edge_results = row_of(edges, worker), row_of(edges_results, worker)
    between, totals = row_of(all_between, worker), row_of(all_totals, worker)
    if all_floats is not None:
        floats = row_of(all_floats, worker)
    size, out_size = edge.itemsize, edge_results.itemsize
    # In parts each row of totals would be read where another part had left one for the next input row.
    takes_rows = mask_rows <= MOST_ROWS or not PARTIAL_SUMS
    while True:
        band = count_one(task, TAKEN)
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
                lowest = larger(0, mask_rows - left)
                left -= mask_rows - 1
            row = top - anchor_row + result + mask_rows - 1
            source = source_row(row, height, outside_rows, anchor_row)
            rows = 1
            if lowest == 0 and result >= 0 and source == row and takes_rows:
                rows = smaller(smaller(ROWS_AT_ONCE, height - row), left)
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
                    # A result of the band before; where its own totals do not matter.
                    target = address_of(totals, mask_rows * totals_pitch)
                for at in range(0, last - first, step):
                    width, column = smaller(step, last - first - at), parts[part, 2] + at
                    source_address, source_pitch = address + at * size, pitch
                    if all_floats is not None:
                        count = before + width + after
                        rows_as_floats(source_address, edge, pitch, rows, floats, floats_pitch, count)
                        source_address, source_pitch = address_of(floats, 0), floats_pitch
                    begin, entering, entering_pitch, other = lowest, address_of(totals, column), 0, 0
                    while begin < past:
                        end = past
                        if row_factor is None:
                            # In equal parts.
                            takes = (past - begin + MOST_ROWS - 1) // MOST_ROWS
                            end = begin + (past - begin + takes - 1) // takes
                        leaving = address_of(totals, past * totals_pitch + column)
                        if end < past:
                            leaving = address_of(between, other)
                        sum_rows(
                            (source_address, source_pitch, rows), edge, all_floats,
                            (totals, begin * totals_pitch + column, totals_pitch),
                            (entering, entering_pitch, leaving, PART_SAMPLES),
                            (weights, begin, mask_rows, pairs, end - begin, mask_columns, channels),
                            row_factor,
                            (target + at * out_size, target_pitch, width, offset, fits, end == mask_rows,
                             past_cache and buffer < 0 and result >= 0),
                            edge_results,
                        )  # fmt: skip
                        if begin > lowest:
                            # The last of them meet the next input row.
                            copy_samples(
                                address_of(totals, begin * totals_pitch + column),
                                entering + (rows - 1) * PART_SAMPLES * totals.itemsize, width, totals,
                            )  # fmt: skip
                        begin, entering, entering_pitch = end, leaving, PART_SAMPLES
                        other = ROWS_AT_ONCE * PART_SAMPLES - other
                if buffer >= 0 and result >= 0:
                    for r in range(rows):
                        source_address = address_of(edge_results, r * edge_results_pitch)
                        copy_samples(
                            results + r * samples * out_size, source_address, last - first, edge_results
                        )
            result += rows
    finish(task, worker)
