"""`separable-fused`: refusals, shapes in place and with a ring, sums along a line, and the emitted code."""

import itertools
import re

import numpy as np
import pytest

from engine.geometry.border import Border
from engine.geometry.refusal import UnsupportedVariant
from engine.mask.generators import gaussian
from engine.mask.mask import Mask
from engine.variants.ir.register_tile import VECTOR
from engine.variants.separable_fused import fused_in_place, fused_ring
from engine.variants.separable_fused.column_filter import rounds_of
from engine.variants.separable_fused.fused_in_place import in_place_shape
from engine.variants.separable_fused.fused_ring import ring_shape, rows_of
from engine.variants.separable_fused.separable_fused import VARIANT
from engine.variants.tiles.box_shape import SHARED_BYTES
from engine.work.filter_task import describe_problem
from engine.work.filtering.problem import Problem
from tests.engine.variants import emitted
from tests.engine.variants.cases import problem_of
from tests.engine.variants.executed import check_executed

BLOCK = VARIANT.default_block


def product(rows, columns, anchor=None):
    """Return a mask of rank 1 without a zero."""
    return Mask(
        np.outer(emitted.RANDOM.uniform(0.1, 1, rows), emitted.RANDOM.uniform(0.1, 1, columns)), anchor
    )


def test_that_a_mask_that_is_no_product_has_no_passes():
    mask = Mask([[1, 2], [3, 4]])
    assert "one column times one row" in emitted.refused(VARIANT, problem_of(50, 50, mask), mask)
    with pytest.raises(UnsupportedVariant, match="two passes"):
        VARIANT.passes(problem_of(50, 50, mask), mask, BLOCK)


@pytest.mark.parametrize(
    ("width", "mask"), [(3, gaussian(3)), (3, gaussian(63)), (2, Mask(np.ones((40, 1))))], ids=str
)
def test_that_a_picture_may_be_as_high_as_it_likes(width, mask):
    for height in (65_535 * 32, 65_535 * 32 + 1, 2**24):
        problem = problem_of(height, width, mask)
        assert not emitted.refused(VARIANT, problem, mask)
        (launch,) = VARIANT.plan(problem, BLOCK)
        assert launch.grid[1] <= 65_535
        if mask.rows > 33:
            assert launch.grid[1] * rows_of(problem, ring_shape(problem)) >= height


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float32"])
@pytest.mark.slow
def test_that_no_mask_of_rank_1_up_to_63_is_refused_whatever_its_anchor(dtype):
    for channels in [1, 2, 3, 4]:
        for rows in (1, 2, 9, 15, 26, 27, 33, 34, 47, 63):
            for columns in (1, 2, 9, 15, 26, 33, 34, 47, 62, 63):
                for column in {0, columns // 2, columns - 1}:
                    mask = Mask(np.ones((rows, columns)), (rows // 2, column))
                    for size in (9, 4096):
                        assert not emitted.refused(
                            VARIANT, problem_of(size, size, mask, channels, dtype), mask
                        )


@pytest.mark.slow
@pytest.mark.parametrize("size", [9, 4096])
def test_that_rows_filtered_in_place_fit_shared_memory(size):
    for channels in [1, 2, 3, 4]:
        for dtype in ["uint8", "float32"]:
            rings = 0
            for rows, columns in itertools.product((1, 2, 9, 15, 31, 33, 34, 63), range(1, 64)):
                for anchor in {0, columns // 2, columns - 1}:
                    problem = Problem(size, size, channels, dtype, (rows, columns), (rows // 2, anchor))
                    shape = in_place_shape(problem)
                    if shape is None:
                        assert rows > 33 or rows + columns * channels > 60
                        continue
                    assert rows <= 33
                    along = shape.along
                    assert shape.shared_bytes <= fused_in_place.SHARED_BYTES, (rows, columns, anchor)
                    assert along.before % 4 == along.window % 4 == 0
                    assert along.shift + along.across + (columns - 1) * channels <= along.window
                    assert (along.lanes - 1) * along.across + along.window <= along.tile_samples
                    assert along.lanes * along.across == 128
                    rings += shape.is_ring
                    # The next step of a ring needs no row that it does not have or load, and no piece
                    # of rows lies across its end.
                    assert shape.tile_rows >= rows - 1 + shape.step_rows
                    assert (
                        not shape.is_ring
                        or shape.lot_rows % shape.warp_rows == shape.tile_rows % shape.rows == 0
                    )
            assert bool(rings) == (size > 9)


@pytest.mark.parametrize("dtype", ["uint8", "float32"])
def test_that_a_ring_of_filtered_rows_fits_shared_memory_for_every_mask_up_to_63(dtype):
    for channels in [1, 2, 3, 4]:
        for rows, columns in itertools.product((1, 15, 33, 34, 63), range(1, 64)):
            for anchor in {0, columns // 2, columns - 1}:
                problem = Problem(4096, 4096, channels, dtype, (rows, columns), (rows // 2, anchor))
                shape = ring_shape(problem)
                assert shape.shared_bytes <= SHARED_BYTES, (rows, columns, anchor)
                # A thread's window ends within the row, and no piece of rows lies across the ring's end.
                assert shape.out_samples - shape.results + shape.along.read <= shape.pitch
                assert shape.ring_rows % shape.rows == 0
                assert shape.ring_rows >= shape.step_rows + rows - 1
                # Each thread filters a part of one row along itself.
                assert shape.lot_rows == shape.round_rows == shape.step_rows
                assert rows_of(problem, shape) % shape.step_rows == 0


def test_that_multiply_adds_grow_with_the_side_only():
    few, many = (VARIANT.work(problem_of(4096, 4096, gaussian(side)), BLOCK) for side in (5, 15))
    assert many.flops < 4 * few.flops
    assert many.picture_loads < 2 * 4096 * 4096


IN_PLACE = {
    "wide": ((2, 45, 3), 2, 31, (1, 30), Border.CONSTANT),
    "two blocks across, one mask row": ((3, 130, 1), 1, 17, (0, 0), Border.REFLECT),
    "two blocks down": ((35, 5, 1), 4, 7, (3, 0), Border.CONSTANT),
    "ring, three steps": ((70, 3, 1), 27, 2, None, Border.CONSTANT),
    "ring, highest": ((34, 3, 1), 33, 2, (32, 0), Border.ZERO),
    "ring, two steps a strip, the second strip of one row": ((65, 3, 1), 27, 2, None, Border.REFLECT),
}
# Several lots per strip, and more than one strip.
IN_RINGS = {
    "high": ((18, 5, 1), 63, 2, None, Border.MIRROR),
    "high, three channels": ((3, 2, 3), 63, 3, (62, 2), Border.WRAP),
    "strips": ((66, 5, 1), 37, 5, None, Border.CONSTANT),
    "two blocks across": ((20, 70, 1), 3, 31, (0, 30), Border.MIRROR),
    "strips of bytes": ((40, 5, 3), 63, 2, None, Border.REFLECT),
    "wide": ((20, 2, 2), 2, 63, None, Border.ZERO),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "cases"), [*((name, IN_PLACE) for name in IN_PLACE), *((name, IN_RINGS) for name in IN_RINGS)]
)
def test_that_large_masks_agree_with_oracle_and_model(name, cases, monkeypatch):
    # Else only large pictures take several steps per block.
    steps = 2 if "two steps" in name else 8
    monkeypatch.setattr(fused_in_place, "MULTIPROCESSORS", 0)
    monkeypatch.setattr(fused_in_place, "rows_of_strips", lambda *_, step: steps * step)
    picture, rows, columns, anchor, border = cases[name]
    dtype = "uint8" if "bytes" in name else "float32"
    image = emitted.RANDOM.uniform(0, 255, picture).astype(dtype)
    if cases is IN_RINGS:
        monkeypatch.setattr(fused_in_place, "MOST_RING_ROWS", 0)
        monkeypatch.setattr(fused_ring, "rows_of_strips", lambda *_, step, least: step)
        if dtype == "float32" and picture[0] > 18:
            image[3, 1, 0], image[17, 1, 0] = np.nan, np.inf
    mask = product(rows, columns, anchor)
    check_executed(VARIANT, describe_problem(image, mask, border, 2.5), mask, image)


def written_down(shape):
    """Return the multiply-adds in the code of a column filter, those of its loop once."""
    rounds, round_rows = rounds_of(shape)
    loop = rounds * round_rows
    written = sum(
        0 <= j - i < shape.mask_rows
        for j in range(shape.rows + shape.mask_rows - 1)
        if not shape.rows <= j < shape.rows + loop
        for i in range(shape.rows)
    )
    return VECTOR * (written + (shape.rows * round_rows if loop else 0))


@pytest.mark.slow
@emitted.needs_nvvm
@pytest.mark.parametrize(
    ("side", "dtype", "channels"),
    [
        (5, "float32", 1), (13, "float32", 2), (15, "uint8", 3), (27, "float32", 3), (31, "uint16", 1),
        (63, "float32", 4),
    ],
)  # fmt: skip
def test_that_loads_and_stores_are_whole_vectors(side, dtype, channels):
    mask = product(side, side)
    problem = problem_of(5000, 7000, mask, channels, dtype)
    ptx, shape, ring = emitted.ptx_of(VARIANT, problem, mask), in_place_shape(problem), ring_shape(problem)
    if dtype == "float32":
        assert re.search(r"cp\.async\.ca\.shared\.global \[%r\d+\+0\], \[%rd\d+\+0\], 16;", ptx)
        pending = {"0", "1"} if shape and shape.is_ring else {"0"}
        assert set(re.findall(r"cp\.async\.wait_group (\d+);", ptx)) == pending
    assert "ld.shared.v4.f32" in ptx
    assert "ld.const" in ptx
    # Else neighbouring threads store neighbouring samples.
    assert ("st.global.v4.f32" in ptx) == bool(shape)
    if shape:
        # The compiler may write the loop over the rows of a warp out.
        rows, rest = divmod(emitted.multiply_adds(ptx) - written_down(shape.down), shape.along.across * side)
        assert rest == 0
        assert 1 <= rows <= 8
    else:
        written = side if side <= 50 else 16 + 15
        assert emitted.multiply_adds(ptx) == written * (ring.results + ring.rows)


@pytest.mark.slow
@emitted.needs_nvvm
@pytest.mark.parametrize("capability", [(7, 5), (8, 6), (9, 0)], ids=str)
@pytest.mark.parametrize(("side", "dtype", "channels"), [(47, "float32", 1), (63, "uint8", 3)])
def test_that_windows_of_a_ring_of_filtered_rows_are_read_by_vectors(
    side, dtype, channels, capability, monkeypatch
):
    monkeypatch.setattr(fused_in_place, "MOST_RING_ROWS", 0)
    mask = product(side, side)
    problem = problem_of(4096, 4096, mask, channels, dtype)
    ptx, shape = emitted.ptx_of(VARIANT, problem, mask, capability), ring_shape(problem)
    assert "ld.shared.v4.f32" in ptx
    # A round of the loop, and what comes after its last one.
    written = side if side * 16 <= 800 else 16 + 15
    assert ptx.count("fma.rn.f32") == written * (shape.results + shape.rows)
