"""How strips that a warp streams down cover a picture: their height, the launch, and what they load. Pure integers."""

from engine.device.launches import Launch
from engine.tasks.filtering.problem import Problem
from engine.variants.ladder.geometry import blocks_along, loads_of_tiles
from engine.variants.strips.strip_shape import LANES, STRIP_SAMPLES, StripShape

LEAST_STRIP_ROWS = 8


def strips_across(problem: Problem) -> int:
    """Return the strips side by side."""
    return blocks_along(problem.width * problem.channels, STRIP_SAMPLES)


def strip_rows(problem: Problem, shape: StripShape, most_warps: int) -> int:
    """Return the rows of results of a strip: as many as leave the picture `most_warps` warps, in whole groups of input rows.

    In small pictures a strip has at least half of the rows that its warp filters besides.
    """
    bands = max(1, most_warps // strips_across(problem))
    rows = max(blocks_along(problem.height, bands), LEAST_STRIP_ROWS, (shape.mask_rows - 1) // 2)
    return shape.groups(rows) * shape.group_rows - (shape.mask_rows - 1)


def strip_launch(problem: Problem, shape: StripShape, rows: int, constant_bytes: int = 0) -> Launch:
    """Return the launch for strips of so many rows of results: a warp a strip, up to `shape.warps` side by side a block."""
    warps = min(strips_across(problem), shape.warps)
    grid = (blocks_along(strips_across(problem), warps), blocks_along(problem.height, rows), 1)
    return Launch(grid, (LANES, warps, 1), shape.shared_bytes, constant_bytes)


def strip_groups(problem: Problem, shape: StripShape, rows: int) -> list[int]:
    """Return the groups of input rows of each strip, from the top of the picture down."""
    return [shape.groups(min(rows, problem.height - top)) for top in range(0, problem.height, rows)]


def strip_loads(problem: Problem, shape: StripShape, rows: int) -> int:
    """Return the elements of the picture that all strips load."""
    lefts = [strip * STRIP_SAMPLES - shape.along.before for strip in range(strips_across(problem))]
    bands = [
        (band * rows - problem.anchor[0], groups * shape.group_rows)
        for band, groups in enumerate(strip_groups(problem, shape, rows))
    ]
    return loads_of_tiles(problem, lefts, shape.along.tile_samples, bands)
