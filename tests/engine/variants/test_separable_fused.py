"""`separable-fused`: its refusals, its shapes, large masks by its own source, and the emitted code."""

import re

import numpy as np
import pytest

from engine.block import Block, Limits
from engine.border import Border
from engine.device.numba_cuda import cuda, missing
from engine.errors import UnsupportedVariant
from engine.mask.generators import gaussian
from engine.mask.mask import Mask
from engine.metrics.agreement import verify
from engine.problem import Problem
from engine.timing.request import describe_problem
from engine.variants.cuda import fused_in_place
from engine.variants.cuda.fused_in_place import in_place_shape
from engine.variants.cuda.fused_tiles import SHARED_BYTES, fused_shape
from engine.variants.cuda.separable_fused import VARIANT
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


def test_that_a_picture_higher_than_the_grid_is_refused_and_the_highest_is_not() -> None:
    mask = gaussian(63)
    most = 65_535 * fused_shape(mask.shape, 31, 1).down.out_rows
    assert VARIANT.unsupported(problem_of(most, 3, mask), mask, BLOCK, Limits()) is None
    refusal = VARIANT.unsupported(problem_of(most + 1, 3, mask), mask, BLOCK, Limits())
    assert refusal is not None
    assert f"more blocks down than CUDA allows; it takes up to {most:,}." in refusal.reason


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_that_every_mask_up_to_63_fits_shared_memory_whatever_its_anchor(channels: int) -> None:
    for rows in (1, 2, 3, 15, 32, 63):
        for columns in range(1, 64):
            for anchor in {0, columns // 2, columns - 1}:
                shape = fused_shape((rows, columns), anchor, channels)
                along, down = shape.along, shape.down
                assert shape.shared_bytes <= SHARED_BYTES, (rows, columns, anchor)
                # A thread's window begins on a vector, ends within the tile, and holds every sample it needs.
                assert along.before % 4 == along.window % 4 == 0
                assert along.shift + along.across + (columns - 1) * channels <= along.window
                assert 31 * along.across + along.window <= along.tile_samples
                # No more parts are under way before the first one is filtered than there are, and all of them are enough.
                assert shape.ahead <= shape.parts
                assert shape.parts * shape.part_rows >= down.out_rows + rows - 1
                assert down.unrolled_rows == rows or down.unrolled_rows % down.rows == 0


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
                    assert rows + columns * channels > 60
                    continue
                along = shape.along
                assert shape.shared_bytes <= SHARED_BYTES, (rows, columns, anchor)
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
        "tiles, two blocks down",
        "tiles, three channels",
        "tiles, few rows",
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
    shape, tiles = in_place_shape(problem), fused_shape(mask.shape, mask.anchor[1], channels)
    if dtype == "float32":
        assert re.search(r"cp\.async\.ca\.shared\.global \[%r\d+\+0\], \[%rd\d+\+0\], 16;", ptx)
        pending = {0} | ({1} if shape.is_ring else set()) if shape else {tiles.ahead - 1}
        assert set(re.findall(r"cp\.async\.wait_group (\d+);", ptx)) == {str(count) for count in pending}
    assert "ld.shared.v4.f32" in ptx
    assert "st.global.v4.f32" in ptx
    assert "ld.const" in ptx
    assert re.findall(r"__local_depot|\b(?:ld|st)\.local", ptx) == []
    multiply_adds = ptx.count("fma.rn.f32") + ptx.count("mul.f32")
    if shape:
        # The compiler may write the loop over the rows of a warp out.
        rows, rest = divmod(multiply_adds - shape.down.written, shape.along.across * side)
        assert rest == 0
        assert 1 <= rows <= 8
    else:
        down = tiles.down
        written = side if side // down.unrolled_rows < 2 else side % down.unrolled_rows + down.unrolled_rows
        assert multiply_adds == 4 * (tiles.along.rows * side + down.rows * written)
