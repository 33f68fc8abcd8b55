"""The shape of a block's work where rows and columns are filtered in one kernel. Pure integers.

A tile is loaded whole; where one filtered value comes of each sample, it takes the sample's place. A ring has
few input rows at a time; their filtered rows go into a ring of as many as the windows of a step need.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from engine.device.launches import Launch
from engine.geometry.block import MAX_GRID_Y, blocks_along
from engine.results.problem import Work
from engine.variants.fast.tile_shape import TileShape
from engine.variants.passes import VECTOR, Shape, launch_of_samples, loads_of_tiles, whole_vectors
from engine.work.filtering.variants import filter_work
from engine.work.problem import Problem

LANES = 32
SHARED_BYTES = 48 * 1024
# Resident blocks that strips are planned for; there may be more. Over 200 random problems of `box` the rows
# chosen for 4, 5, 6 and 8 took 1.04, 1.025, 1.03 and 1.03 times as long as the best rows; `low-rank-2` took
# 52.0 us for 9 x 9 on 4096 x 4096 with 6, 53.9 with 5 (H200).
MOST_BLOCKS = 6


class Size(NamedTuple):
    """The results of a block and of its threads."""

    out_samples: int  # Results per row, 128 at most.
    results: int  # Neighbouring results that a thread filters along a row.
    rows: int  # Rows of results that a thread filters down its columns.
    columns: int  # Its neighbouring columns, 4 or 1.
    warps: int
    is_ring: bool = True  # whether the block moves down; else it takes one step.


@dataclass(frozen=True, slots=True)
class Windows:
    """Neighbouring windows of a line whose cells lie some samples apart."""

    length: int  # Cells of a window.
    apart: int  # Samples from one cell to the next: channels of a row, or columns of a thread.
    count: int  # Windows, each beginning one sample after the one before it; at least `apart`.

    @property
    def samples(self) -> int:
        """Samples under all windows."""
        return self.count + (self.length - 1) * self.apart

    @property
    def groups(self) -> list[range]:
        """Windows that have cells in common, and are summed together."""
        neighbours = -(-self.count // self.apart)
        groups = -(-neighbours // self.length)
        size = -(-neighbours // groups) * self.apart
        return [range(first, min(first + size, self.count)) for first in range(0, self.count, size)]

    @property
    def weighed(self) -> int:
        """How often a cell is multiplied by the weight as it enters a sum."""
        return sum(min(self.apart, len(group)) * (self.length - 1) + len(group) for group in self.groups)


class FusedShape(Shape):
    """The shape of a block's work on a problem.

    `rank` is the number of columns times rows, with their weights in constant memory; 0: all weights are one.
    """

    def __init__(self, problem: Problem, rank: int, size: Size) -> None:
        self.size, self.rank, self.channels = size, rank, problem.channels
        results, is_ring = size.results, size.is_ring
        mask_rows, mask_columns = problem.mask_shape
        self.products = max(rank, 1)  # filtered rows that each input row makes
        # Whether filtered rows lie where their samples were.
        self.is_in_place = not is_ring and self.products == 1
        # Samples of an input row before the first result: those left of the anchor, in whole vectors; from a
        # vector to the first one under a thread's windows along a row.
        left = problem.anchor[1] * problem.channels
        self.before = whole_vectors(left)
        self.shift = self.before - left
        # The windows of a thread's results along a row, and down its columns, row after row.
        self.along = Windows(mask_columns, problem.channels, results)
        self.down = Windows(mask_rows, size.columns, size.rows * size.columns)
        self.read = whole_vectors(self.shift + self.along.samples)  # samples that a thread reads along a row
        # Rows that are filtered at once along themselves, by a warp and by the block.
        self.warp_rows = LANES * results // size.out_samples
        self.round_rows = size.warps * self.warp_rows
        self.column_threads = size.out_samples // size.columns  # side by side when columns are filtered
        self.step_rows = size.rows * LANES * size.warps // self.column_threads  # of results of the block
        # Input rows loaded at once: of a ring a step's, of a tile all, in whole rounds of a warp.
        under = self.step_rows + mask_rows - 1
        self.lot_rows = self.step_rows if is_ring else -(-under // self.warp_rows) * self.warp_rows
        # Samples of an input row: an odd number of vectors, against bank conflicts among 8 threads.
        samples = max(size.out_samples - results + self.read, LANES * VECTOR)
        self.pitch = samples + (VECTOR if samples % (2 * VECTOR) == 0 else 0)
        # The input rows, as they are loaded.
        beyond = self.pitch - LANES * VECTOR
        self.input = TileShape((1, 1), problem.channels, self.before, beyond, warps=size.warps)
        # Filtered rows: those of other products lie beside one. Of a ring those under all windows of a step.
        self.kept_pitch = self.pitch if self.is_in_place else self.products * size.out_samples + VECTOR
        self.kept_at = 0 if self.is_in_place else self.lot_rows * self.pitch
        self.kept_rows = -(-under // size.rows) * size.rows if is_ring else self.lot_rows
        # Steps of a ring before the first results, and rows above the first window that the first one loads.
        self.early_steps = -(-(mask_rows - 1) // self.step_rows) if is_ring else 0
        self.early_rows = self.early_steps * self.step_rows - mask_rows + 1 if is_ring else 0
        self.shared_cells = self.kept_at + self.kept_rows * self.kept_pitch
        self.shared_bytes = 4 * self.shared_cells
        # Weights in constant memory: rows of whole vectors, then the columns.
        self.row_weights = whole_vectors(mask_columns)
        self.weights = rank * self.row_weights + whole_vectors(rank * mask_rows)

    @property
    def multiply_adds(self) -> float:
        """About how many a result of a tile takes, with those of warps that are idle meanwhile."""
        filtered = -(-self.lot_rows // self.round_rows) * self.round_rows
        return filtered * self.along.length / self.step_rows + self.down.length

    def steps(self, rows: int) -> int:
        """Return how often a block with so many rows of results loads `lot_rows` input rows."""
        return -(-rows // self.step_rows) + self.early_steps if self.size.is_ring else 1


def first_fitting(problem: Problem, rank: int, sizes: Iterable[Size]) -> FusedShape:
    """Return the shape with the first of some sizes that there is shared memory for, else with the last."""
    *others, last = (FusedShape(problem, rank, size) for size in sizes)
    return next((one for one in others if one.shared_bytes <= SHARED_BYTES), last)


def tiles_of(problem: Problem, rows: int) -> int:
    """Return how many tiles of 128 results in so many rows a picture has; 0: too high for a grid."""
    down = blocks_along(problem.height, rows)
    return blocks_along(problem.width * problem.channels, 128) * down if down <= MAX_GRID_Y else 0


def rows_of(problem: Problem, shape: FusedShape) -> int:
    """Return the rows of results of a block."""
    if not shape.size.is_ring:
        return shape.step_rows
    across = blocks_along(problem.width * problem.channels, shape.size.out_samples)
    resident = min(MOST_BLOCKS, resident_blocks(shape.shared_bytes))
    return rows_of_strips(problem, across, resident, step=shape.step_rows, least=problem.mask_shape[0] // 2)


def launch_of(problem: Problem, shape: FusedShape) -> Launch:
    """Return the one launch, of blocks that are 32 threads across."""
    block_of = shape.size.out_samples, rows_of(problem, shape), shape.size.warps
    return launch_of_samples(problem, *block_of, shape.shared_bytes, 4 * shape.weights)


def work_of(problem: Problem, shape: FusedShape) -> Work:
    """Return the work: a block filters the input rows that it loads along themselves, then its columns."""
    rows, size, launch = rows_of(problem, shape), shape.size, launch_of(problem, shape)
    across, tops = launch.grid[0], range(0, problem.height, rows)
    lots = [shape.steps(min(rows, problem.height - top)) for top in tops]
    bands = [(top - shape.early_rows, count * shape.lot_rows) for top, count in zip(tops, lots, strict=True)]
    filtered = across * sum(lots) * shape.lot_rows
    threads_along = filtered * size.out_samples // size.results
    threads_down = across * sum(count - shape.early_steps for count in lots) * LANES * size.warps
    along, down, rank = shape.along, shape.down, shape.rank
    weights_along, weights_down = threads_along * rank * along.length, threads_down * rank * down.length
    multiply_adds = weights_along * along.count + weights_down * down.count
    return filter_work(
        problem,
        picture_loads=loads_of_tiles(problem, launch, shape.before, shape.pitch, bands),
        shared_loads=threads_along * shape.read + threads_down * shape.products * down.samples,
        shared_stores=filtered * shape.pitch + threads_along * shape.products * size.results,
        constant_loads=weights_along + weights_down,
        multiply_adds=multiply_adds if rank else threads_along * along.weighed,
    )


MULTIPROCESSORS = 132
"""As a large GPU has (H200)."""

MULTIPROCESSOR_SHARED_BYTES, RESERVED_BYTES = 228 * 1024, 1024
"""Shared memory of a multiprocessor, and what CUDA reserves of it per block (CUDA C++ Programming Guide)."""

MOST_WAVES = 8


def resident_blocks(shared_bytes: int) -> int:
    """Return how many blocks with so much shared memory are resident on a multiprocessor at once."""
    return MULTIPROCESSOR_SHARED_BYTES // (shared_bytes + RESERVED_BYTES)


def rows_of_strips(problem: Problem, across: int, resident: int, *, step: int, least: int = 1) -> int:
    """Return the rows of results per strip of a picture.

    Low strips read the rows above and below them, which the mask reaches over, many times; few high ones
    leave multiprocessors idle at the end. A block's time is taken as proportional to its input rows, and the
    whole as so many waves of blocks: the last one counts half even where it is not full, and `late` is for
    blocks that take longer, those at an edge above all. The numbers are fitted to 475 random problems (H200;
    docs/experiments/strips.md).

    There are `across` blocks side by side, and `resident` ones on a multiprocessor at once. The result is a
    multiple of `step`, and at least `least`.
    """
    height, halo = problem.height, problem.mask_shape[0] - 1
    # float32 of one channel is copied in the same way at an edge and inside.
    late = 0.5 if problem.channels == 1 and problem.itemsize == 4 else 1.5
    wave = MULTIPROCESSORS * resident
    fewest = -(-across // wave)
    best_rows, best_time = height, float("inf")
    for waves in range(fewest, fewest + MOST_WAVES):
        rows = max(-(-height // (waves * wave // across)), least)
        rows = -(-rows // step) * step
        blocks = across * -(-height // rows)
        time = (rows + halo) * (-(-blocks // wave) + blocks / wave + late)
        if time < best_time:
            best_rows, best_time = rows, time
    return best_rows
