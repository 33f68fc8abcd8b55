"""`box` and `cpu-box`: the masks they take, where blocks meet, window sums, NaN and large numbers."""

import itertools
import re

import numpy as np
import pytest

from engine.geometry.block import Block, Limits, UnsupportedVariant
from engine.geometry.border import Border
from engine.mask.mask import Mask
from engine.variants.cpu import banded_filter
from engine.variants.cpu import box as cpu_box
from engine.variants.fast import fused, fused_shape
from engine.variants.fast.fused_shape import Windows
from engine.variants.fast.fused_sums import window_sums
from engine.work.filter_task import describe_problem
from engine.work.filtering.variants import variant
from engine.work.problem import Problem
from tests.engine.variants.cases import problem_of, verified
from tests.engine.variants.emitted import needs_nvvm, ptx_of
from tests.engine.variants.executed import check_executed

BLOCK = Block(32, 4)
LIMITS = Limits()


def filtered(image, mask, border=Border.MIRROR):
    problem = describe_problem(image, mask, border, 0.0)
    out = np.full(image.shape, np.nan, np.float32)
    cpu_box.prepare(problem, mask, BLOCK).launch(image, out)
    verified(out, image, mask, problem)
    return out


@pytest.mark.parametrize("key", ["box", "cpu-box"])
def test_that_weights_unequal_in_float32_are_refused_with_the_one_that_differs(key):
    weights = np.full((3, 4), 0.1)
    weights[2, 1] = 0.1 + 1e-7
    mask = Mask(weights)
    refusal = variant(key).unsupported(problem_of(9, 9, mask), mask, BLOCK, LIMITS)
    assert re.search("that in row 3, column 2 is 0.100000098.*Use ", str(refusal))
    with pytest.raises(UnsupportedVariant, match="row 3, column 2"):
        variant(key).prepare(problem_of(9, 9, mask), mask, BLOCK)
    for weight in (1.0, -0.3, 0.0, 1 / 9):
        mask = Mask([[weight, weight * (1 + 1e-12)]])
        assert variant(key).unsupported(problem_of(9, 9, mask), mask, BLOCK, LIMITS) is None


def test_that_nan_and_infinity_reach_their_windows_only():
    image = np.ones((40, 50, 1), np.float32)
    image[20, 25], image[5, 5] = np.nan, np.inf
    out = filtered(image, Mask(np.full((5, 7), 0.5)))[..., 0]
    assert np.isnan(out).sum() == np.isinf(out).sum() == 35
    assert np.isnan(out[18:23, 22:29]).all()


def test_that_running_sums_do_not_drift():
    image = np.ones((3, 4000, 1), np.float32)
    image[:, :1000] = 1e7
    assert np.ptp(filtered(image, Mask(np.ones((1, 9)) / 9), Border.REPLICATE)[:, 1010:]) == 0.0


def test_that_running_sums_do_not_overflow():
    # Past the largest float32 only where the direct sum is.
    image = np.full((70, 70, 1), 3e38, np.float32)
    assert np.isfinite(filtered(image, Mask(np.full((63, 63), 1 / 63**2)), Border.WRAP)).all()


@pytest.mark.slow
def test_that_windows_of_every_width_are_put_together_where_tiles_and_bands_meet(monkeypatch):
    # Three bands and two tiles, the second one of no whole number of vectors.
    monkeypatch.setattr(banded_filter, "launch_cores", lambda: 3)
    random = np.random.default_rng(7)
    kinds = ("uint8", Border.WRAP, 3), ("float32", Border.CONSTANT, 1)
    for number, columns in enumerate((1, 2, 3, 4, 7, 16, 17, 21, 60, 64, 127)):
        for rows in (1,) if columns > 63 else ((1, 5), (2, 63))[number // 2 % 2]:
            dtype, border, channels = kinds[(number + rows // 4) % 2]
            image = random.integers(0, 9, (160, cpu_box.TILE_SAMPLES // channels + 37, channels))
            filtered(image.astype(dtype), Mask(np.full((rows, columns), 0.5)), border)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("height", "width", "channels", "mask_shape", "border"),
    [
        # Tiles: windows in one group and in several, of 4 to 16 neighbours; 4 and 6 rows per thread.
        # (Of windows of 3 pixels in 4 channels the compiler does products once that two windows share.)
        (33, 9, 4, (2, 5), Border.ZERO),
        (9, 200, 1, (1, 127), Border.ZERO),
        (33, 45, 3, (16, 33), Border.CONSTANT),
        # Rings: 128 and 64 samples wide; 16 and 8 rows per thread; mask rows - 1 of whole steps, and not.
        (34, 130, 1, (33, 2), Border.MIRROR),
        (34, 23, 3, (33, 63), Border.WRAP),
        (50, 20, 1, (127, 1), Border.REPLICATE),
    ],
)
def test_that_blocks_and_steps_meet_without_a_seam(height, width, channels, mask_shape, border, monkeypatch):
    # Else pictures of this height are one strip.
    monkeypatch.setattr(fused_shape, "rows_of_strips", lambda *_, step, least: step)
    image = np.random.default_rng(1).integers(0, 256, (height, width, channels)).astype(np.float32)
    mask = Mask(np.full(mask_shape, 0.3))
    problem = describe_problem(image, mask, border, 2.5)
    check_executed(variant("box"), problem, mask, image)


@pytest.mark.slow
def test_that_a_ring_keeps_nan_and_infinity_where_they_belong():
    image = np.ones((40, 20, 1), np.float32)
    image[20, 9], image[2, 3] = np.nan, np.inf
    mask = Mask(np.full((25, 4), 0.5))
    problem = describe_problem(image, mask, Border.MIRROR, 0.0)
    assert fused.box_shape(problem).size.is_ring
    assert np.isnan(check_executed(variant("box"), problem, mask, image)).sum() == 25 * 4


@pytest.mark.slow
@needs_nvvm
@pytest.mark.parametrize(
    ("sides", "dtype", "channels", "capability"),
    [((15, 15), "uint8", 3, (9, 0)), ((31, 31), "float32", 1, (7, 5)), ((31, 31), "float32", 1, (9, 0)),
     ((63, 63), "uint16", 4, (8, 6)), ((1, 127), "float32", 4, (9, 0))],
)  # fmt: skip
def test_that_code_reads_whole_vectors_without_local_memory(sides, dtype, channels, capability):
    mask = Mask(np.full(sides, 0.5))
    problem = Problem(5000, 7000, channels, dtype, mask.shape, mask.anchor, result_dtype=dtype)
    ptx = ptx_of(variant("box"), problem, mask, capability)
    assert "ld.shared.v4.f32" in ptx
    assert "st.shared.v4.f32" in ptx
    # Only sums along a row multiply; the compiler may unroll the loop over a thread's rows.
    found = len(re.findall(r"\b(?:fma\.rn|mul)\.f32", ptx))
    times, rest = divmod(found, fused.box_shape(problem).along.weighed)
    assert rest == 0
    assert 1 <= times <= 8


@pytest.mark.parametrize("apart", [1, 2, 3, 4])
def test_that_each_window_has_each_of_its_cells_once(apart):
    for length, count in itertools.product((*range(1, 12), 17, 31, 64, 127), (4, 5, 8, 16, 32)):
        windows, weighed, joins = Windows(length, apart, count), [], []

        class Cells(list):
            def __add__(self, other, joins=joins):
                joins.append(1)
                return Cells([*self, *other])

        def first(cell, weighed=weighed, cells=Cells):
            weighed.append(cell)
            return cells([cell])

        def added(total, cell, first=first):
            return total + first(cell)

        def begin(cell, first=first, cells=Cells):
            return cells(["start", *first(cell)])

        sums = window_sums(windows, lambda cell: cell, begin, first, added)
        for place, cells in enumerate(sums):
            assert cells.count("start") == 1
            cells.remove("start")
            assert sorted(cells) == [place + number * apart for number in range(length)]
        assert len(sums) == count
        assert (len(weighed), max(weighed)) == (windows.weighed, windows.samples - 1)
        if apart == 1 and count >= 16:
            assert len(joins) < 6 * max(count, length // 4)
