"""Filters that compute a picture in bands: threads take one band after another until none is left.

The columns of a picture are a middle that is read where it lies, and two edges that are copied:

    |<-- left edge -->|<----------- middle ----------->|<-- right edge -->|
                      left_end                         right_start

All taps of the middle's results lie inside the picture, so its rows are read straight from it. A row of an
edge is copied into a buffer with the cells that the border's rule puts beside it: a few dozen samples of some
thousand. Rows above and below the picture are other rows of it, or a row of ghost cells.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar, Self

import numpy as np
from numpy.typing import DTypeLike

from engine.compiled.late_names import late_njit
from engine.compiled.machine_code import MachineFunction
from engine.device.thread_pool import SharedCall
from engine.mask.mask import Mask
from engine.process import launch_cores, workers_for
from engine.results.problem import LoopWork
from engine.variants.cpu.register_tiles import ACROSS_LINES, VECTOR
from engine.variants.emit.cpu_vectors import address_of, copy_samples, larger, smaller
from engine.work.problem import Problem

# Rows of buffers begin half a page after NumPy's large arrays do in theirs, for all workers: two passes take
# 2 to 3 % less than at the pictures' own offset, 4 % with two threads.
ROWS_BEGIN_BYTES = 2048
ROWS_ALIGNMENT_BYTES = 4096
# Between what two threads write: cores prefetch, and two that write neighbouring cache lines wait for each
# other (8-bit RGB 15 x 15 on 256 x 256 took 10 % longer).
BETWEEN_ROWS_BYTES = 1024


class Halo:
    """What lies beyond a picture, as tables for compiled code: sources of rows and samples, -1 for ghosts."""

    def __init__(self, problem: Problem) -> None:
        channels = problem.channels

        def sources(length: int, axis: int) -> np.ndarray:
            # Above or left of the picture, then below or right of it.
            side, anchor = problem.mask_shape[axis], problem.anchor[axis]
            beyond = [*range(-anchor, 0), *range(length, length + side - 1 - anchor)]
            return np.array([problem.border.rule(index, length) for index in beyond], np.int64)

        # Samples that a mask reaches to the left and to the right of a result's own.
        self.before = problem.anchor[1] * channels
        self.after = (problem.mask_shape[1] - 1 - problem.anchor[1]) * channels
        self.outside_rows = sources(problem.height, 0)
        columns = sources(problem.width, 1)[:, np.newaxis]
        self.outside_samples = np.where(columns < 0, -1, columns * channels + np.arange(channels)).reshape(-1)


def aligned_rows(rows: int, count: int, dtype: DTypeLike) -> np.ndarray:
    """Return zeros of `rows` rows of at least `count` samples, each at the same offset in its page."""
    kind = np.dtype(dtype)
    length = count * kind.itemsize + BETWEEN_ROWS_BYTES
    pitch = -(-length // ROWS_ALIGNMENT_BYTES) * ROWS_ALIGNMENT_BYTES
    memory = np.zeros(rows * pitch + ROWS_ALIGNMENT_BYTES, np.uint8)
    first = (ROWS_BEGIN_BYTES - memory.ctypes.data) % ROWS_ALIGNMENT_BYTES
    return memory[first : first + rows * pitch].view(kind).reshape(rows, -1)


def equal_tiles(samples: int, most: int, unit: int) -> int:
    """Return the width of tiles of a row of `samples`: whole units, equal, `most` samples or few more."""
    tiles = -(-samples // most)
    return -(-samples // (tiles * unit)) * unit


@late_njit(nogil=True, inline="always")
def source_row(row, height, outside_rows, anchor_row):
    """Return the picture's row that the border puts at `row`, or -1 for a row of ghost cells."""
    if row < 0:
        return outside_rows[row + anchor_row]
    return row if row < height else outside_rows[row - height + anchor_row]


@late_njit(nogil=True, inline="always")
def source_sample(sample, samples, outside_samples, before):
    """Return the sample of a row that the border puts at `sample`, or -1 for a ghost cell."""
    if sample < 0:
        return outside_samples[sample + before]
    return sample if sample < samples else outside_samples[sample - samples + before]


@late_njit(nogil=True, inline="always")
def copy_edge(row_address, samples, first, last, outside_samples, before, ghost_row, edge, at):
    """Copy samples first .. last - 1 of a row, with those beside the picture, into the buffer `edge`."""
    size = edge.itemsize
    inside = larger(first, 0)
    count = smaller(last, samples) - inside
    copy_samples(address_of(edge, at + inside - first), row_address + inside * size, count, edge)
    left = larger(-first, 0)
    for number in range(left + larger(last - samples, 0)):
        # Those left of the picture come first, in the table too.
        sample = first + number if number < left else samples + number - left
        source = outside_samples[before + (sample if number < left else sample - samples)]
        address = address_of(ghost_row, 0) if source < 0 else row_address + source * size
        copy_samples(address_of(edge, at + sample - first), address, 1, edge)


# Least rows of the last bands: LEAST_ROWS, and LEAST_OF_COST times what a band costs beside its own rows.
LEAST_ROWS = 16
LEAST_OF_COST = 4
# Rows that are computed at once: all bands but the last of a tile have a multiple of these. With any number,
# `cpu-separable` took 10 % longer for 15 x 15.
WHOLE_ROWS = 8
# Operations that make a vector of integers float32, and a vector of results whole numbers, at least.
CONVERSION, QUANTISATION = 2, 2
CONVERTED = LoopWork(loads=1, operations=CONVERSION, stores=1)
"""The loop that makes samples float32 before they are summed."""

# Results of smaller magnitude can be converted to integers of 32 bits, sums' rounding included.
MOST_RESULT = 2.0**30


def cut(height: int, tiles: int, workers: int, cost_rows: float) -> np.ndarray:
    """Cut a picture of `height` rows and `tiles` tiles across into bands that get smaller, tile after tile.

    First come bands of half of each worker's share, then of half of the rest, and so on: equally fast cores
    get equal shares, and a slow one leaves its later bands to the others. So a launch waits for little more
    than one of the last bands, however much slower one core is. `cost_rows` is what a band costs beside its
    own rows, in rows of a tile: input rows that it shares with other bands.

    The result is of shape (bands, 3), int64: first and past-the-last row, tile.
    """
    if workers == 1:
        sizes = np.full(tiles, height)
    else:
        share = max(LEAST_ROWS, -(-height * tiles // workers))
        least = max(LEAST_ROWS, LEAST_OF_COST * cost_rows)
        rows = [share]
        while rows[-1] >= 2 * least:
            half = -(-rows[-1] // 2 // WHOLE_ROWS) * WHOLE_ROWS
            rows[-1:] = [half, rows[-1] - half]
        sizes = np.repeat(rows, workers)
    # All tiles one below the other. Each tile's end is a cut, and cuts close to it move there.
    cuts = np.minimum(np.cumsum(sizes), height * tiles)
    row = cuts % height
    row = np.where(row + LEAST_ROWS // 2 > height, height, -(-row // WHOLE_ROWS) * WHOLE_ROWS)
    row = np.where(row < LEAST_ROWS // 2, 0, np.minimum(row, height))
    # Not np.union1d, which imports numpy.ma: 15 ms of a first filter.
    everything = {*(cuts // height * height + row).tolist(), *range(height, height * tiles + 1, height)}
    ends = np.array(sorted(everything - {0}))
    starts = np.concatenate([[0], ends[:-1]])
    tile = starts // height
    return np.stack([starts - tile * height, ends - tile * height, tile], 1).astype(np.int64)


@dataclass(eq=False)
class BandedCut:
    """How a picture is cut, and the calls with their buffers that are kept."""

    arguments: tuple[np.ndarray, ...]  # of the compiled function; the first one has the bands
    calls: list[SharedCall] = field(default_factory=list)


class BandedFilter(ABC):
    """A filter ready for one problem and mask; all threads run its compiled code, which takes bands.

    So many `multiply_adds` decide how many `workers` take part, at most.
    """

    function: ClassVar[MachineFunction]

    def __init__(self, problem: Problem, mask: Mask, multiply_adds: int) -> None:
        self._problem, self.workers = problem, workers_for(multiply_adds, launch_cores())
        self._halo = halo = Halo(problem)
        self._samples = problem.width * problem.channels
        # The type that pictures are read in: float32 where integers cannot hold the ghost value.
        self._dtype, self._fits = np.dtype(problem.dtype), False
        if problem.dtype != "float32":
            largest, ghost = float(np.iinfo(problem.dtype).max), problem.ghost_value
            if not (ghost == int(ghost) and 0 <= ghost <= largest):
                self._dtype = np.dtype(np.float32)
            most = float(np.abs(mask.weights).sum()) * max(largest, abs(ghost)) + abs(mask.offset)
            self._fits = most < MOST_RESULT
        # An argument each of every compiled function: the picture's size, and what lies beyond it.
        self._size = (problem.height, self._samples, problem.channels)
        self._beyond = (
            *(problem.anchor[0], halo.before, halo.after, halo.outside_rows, halo.outside_samples),
            np.float32(mask.offset),
        )
        self._cut: BandedCut

    @property
    @abstractmethod
    def loops(self) -> tuple[LoopWork, ...]:
        """What the loops of a launch do, one after the other."""

    @property
    def _rows_taken(self) -> float:
        """Input rows for each row of results: those that two bands share are taken twice."""
        bands = self._cut.arguments[0]
        results = float((bands[:, 1] - bands[:, 0]).sum())
        return 1 + (self._problem.mask_shape[0] - 1) * len(bands) / results

    def _line_accesses(self, taps: int, loads: float, step: int = 1) -> float:
        """Return the cache lines that loads of float32 samples under neighbouring taps access."""
        within = math.ceil(taps * math.gcd(step * self._problem.channels, VECTOR) / VECTOR)
        return loads + max(0.0, loads - within) * ACROSS_LINES

    def _edge_copies(self, tile_samples: int) -> LoopWork:
        """Return the copies of rows of tiles that reach to the picture's edges: both outermost ones."""
        last = self._samples % tile_samples or tile_samples
        part = min(1.0, (tile_samples + last) / self._samples)
        vectors = part * self._dtype.itemsize / np.dtype(np.float32).itemsize
        return LoopWork(loads=vectors, stores=vectors).times(self._rows_taken)

    @property
    def _results(self) -> LoopWork:
        """What makes results of a vector of sums: the offset, and whole numbers, which take fewer bytes."""
        is_whole = self._problem.result_dtype != "float32"
        return LoopWork(operations=1 + QUANTISATION * is_whole, stores=float(not is_whole))

    def compiled(self) -> Self:
        """Return the filter, its code compiled: not within the first launch."""
        self._cut.calls.append(self._new_call(self._cut))
        return self

    def launch(self, image: np.ndarray, out: np.ndarray, stream: object = None) -> None:
        """Filter `image` into `out` on all cores; returns when it is done.

        Ctrl+C too is raised when nothing writes any more: compiled code has waited for all workers when it
        returns.
        """
        image = np.ascontiguousarray(image, self._dtype)
        cut = self._cut_for(out)
        try:
            call = cut.calls.pop()
        except IndexError:
            call = self._new_call(cut)
        call.launch(image.ctypes.data, out.ctypes.data)
        cut.calls.append(call)

    def _new_call(self, cut: BandedCut) -> SharedCall:
        workers = min(self.workers, len(cut.arguments[0]))
        return SharedCall(self.function, self._arguments(cut.arguments, workers), workers)

    def _cut_for(self, out: np.ndarray) -> BandedCut:
        return self._cut

    @abstractmethod
    def _arguments(self, cut: tuple[np.ndarray, ...], workers: int) -> tuple[object, ...]:
        """Return the arguments of the compiled function, with new buffers, which have a row per worker.

        The first two are the addresses of the picture and the result, still 0; TASK is in the descriptor's.
        """

    def _edges(self, workers: int, count: int) -> np.ndarray:
        """Return for each worker a buffer of so many samples, for rows that reach over the picture's edge."""
        edges = aligned_rows(workers, count, self._dtype)
        edges[:] = self._problem.ghost_value
        return edges
