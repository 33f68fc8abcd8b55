"""`separable-fused`: its refusals, its shapes, large masks by its own source, and the emitted code."""

import re

import numpy as np
import pytest

from engine.device.numba_cuda import cuda, missing
from engine.errors import UnsupportedVariant
from engine.geometry.block import Block, Limits
from engine.geometry.border import Border
from engine.mask.generators import gaussian
from engine.mask.mask import Mask
from engine.run.resolve import describe_problem
from engine.tasks.filtering.agreement import verify
from engine.tasks.filtering.problem import Problem
from engine.variants.separable_fused import fused_in_place
from engine.variants.separable_fused.fused_in_place import in_place_shape
from engine.variants.separable_fused.fused_ring import ring_shape
from engine.variants.separable_fused.separable_fused import VARIANT
from tests.engine.variants.counting import count

BLOCK = VARIANT.default_block
RANDOM = np.random.default_rng(17)


def product(rows: int, columns: int, anchor: tuple[int, int] | None = None) -> Mask:
    """Return a mask of rank 1 without a zero."""
    return Mask(np.outer(RANDOM.uniform(0.1, 1, rows), RANDOM.uniform(0.1, 1, columns)), anchor)


def problem_of(height: int, width: int, mask: Mask, channels: int = 1, dtype: str = "float32") -> Problem:
    return Problem(height, width, channels, dtype, mask.shape, mask.anchor)


@pytest.mark.parametrize("shape", [(64, 1), (1, 64), (127, 1)])
def test_that_a_mask_over_63_is_refused_with_what_would_do(shape: tuple[int, int]) -> None:
    mask = Mask(np.ones(shape))
    refusal = VARIANT.unsupported(problem_of(50, 50, mask), mask, BLOCK, Limits())
    assert refusal is not None
    assert f"A mask of {shape[0]} x {shape[1]}" in refusal.reason
    assert "up to 63 rows and columns. Use separable-l1 or separable-l0." in refusal.reason


def test_that_a_mask_that_is_no_product_is_refused_and_has_no_passes() -> None:
    mask = Mask([[1, 2], [3, 4]])
    refusal = VARIANT.unsupported(problem_of(50, 50, mask), mask, BLOCK, Limits())
    assert refusal is not None
    assert "one column times one row" in refusal.reason
    with pytest.raises(UnsupportedVariant, match="two passes"):
        VARIANT.passes(problem_of(50, 50, mask), mask, BLOCK)


def test_that_a_device_with_little_shared_memory_is_refused_in_words() -> None:
    mask = gaussian(31)
    refusal = VARIANT.unsupported(problem_of(99, 99, mask), mask, BLOCK, Limits(shared_bytes=16_384))
    assert refusal is not None
    assert "bytes of shared memory for its rows; a block has 16,384" in refusal.reason


@pytest.mark.parametrize("side", [3, 63])
def test_that_a_picture_may_be_as_high_as_it_likes(side: int) -> None:
    mask = gaussian(side)
    for height in (65_535 * 32, 65_535 * 32 + 1, 2**24):
        problem = problem_of(height, 3, mask)
        assert VARIANT.unsupported(problem, mask, BLOCK, Limits()) is None
        (launch,) = VARIANT.plan(problem, BLOCK)
        assert launch.grid[1] <= 65_535


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float32"])
@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_that_no_mask_of_rank_1_up_to_63_is_refused_whatever_its_anchor(channels: int, dtype: str) -> None:
    for rows in (1, 2, 9, 15, 26, 27, 33, 34, 47, 63):
        for columns in (1, 2, 9, 15, 26, 33, 34, 47, 62, 63):
            for column in {0, columns // 2, columns - 1}:
                mask = Mask(np.ones((rows, columns)), (rows // 2, column))
                for size in (9, 4096):
                    problem = problem_of(size, size, mask, channels, dtype)
                    assert VARIANT.unsupported(problem, mask, BLOCK, Limits()) is None


@pytest.mark.parametrize("dtype", ["uint8", "float32"])
@pytest.mark.parametrize("channels", [1, 2, 3, 4])
@pytest.mark.parametrize("size", [9, 4096])
def test_that_rows_filtered_in_place_fit_shared_memory_and_end_within_the_tile(
    size: int, channels: int, dtype: str
) -> None:
    rings = 0
    for rows in (1, 2, 9, 15, 31, 33, 34, 63):
        for columns in range(1, 64):
            for anchor in {0, columns // 2, columns - 1}:
                shape = in_place_shape(
                    Problem(size, size, channels, dtype, (rows, columns), (rows // 2, anchor))
                )
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
                # The next step of a ring needs no row that it does not have or load, and no piece of rows lies across its end.
                least = rows - 1 + shape.step_rows
                assert shape.tile_rows >= least
                assert (
                    not shape.is_ring or shape.lot_rows % shape.warp_rows == shape.tile_rows % shape.rows == 0
                )
    assert bool(rings) == (size > 9)


def test_that_the_block_of_the_request_does_not_matter() -> None:
    mask = gaussian(5)
    problem = problem_of(40, 300, mask)
    assert VARIANT.plan(problem, Block(7, 3)) == VARIANT.plan(problem, BLOCK)
    assert VARIANT.unsupported(problem, mask, Block(0, 0), Limits()) is None
    assert not VARIANT.uses_block


def test_that_multiply_adds_grow_with_the_side_and_not_with_the_cells() -> None:
    few, many = (VARIANT.work(problem_of(4096, 4096, gaussian(side)), BLOCK).flops for side in (5, 15))
    assert many < 4 * few
    assert VARIANT.work(problem_of(4096, 4096, gaussian(15)), BLOCK).picture_loads < 2 * 4096 * 4096


@pytest.mark.parametrize(
    ("height", "width", "channels", "rows", "columns", "anchor", "border"),
    [
        (18, 5, 1, 63, 2, None, Border.MIRROR),
        (3, 2, 3, 63, 3, (62, 2), Border.WRAP),
        (3, 2, 1, 50, 3, None, Border.ZERO),
        (2, 45, 3, 2, 31, (1, 30), Border.CONSTANT),
        (3, 130, 1, 1, 17, (0, 0), Border.REFLECT),
        (35, 5, 1, 4, 7, (3, 0), Border.CONSTANT),
        (2, 3, 1, 33, 2, (11, 1), Border.MIRROR),
        (70, 3, 1, 27, 2, None, Border.CONSTANT),
        (34, 3, 1, 33, 12, (32, 0), Border.WRAP),
    ],
    ids=[
        "ring of filtered rows",
        "ring of filtered rows, three channels",
        "ring of filtered rows, high",
        "in place, wide",
        "in place, two blocks across, one mask row",
        "in place, two blocks down",
        "in place, high",
        "ring, three steps",
        "ring, highest",
    ],
)
def test_that_large_masks_agree_and_are_counted(
    height: int,
    width: int,
    channels: int,
    rows: int,
    columns: int,
    anchor: tuple[int, int] | None,
    border: Border,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Else only large pictures take several steps a block.
    monkeypatch.setattr(fused_in_place, "BLOCKS_AT_ONCE", 1)
    check_that_results_agree_and_are_counted(
        (height, width, channels), product(rows, columns, anchor), border
    )


def test_that_a_ring_ends_where_the_strip_below_begins_or_the_picture_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fused_in_place, "BLOCKS_AT_ONCE", 1)
    monkeypatch.setattr(fused_in_place, "MOST_STEPS", 2)
    # Strips of two steps: the second one has a single row.
    check_that_results_agree_and_are_counted((65, 3, 1), product(27, 2), Border.REFLECT)


def check_that_results_agree_and_are_counted(
    picture: tuple[int, int, int], mask: Mask, border: Border
) -> None:
    image = RANDOM.uniform(0, 255, picture).astype(np.float32)
    problem = describe_problem(image, mask, border, 2.5)
    counts = count(VARIANT, problem, mask, BLOCK, image)
    verification = verify(np.ascontiguousarray(counts.out), image, mask, problem)
    assert verification.passed, verification.reason
    model = VARIANT.work(problem, BLOCK)
    assert model.picture_loads == counts.picture_loads
    assert (model.shared_loads, model.shared_stores) == (counts.shared_loads, counts.shared_stores)
    assert model.constant_loads == counts.constant_loads
    assert model.flops == 2 * counts.multiplications


@pytest.mark.nvvm
@pytest.mark.skipif(bool(missing), reason=missing or "numba-cuda is there")
@pytest.mark.parametrize(
    ("side", "dtype", "channels"),
    [
        (5, "float32", 1),
        (13, "float32", 2),
        (15, "uint8", 3),
        (27, "float32", 3),
        (31, "uint16", 1),
        (63, "float32", 4),
    ],
)
def test_that_loads_and_stores_are_whole_vectors_and_local_memory_is_not_used(
    side: int, dtype: str, channels: int
) -> None:
    mask = product(side, side)
    problem = problem_of(5000, 7000, mask, channels, dtype)
    (step,) = VARIANT.passes(problem, mask, BLOCK)
    ptx, _ = cuda.compile_ptx(step.kernel.py_func, step.signature, cc=(9, 0))
    shape, ring = in_place_shape(problem), ring_shape(problem)
    if dtype == "float32":
        assert re.search(r"cp\.async\.ca\.shared\.global \[%r\d+\+0\], \[%rd\d+\+0\], 16;", ptx)
        pending = {0, 1} if shape and shape.is_ring else {0}
        assert set(re.findall(r"cp\.async\.wait_group (\d+);", ptx)) == {str(count) for count in pending}
    assert "ld.shared.v4.f32" in ptx
    # Else neighbouring threads store neighbouring samples.
    assert ("st.global.v4.f32" in ptx) == bool(shape)
    assert "ld.const" in ptx
    assert re.findall(r"__local_depot|\b(?:ld|st)\.local", ptx) == []
    multiply_adds = ptx.count("fma.rn.f32") + ptx.count("mul.f32")
    if shape:
        # The compiler may write the loop over the rows of a warp out.
        rows, rest = divmod(multiply_adds - shape.down.written, shape.along.across * side)
        assert rest == 0
        assert 1 <= rows <= 8
    else:
        written = side if side <= 50 else 16 + 15
        assert multiply_adds == written * (ring.results + ring.rows)
