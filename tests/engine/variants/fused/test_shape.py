"""The shapes of a block's work of all masks that are filtered along rows and down columns in one kernel."""

import itertools

import pytest

from engine.geometry.block import MAX_GRID_Y
from engine.variants.fused.box import box_shape
from engine.variants.fused.low_rank_sum import low_rank_shape
from engine.variants.fused.separable_fused import fused_shape
from engine.variants.fused.shape import SHARED_BYTES, launch_of
from engine.work.filtering.problem import Problem

SHAPES = {
    "box": box_shape,
    "rank 1": fused_shape,
    "rank 2": lambda problem: low_rank_shape(problem, 2),
    "rank 3": lambda problem: low_rank_shape(problem, 3),
}
ROWS, COLUMNS = (1, 2, 5, 14, 20, 21, 24, 33, 34, 48, 63), (*range(1, 64, 3), 2, 8, 62, 63)


def wavefronts(elements, width):
    """Return the wavefronts of a warp that reads `width` elements of shared memory per thread."""
    turns, lanes = 0, 32 // width
    for first in range(0, 32, lanes):
        banks = {}
        for element in elements[first : first + lanes]:
            for k in range(width):
                banks.setdefault((element + k) % 32, set()).add(element + k)
        turns += max(map(len, banks.values()))
    return turns


@pytest.mark.slow
@pytest.mark.parametrize("channels", [1, 2, 3, 4])
@pytest.mark.parametrize("name", SHAPES)
def test_that_every_mask_fits_shared_memory_without_bank_conflicts(name, channels):
    lines = [(127, 1), (1, 127)] if name == "box" else []
    found = set()
    for (rows, columns), side in itertools.product([*itertools.product(ROWS, COLUMNS), *lines], (9, 4096)):
        for anchor in {0, columns // 2, columns - 1}:
            problem = Problem(side, side, channels, "float32", (rows, columns), (rows // 2, anchor))
            shape = SHAPES[name](problem)
            if shape in found:
                continue
            found.add(shape)
            size = shape.size
            assert shape.shared_bytes <= SHARED_BYTES, (problem.mask_shape, channels)
            # The last thread of a row reads none of the next one; the rows are loaded as they are read.
            assert size.out_samples - size.results + shape.read <= shape.pitch
            assert shape.input.tile_samples == shape.pitch
            # A ring has what the windows of a step need, and no thread's rows cross its end.
            assert shape.kept_rows >= shape.step_rows + rows - 1
            assert not size.is_ring or shape.kept_rows % size.rows == shape.step_rows % size.rows == 0
            for pitch in (shape.pitch, shape.kept_pitch):
                lanes = (divmod(lane, shape.warp_rows) for lane in range(32))
                places = [row * pitch + column * size.results for column, row in lanes]
                assert wavefronts(places, 4) == 4
    assert {shape.size.is_ring for shape in found} == {False, True}


@pytest.mark.parametrize("name", SHAPES)
def test_that_a_picture_may_be_as_high_as_it_likes(name):
    for width, mask_shape, height in itertools.product(
        (2, 3), ((3, 3), (63, 63), (40, 1)), (65_535 * 16, 65_535 * 32, 65_535 * 32 + 1, 1 << 24)
    ):
        problem = Problem(height, width, 1, "float32", mask_shape, (0, 0))
        launch = launch_of(problem, SHAPES[name](problem))
        assert launch.grid[1] <= MAX_GRID_Y
        assert launch.grid[1] * launch.tile.y >= height
