"""`cpu-parallel`: all cores, sums in registers, vectors of the machine's own width.

Idea
    A core walks down a band of the picture row by row. An input row is added at once to all results that it takes part
    in, one for each mask row, and what they still wait for stays in totals: a row of them for each mask row.
Who loads what
    Each input row is read once a band, straight from the picture in its own type; its neighbours along the row come
    from the core's first cache. The weights are operands of the multiply-adds.
What it saves
    Against `cpu-serial`: the border's rule leaves the inner loop (the few columns beside the edges are put together in a
    buffer), sixteen samples are computed at once, and all cores work. Interleaved channels need nothing special: a mask
    column is `channels` samples further on.
Limit
    From 5 x 5 on the multiply-adds (95 % of the machine's rate), below that memory and, for integers, the conversion.

Sums are formed as in `cpu-serial` (a partial sum a mask row), but each multiply-add rounds once (fused). Where the samples
of an integer picture cannot hold the ghost value, the picture is made float32 first.
"""

from dataclasses import dataclass, replace

import numpy as np
from numba import njit

from engine.block import Block, Limits
from engine.block_rules import Refusal
from engine.device.cpu import cores
from engine.mask.mask import Mask
from engine.problem import Problem
from engine.variants.contract import DeviceKind, Launch, Variant
from engine.variants.cpu.bands import cut, run_together, workers_for
from engine.variants.cpu.edges import Halo, aligned_zeros, copy_edge, holds, source_row
from engine.variants.emit.cpu_memory import address_of, copy_samples, take_next
from engine.variants.emit.cpu_rows import MOST_ROWS, sum_rows
from engine.variants.emit.cpu_vectors import VECTOR
from engine.work import Work, filter_work

# With 15 mask rows the totals of a tile take 125 KB: they stay in a core's second cache. Narrower ones pay for beginning
# each row anew (512 samples: 10 to 20 % slower).
TILE_SAMPLES = 2048
# Rows that a strip walks down with its totals in registers: 8 is 2 to 5 % faster than 4.
ROWS_AT_ONCE = 8
# Results of small masks are stored past the cache where they are larger than it. It takes a quarter off the time of
# 3 x 3 (2048 x 2048, float32); with larger masks the totals' stores would wait for the slower ones.
PAST_CACHE_BYTES = 16 << 20
PAST_CACHE_MASK_ROWS = 5


def plan(problem: Problem, block: Block) -> tuple[Launch, ...]:
    """Return no launches: the bands are tasks of CPU threads."""
    return ()


def work(problem: Problem, block: Block) -> Work:
    """Return the work: each sample once; a mask's further reads of it, and of the weights, are the cache's business.

    The mask rows - 1 input rows that two bands share are not counted: how many bands there are depends on the cores.
    """
    return filter_work(problem, picture_loads=problem.samples)


def unsupported(problem: Problem, mask: Mask, block: Block, limits: Limits) -> Refusal | None:
    """Return None: every problem can be done."""
    return None


# Addresses instead of arrays for the picture and the result: whether they may be written to is part of an array's type,
# and each type costs a compilation. What can be computed before comes computed: each line here costs 10 ms of it.
@njit(nogil=True, cache=True, error_model="numpy")
def correlate_bands(
    picture,
    out,
    height,
    samples,
    channels,
    weights,
    mask_rows,
    mask_columns,
    anchor_row,
    before,
    after,
    outside_rows,
    outside_samples,
    offset,
    past_cache,
    bands,
    parts,
    counter,
    edge,
    edge_pitch,
    ghost_row,
    edge_results,
    edge_results_pitch,
    totals,
    totals_pitch,
):
    """Take one band after another and compute its results until none is left.

    A band has its first and past-the-last row, and its first and past-the-last part; a part its first and past-the-last
    result of a row, the column of its totals, and the element of its edge buffer, or -1 for a part of the middle.
    """
    size, out_size = edge.itemsize, edge_results.itemsize
    while True:
        band = take_next(counter)
        if band >= bands.shape[0]:
            break
        top, bottom = bands[band, 0], bands[band, 1]
        # The row of results that the input row completes; negative: none yet.
        result = 1 - mask_rows
        while result < bottom - top:
            # The mask rows under which this input row meets results of the band.
            past = result + mask_rows if result < 0 else mask_rows
            lowest = past - mask_rows
            if result + mask_rows > bottom - top:
                lowest = result + mask_rows - (bottom - top)
            elif lowest < 0:
                lowest = 0
            row = top - anchor_row + result + mask_rows - 1
            source = source_row(row, height, outside_rows, anchor_row)
            rows = 1
            if lowest == 0 and result >= 0 and source == row and mask_rows <= MOST_ROWS:
                rows = min(ROWS_AT_ONCE, height - row, bottom - top - result - mask_rows + 1)
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
                            row_address + r * samples * size,
                            samples,
                            first - before,
                            last + after,
                            outside_samples,
                            before,
                            ghost_row,
                            edge,
                            buffer + r * edge_pitch,
                        )
                    address, pitch = address_of(edge, buffer), edge_pitch
                results = out + ((top + result) * samples + first) * out_size
                target, target_pitch = results, samples
                if buffer >= 0:
                    target, target_pitch = address_of(edge_results, 0), edge_results_pitch
                end = past
                while end > lowest:
                    # Of equal parts, the last ones first: each row of totals is read before it is overwritten.
                    takes = (end - lowest + MOST_ROWS - 1) // MOST_ROWS
                    begin = end - (end - lowest + takes - 1) // takes
                    sum_rows(
                        address,
                        edge,
                        pitch,
                        rows,
                        totals,
                        begin * totals_pitch + parts[part, 2],
                        totals_pitch,
                        weights,
                        begin,
                        mask_rows,
                        end - begin,
                        mask_columns,
                        channels,
                        last - first,
                        offset,
                        target,
                        edge_results,
                        target_pitch,
                        end == mask_rows,
                        past_cache and buffer < 0,
                    )
                    end = begin
                if buffer >= 0 and result >= 0:
                    for r in range(rows):
                        copy_samples(
                            results + r * samples * out_size,
                            address_of(edge_results, r * edge_results_pitch),
                            last - first,
                            edge_results,
                        )
            result += rows


@dataclass
class _Buffers:
    """What one thread computes in; kept from launch to launch."""

    edge: np.ndarray
    edge_results: np.ndarray
    totals: np.ndarray


class Parallel:
    """The bands, ready for one problem and mask."""

    def __init__(self, problem: Problem, mask: Mask) -> None:
        self._problem = problem
        self._halo = halo = Halo.of(problem)
        self._samples = problem.width * problem.channels
        self._dtype = np.dtype(problem.dtype if holds(problem.dtype, problem.ghost_value) else np.float32)
        self._result_dtype = np.dtype(problem.result_dtype)
        self._weights = np.array(mask.weights32.T, order="C").reshape(-1)
        self._offset = np.float32(mask.offset)
        self._edge_pitch = halo.longest_edge + halo.before + halo.after + VECTOR
        self._edge_results_pitch = halo.longest_edge + VECTOR
        longest_row = min(TILE_SAMPLES, self._samples) + 2 * self._edge_results_pitch
        self._totals_pitch = _whole_vectors(longest_row)
        self._ghost_row = self._ghosts(longest_row + halo.before + halo.after)
        self._buffers: list[_Buffers] = []

    def launch(self, image: np.ndarray, out: np.ndarray, stream: object = None) -> None:
        """Filter `image` into `out` on all cores; returns when it is done."""
        problem, halo = self._problem, self._halo
        image = np.ascontiguousarray(image, self._dtype)
        past_cache, before_vector = False, 0
        if self._result_dtype == np.float32 and self._samples % VECTOR == 0:
            before_vector = -(out.ctypes.data // out.itemsize) % VECTOR
            past_cache = out.nbytes >= PAST_CACHE_BYTES and problem.mask_shape[0] <= PAST_CACHE_MASK_ROWS
        tiles, parts = self._parts(before_vector)
        workers = workers_for(problem.multiply_adds, cores())
        bands = cut(problem.height, len(tiles), workers, problem.mask_shape[0])
        bands = np.hstack([bands[:, :2], tiles[bands[:, 2]]])
        counter = np.zeros(1, np.int64)

        def work() -> None:
            try:
                buffers = self._buffers.pop()
            except IndexError:
                buffers = self._new_buffers()
            correlate_bands(
                image.ctypes.data,
                out.ctypes.data,
                problem.height,
                self._samples,
                problem.channels,
                self._weights,
                *problem.mask_shape,
                problem.anchor[0],
                halo.before,
                halo.after,
                halo.outside_rows,
                halo.outside_samples,
                self._offset,
                past_cache,
                bands,
                parts,
                counter,
                buffers.edge,
                self._edge_pitch,
                self._ghost_row,
                buffers.edge_results,
                self._edge_results_pitch,
                buffers.totals,
                self._totals_pitch,
            )
            self._buffers.append(buffers)

        run_together(work, min(workers, len(bands)))

    def _parts(self, before_vector: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the tiles of a row, each the range of its parts, and the parts, as `correlate_bands` takes them."""
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

    def _ghosts(self, count: int) -> np.ndarray:
        return np.full(count, self._problem.ghost_value, self._dtype)

    def _new_buffers(self) -> _Buffers:
        return _Buffers(
            edge=self._ghosts(2 * ROWS_AT_ONCE * self._edge_pitch),
            edge_results=np.empty(ROWS_AT_ONCE * self._edge_results_pitch, self._result_dtype),
            totals=aligned_zeros(self._problem.mask_shape[0] * self._totals_pitch),
        )


def _whole_vectors(samples: int) -> int:
    return -(-samples // VECTOR) * VECTOR


def prepare(problem: Problem, mask: Mask, block: Block) -> Parallel:
    """Return the bands for one problem and mask, compiled."""
    tiny = np.zeros((1, 1, problem.channels), problem.dtype)
    small = Parallel(replace(problem, height=1, width=1), mask)
    small.launch(tiny, np.empty(tiny.shape, problem.result_dtype))
    return Parallel(problem, mask)


VARIANT = Variant(
    key="cpu-parallel",
    title="CPU, all cores",
    device=DeviceKind.CPU,
    idea="Each input row is added at once to all results that wait for it; sums in vector registers, every core at work.",
    default_block=Block(1, 1),
    plan=plan,
    work=work,
    prepare=prepare,
    unsupported=unsupported,
    uses_block=False,
    quantises=True,
)
