"""The kernel of `low-rank-2` and `low-rank-3`: its shapes, how strips cover a picture, and its code."""

import itertools
import re

import numpy as np
import pytest

from engine.mask.mask import Mask
from engine.tasks.filtering.problem import Problem
from engine.variants.low_rank import low_rank_2
from engine.variants.low_rank.product_strips import SHARED_BYTES, shape_of
from engine.variants.strips.strip_shape import LANES
from tests.engine.variants.ir.emitted import RANDOM, multiply_adds, needs_nvvm, ptx_of


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_that_every_mask_a_thread_can_keep_fits_shared_memory_whatever_its_anchor(channels: int) -> None:
    for rows, columns, rank in itertools.product((1, 3, 15, 33), range(1, 64), (1, 2, 3)):
        for anchor in {0, columns // 2, columns - 1}:
            shape = shape_of(Problem(99, 99, channels, "uint8", (rows, columns), (0, anchor)), rank)
            along = shape.along
            assert shape.shared_bytes <= SHARED_BYTES, (rows, columns, anchor)
            # A thread's window begins on a vector, ends within the row, and holds every sample it needs.
            assert along.before % 4 == along.window % 4 == along.tile_samples % 4 == 0
            assert along.shift + 4 + (columns - 1) * channels <= along.window
            assert 4 * (LANES - 1) + along.window <= along.tile_samples
            assert min(shape.ahead, shape.group_rows) >= 1


@needs_nvvm
@pytest.mark.parametrize(("side", "channels"), [(7, 1), (13, 2)])
def test_that_a_warp_loads_whole_vectors_and_waits_for_no_other_one(side: int, channels: int) -> None:
    factors = RANDOM.uniform(0.1, 1, (2, 2, side))
    mask = Mask(sum(np.outer(column, row) for column, row in factors))
    problem = Problem(500, 700, channels, "float32", mask.shape, mask.anchor)
    ptx, shape = ptx_of(low_rank_2.VARIANT, problem, mask), shape_of(problem, 2)
    assert re.search(r"cp\.async\.ca\.shared\.global \[%r\d+\+0\], \[%rd\d+\+0\], 16;", ptx)
    assert set(re.findall(r"cp\.async\.wait_group (\d+);", ptx)) == {str(shape.ahead - 1)}
    for words in ("ld.shared.v4.f32", "st.global.v4.f32", "bar.warp.sync"):
        assert words in ptx
    assert "bar.sync" not in ptx
    assert multiply_adds(ptx) == 4 * 2 * 2 * side * shape.group_rows
