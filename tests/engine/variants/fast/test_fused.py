"""Rows and columns in one kernel: the shapes of all its variants, `separable-fused`, `box` and `cpu-box`."""

import itertools
import math
import re

import numpy as np
import pytest

from engine.geometry.block import MAX_GRID_Y, Block, Limits, UnsupportedVariant, blocks_along
from engine.geometry.border import Border
from engine.mask.mask import Mask
from engine.variants.cpu import banded_filter
from engine.variants.cpu import box as cpu_box
from engine.variants.fast import fused, fused_kernel
from engine.variants.fast.fused import SEPARABLE, box_shape, low_rank_shape
from engine.variants.fast.fused_kernel import MULTIPROCESSORS, launch_of, rows_of_strips
from engine.variants.fast.fused_sums import rounds_of, window_sums
from engine.variants.fast.tile_shape import SHARED_BYTES, Windows
from engine.variants.passes import VECTOR
from engine.work.filter_task import describe_problem
from engine.work.filtering.variants import variant
from engine.work.problem import MAX_SIDE, Problem
from tests.engine.variants import emitted
from tests.engine.variants.cases import problem_of, verified
from tests.engine.variants.emitted import needs_nvvm, ptx_of
from tests.engine.variants.executed import check_executed

BLOCK = SEPARABLE.default_block


def product(rows, columns, anchor=None):
    """Return a mask of rank 1 without a zero."""
    return Mask(
        np.outer(emitted.RANDOM.uniform(0.1, 1, rows), emitted.RANDOM.uniform(0.1, 1, columns)), anchor
    )


# (picture, mask, anchor, border); of products as tiles and as rings, which only large pictures are else.
# Several tiles down and across are those of the large pictures of `test_variants`.
TILES = [((2, 45, 3), (2, 31), (1, 30), Border.CONSTANT)]  # wide
MORE = [((18, 5, 1), (63, 2), None, Border.MIRROR), ((35, 5, 1), (4, 7), (3, 0), Border.CONSTANT)]
RINGS = [
    ((3, 130, 1), (1, 17), (0, 0), Border.REFLECT),  # two blocks across, one mask row
    ((66, 5, 1), (37, 5), None, Border.MIRROR),  # strips, several steps down
    ((40, 5, 3), (63, 2), (62, 1), Border.WRAP),  # high, three channels, strips of bytes
    ((20, 2, 2), (2, 63), None, Border.ZERO),  # very wide
]
BOXES = [
    # Tiles: windows in one group and in several, of 4 to 16 neighbours; 4 and 6 rows per thread.
    # (Of windows of 3 pixels in 4 channels the compiler does products once that two windows share.)
    ((33, 9, 4), (2, 5), None, Border.ZERO),
    ((9, 200, 1), (1, 127), None, Border.ZERO),
    ((33, 45, 3), (16, 33), None, Border.CONSTANT),
    # Rings: 128 and 64 samples wide; 16 and 8 rows per thread; mask rows - 1 of whole steps, and not.
    ((34, 130, 1), (33, 2), None, Border.MIRROR),
    ((34, 23, 3), (33, 63), None, Border.WRAP),
    ((50, 20, 1), (127, 1), None, Border.REPLICATE),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("most_tile_rows", "case"),
    [*((99, case) for case in TILES), *((0, case) for case in RINGS), *((None, case) for case in BOXES)]
    + [pytest.param(rows, case, marks=pytest.mark.matrix) for rows, case in zip((99, 0), MORE, strict=True)],
)
def test_that_tiles_and_rings_agree_with_oracle_and_model(most_tile_rows, case, monkeypatch):
    picture, shape, anchor, border = case
    # Else pictures of this height are one strip.
    monkeypatch.setattr(fused_kernel, "rows_of_strips", lambda *_, step, least: step)
    if most_tile_rows is not None:
        monkeypatch.setattr(fused, "MOST_TILE_ROWS", most_tile_rows)
        known, mask = SEPARABLE, product(*shape, anchor)
    else:
        known, mask = variant("box"), Mask(np.full(shape, 0.3), anchor)
    image = emitted.RANDOM.uniform(0, 255, picture).astype("uint8" if picture == (40, 5, 3) else "float32")
    if image.dtype == "float32" and known is SEPARABLE and picture[0] > 18:
        image[3, 1, 0], image[17, 1, 0] = np.nan, np.inf
    check_executed(known, describe_problem(image, mask, border, 2.5), mask, image)


LARGE = [(63, "float32", 4, (7, 5)), (63, "float32", 4, (9, 0))]
SMALLER = [(5, "float32", 1, (9, 0)), (15, "uint8", 3, (7, 5)), (31, "uint16", 1, (9, 0))]


@pytest.mark.slow
@emitted.needs_nvvm
@pytest.mark.parametrize("sorts", [LARGE, pytest.param(SMALLER, marks=pytest.mark.matrix)])
def test_that_loads_and_stores_are_whole_vectors(sorts):
    codes = [(*code, (9, 0)) for code in emitted.simulated_codes(SEPARABLE)]
    for side, dtype, channels, capability in sorts:
        mask = product(side, side)
        problem = problem_of(5000, 7000, mask, channels, dtype)
        codes.append((problem, ptx_of(SEPARABLE, problem, mask, capability), capability))
    for problem, ptx, capability in codes:
        found = fused.fused_shape(problem)
        if problem.dtype == "float32" and capability > (8, 0):
            assert re.search(r"cp\.async\.ca\.shared\.global \[%r\d+\+0\], \[%rd\d+\+0\], 16;", ptx)
            assert set(re.findall(r"cp\.async\.wait_group (\d+);", ptx)) == {"0"}
        assert "ld.shared.v4.f32" in ptx
        assert "ld.const" in ptx
        # Else neighbouring threads store neighbouring samples.
        assert ("st.global.v4.f32" in ptx) == (found.size.columns == VECTOR)
        # A round of the loops, and what comes after the last one; the compiler may write out that over rows.
        along, down = written(found.along, 1, 16), written(found.down, 1, max(8, found.size.rows))
        rows, rest = divmod(emitted.multiply_adds(ptx) - down, along)
        assert rest == 0
        assert 1 <= rows <= 8


def written(windows, products, at_once):
    """Return the multiply-adds in the code of some windows, those of its loop once."""
    rounds = rounds_of(windows, products, at_once)
    return products * windows.count * (windows.length - max(rounds - 1, 0) * at_once)


SHAPES = {
    "box": box_shape,
    "rank 1": fused.fused_shape,
    "rank 2": lambda problem: low_rank_shape(problem, 2),
    "rank 3": lambda problem: low_rank_shape(problem, 3),
}
ROWS, COLUMNS = (1, 2, 5, 14, 20, 21, 24, 33, 34, 48, 63), (1, 2, 3, 7, 8, 16, 31, 40, 62, 63)


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


BOUNDS = (1500, 6000), (20, 300), (1, 31), (2, 11), (1, 33), (1, 40)


@pytest.mark.parametrize(("channels", "dtype"), [(1, "float32"), (3, "uint8")])
def test_that_the_blocks_of_strips_fill_their_waves(channels, dtype):
    filled = []
    for number in range(300):
        random = np.random.default_rng(number)
        height, across, mask_rows, resident, step, least = (int(random.integers(*some)) for some in BOUNDS)
        problem = Problem(height, 1000, channels, dtype, (mask_rows, 1), (0, 0))
        rows = rows_of_strips(problem, across, resident, step=step, least=least)
        assert rows >= least
        assert rows % step == 0
        count = across * -(-height // rows) / (MULTIPROCESSORS * resident)
        filled.append(count / math.ceil(count))
    assert np.mean(filled) > 0.92
    assert np.percentile(filled, 5) > 0.8


def test_that_a_low_picture_is_one_strip_and_a_very_wide_one_too_and_the_highest_fits_the_grid():
    low, wide = (Problem(height, 9, 1, "float32", (31, 31), (0, 0)) for height in (5, 40))
    assert rows_of_strips(low, 3, 4, step=8) == 8
    assert rows_of_strips(wide, 10**6, 4, step=8) == 40
    for resident in [1, 5, 16, 62]:
        problem = Problem(MAX_SIDE, 1, 1, "float32", (1, 1), (0, 0))
        assert blocks_along(problem.height, rows_of_strips(problem, 1, resident, step=1)) <= MAX_GRID_Y


BOX_BLOCK = Block(32, 4)
LIMITS = Limits()


def filtered(image, mask, border=Border.MIRROR):
    problem = describe_problem(image, mask, border, 0.0)
    out = np.full(image.shape, np.nan, np.float32)
    cpu_box.prepare(problem, mask, BOX_BLOCK).launch(image, out)
    verified(out, image, mask, problem)
    return out


@pytest.mark.parametrize("key", ["box", "cpu-box"])
def test_that_weights_unequal_in_float32_are_refused_with_the_one_that_differs(key):
    weights = np.full((3, 4), 0.1)
    weights[2, 1] = 0.1 + 1e-7
    mask = Mask(weights)
    refusal = variant(key).unsupported(problem_of(9, 9, mask), mask, BOX_BLOCK, LIMITS)
    assert re.search("that in row 3, column 2 is 0.100000098.*Use ", str(refusal))
    with pytest.raises(UnsupportedVariant, match="row 3, column 2"):
        variant(key).prepare(problem_of(9, 9, mask), mask, BOX_BLOCK)
    for weight in (1.0, -0.3, 0.0, 1 / 9):
        mask = Mask([[weight, weight * (1 + 1e-12)]])
        assert variant(key).unsupported(problem_of(9, 9, mask), mask, BOX_BLOCK, LIMITS) is None


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
def test_that_a_ring_keeps_nan_and_infinity_where_they_belong():
    image = np.ones((50, 20, 1), np.float32)
    image[25, 9], image[2, 3] = np.nan, np.inf
    mask = Mask(np.full((33, 2), 0.5))
    problem = describe_problem(image, mask, Border.MIRROR, 0.0)
    assert fused.box_shape(problem).size.is_ring
    assert np.isnan(check_executed(variant("box"), problem, mask, image)).sum() == 33 * 2


@pytest.mark.slow
@needs_nvvm
@pytest.mark.parametrize(
    ("sides", "dtype", "channels", "capability"),
    [((15, 15), "uint8", 3, (9, 0)), ((31, 31), "float32", 1, (7, 5)), ((31, 31), "float32", 1, (9, 0)),
     pytest.param((63, 63), "uint16", 4, (8, 6), marks=pytest.mark.matrix),
     pytest.param((1, 127), "float32", 4, (9, 0), marks=pytest.mark.matrix)],
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
