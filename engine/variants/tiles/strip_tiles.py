"""Who loads what with `strip_loader`, strip by strip, for `Variant.tiles` of its kernels."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from engine.geometry.tile_plan import UNUSED, Cells, TilePlan, grid_of_cells
from engine.variants.ir.register_tile import VECTOR, TileShape
from engine.variants.tiles.strip_shape import (
    LANES,
    STRIP_SAMPLES,
    StripGrid,
    after_strip,
    beside,
    shares_out,
)
from engine.variants.tiles.vector_tiles import drawn_lots, sample_tile
from engine.work.filtering.problem import Problem


def strip_tiles(
    grid: StripGrid, at: tuple[int, int], lane_of: Callable[[Cells], Cells]
) -> tuple[TilePlan, ...]:
    """Return the strips of the block at (across, down), one per warp; `lane_of` has a sample's lane."""
    problem, shape, warps = grid.problem, grid.shape, grid.launch().block[1]
    band, strips = at[1], range(at[0] * warps, min((at[0] + 1) * warps, grid.across))
    found = []
    for warp, strip in enumerate(strips):
        top, left = band * grid.rows - problem.anchor[0], strip * STRIP_SAMPLES - shape.along.before
        groups = [shape.group_rows] * grid.groups[band]
        drawn = drawn_lots(groups)
        loaded = [
            _group_loads(problem, shape.along, shape.group_rows, top + number * shape.group_rows, left)
            for number in range(len(drawn))
        ]
        starts = np.cumsum([0, *(int(steps.max(initial=0)) for _, steps in loaded[:-1])])
        plan = sample_tile(
            problem,
            (strip, band),
            shape.along.before,
            np.concatenate([np.where(lanes < 0, lanes, lanes + LANES * warp) for lanes, _ in loaded]),
            np.concatenate([steps + start for (_, steps), start in zip(loaded, starts, strict=True)]),
            (grid.rows, STRIP_SAMPLES),
            partial(_thread, lane_of, warp),
            warps=warps,
            cut_rows=sum(groups) - sum(drawn),
            note="Each warp streams down a strip of its own; a thread loads 4 samples at once.",
        )
        found.append(replace(plan, at=at, title=f"strip of warp {warp}" if warps > 1 else ""))
    return tuple(found)


def _thread(lane_of: Callable[[Cells], Cells], warp: int, row: Cells, sample: Cells) -> Cells:
    return lane_of(sample) + np.int32(LANES * warp)


def _group_loads(problem: Problem, along: TileShape, rows: int, top: int, left: int) -> tuple[Cells, Cells]:
    """Return lane and step of each cell of a group of rows, from row `top` and sample `left` on."""
    row, cell = grid_of_cells(0, 0, rows, along.tile_samples)
    vector, vectors = cell // VECTOR, -(-along.tile_samples // (VECTOR * LANES))
    by_row = vector % LANES, row * vectors + vector // LANES + 1
    if not shares_out(along, problem.itemsize):
        return by_row
    samples, pitch = problem.width, along.tile_samples
    has_rows = top >= 0 and top + rows <= problem.height
    whole, rest = divmod(pitch // VECTOR, LANES)
    turn = row * rest + vector - whole * LANES
    is_whole = vector < whole * LANES
    lanes = np.where(is_whole, vector % LANES, turn % LANES)
    steps = np.where(is_whole, row * whole + vector // LANES, rows * whole + turn // LANES) + 1
    if has_rows and left >= 0 and left + pitch <= samples:
        return lanes, steps
    return _at_edges(problem, along, rows, top, left, lanes, steps, has_rows=has_rows)


def _at_edges(
    problem: Problem,
    along: TileShape,
    rows: int,
    top: int,
    left: int,
    lanes: Cells,
    steps: Cells,
    *,
    has_rows: bool,
) -> tuple[Cells, Cells]:
    """Return the same across an edge: vectors in the picture, then the needed cells beside it, shared out."""
    row, cell = grid_of_cells(0, 0, rows, along.tile_samples)
    vector, samples, pitch = cell // VECTOR, problem.width, along.tile_samples
    first, end = (int(np.clip(value, 0, pitch)) for value in (-left, samples - left))
    end -= end % VECTOR
    needed = min(-(-(samples - left) // VECTOR) * VECTOR + after_strip(along), pitch)
    is_vector = (cell >= first) & (cell < end)
    side = beside(along)
    is_left = (cell >= first - side) & (cell < first)
    is_right = (cell >= end) & (cell < end + side) & (cell < needed)
    own = np.where(is_left, cell - first + side, cell - end)
    if has_rows:
        at_once = LANES // side
        turns = -(-rows // at_once)
        lanes_beside = row % at_once * side + own
        steps_beside = int(steps.max()) + is_right * turns + row // at_once + 1
    else:
        vectors = -(-pitch // (VECTOR * LANES))
        begin = row * (vectors + 2)
        lanes, steps = vector % LANES, begin + vector // LANES + 1
        lanes_beside, steps_beside = own, begin + vectors + 1 + is_right
        rule = problem.border.rule
        is_ghost = np.array([rule(top + one, problem.height) < 0 for one in range(rows)])[:, None]
        # A row of ghost cells is filled by vectors.
        is_vector, is_left, is_right = (
            is_vector & ~is_ghost | is_ghost & (cell < needed),
            is_left & ~is_ghost,
            is_right & ~is_ghost,
        )
    sides = is_left | is_right
    return (
        np.select([is_vector, sides], [lanes, lanes_beside], UNUSED).astype(np.int32),
        np.select([is_vector, sides], [steps, steps_beside], 0).astype(np.int32),
    )
