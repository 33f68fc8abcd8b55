"""Strips that a warp streams down, as `low-rank-2` and `low-rank-3` do: how they cover a picture, and their code."""

import re

import numpy as np
import pytest

from engine.device.numba_cuda import cuda, missing
from engine.mask.mask import Mask
from engine.tasks.filtering.problem import Problem
from engine.variants.low_rank import low_rank_2
from engine.variants.separable_fused import fused_strips

RANDOM = np.random.default_rng(18)


@pytest.mark.parametrize("side", [4, 5, 15, 31])
@pytest.mark.parametrize("size", [1, 7, 256, 1024, 4096, 16384])
def test_that_strips_cover_the_picture_and_filter_few_rows_twice_in_large_ones(size: int, side: int) -> None:
    problem = Problem(size, size, 1, "float32", (side, side), (side // 2, side // 2))
    launch, shape = fused_strips.launch_of(problem, 2), fused_strips.shape_of(problem, 2)
    rows = fused_strips.strip_height(problem, shape)
    assert launch.grid[1] * rows >= size > (launch.grid[1] - 1) * rows
    assert launch.grid[0] * launch.block[1] * 128 >= size
    assert (rows + side - 1) % shape.group_rows == 0
    if size >= 4096:
        assert (side - 1) / rows <= 0.25
        assert launch.blocks * launch.block[1] >= 900


@pytest.mark.nvvm
@pytest.mark.skipif(bool(missing), reason=missing or "numba-cuda is there")
@pytest.mark.parametrize(("side", "channels"), [(7, 1), (13, 2)])
def test_that_a_warp_loads_whole_vectors_and_waits_for_no_other_one(side: int, channels: int) -> None:
    factors = RANDOM.uniform(0.1, 1, (2, 2, side))
    mask = Mask(sum(np.outer(column, row) for column, row in factors))
    problem = Problem(500, 700, channels, "float32", mask.shape, mask.anchor)
    (step,) = low_rank_2.VARIANT.passes(problem, mask, low_rank_2.VARIANT.default_block)
    ptx, _ = cuda.compile_ptx(step.kernel.py_func, step.signature, cc=(9, 0))
    shape = fused_strips.shape_of(problem, 2)
    assert re.search(r"cp\.async\.ca\.shared\.global \[%r\d+\+0\], \[%rd\d+\+0\], 16;", ptx)
    assert set(re.findall(r"cp\.async\.wait_group (\d+);", ptx)) == {str(shape.ahead - 1)}
    assert "ld.shared.v4.f32" in ptx
    assert "st.global.v4.f32" in ptx
    assert re.findall(r"__local_depot|\b(?:ld|st)\.local", ptx) == []
    assert "bar.warp.sync" in ptx
    assert "bar.sync" not in ptx
    assert ptx.count("fma.rn.f32") + ptx.count("mul.f32") == 4 * 2 * 2 * side * shape.group_rows
