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
from engine.variants.cuda import fused_strips
from engine.variants.cuda.fused_tiles import SHARED_BYTES, fused_shape
from engine.variants.cuda.separable_fused import VARIANT, in_strips
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
        (3, 2, 1, 34, 3, None, Border.ZERO),
        (2, 45, 3, 2, 31, (1, 30), Border.CONSTANT),
        (3, 130, 1, 1, 17, (0, 0), Border.REFLECT),
        (23, 5, 1, 4, 3, (3, 0), Border.CONSTANT),
        (2, 517, 1, 2, 3, None, Border.WRAP),
        (2, 3, 1, 13, 2, (11, 1), Border.MIRROR),
    ],
    ids=[
        "tiles, two blocks down",
        "tiles, one row at once",
        "tiles, fewest rows",
        "strips, wide",
        "two strips across, one mask row",
        "three strips down",
        "two blocks of strips across",
        "strips, most rows",
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
) -> None:
    mask = product(rows, columns, anchor)
    image = RANDOM.uniform(0, 255, (height, width, channels)).astype(np.float32)
    problem = describe_problem(image, mask, border, 2.5)
    counts = count(VARIANT, problem, mask, BLOCK, image)
    verification = verify(np.ascontiguousarray(counts.out), image, mask, problem)
    assert verification.passed, verification.reason
    model = VARIANT.work(problem, BLOCK)
    assert model.picture_loads == counts.picture_loads
    assert (model.shared_loads, model.shared_stores) == (counts.shared_loads, counts.shared_stores)
    assert model.constant_loads == counts.constant_loads
    assert model.flops == 2 * counts.multiplications


@pytest.mark.parametrize("side", [1, 5, 15, 31])
@pytest.mark.parametrize("size", [1, 7, 256, 1024, 4096, 16384])
def test_that_strips_cover_the_picture_and_filter_few_rows_twice_in_large_ones(size: int, side: int) -> None:
    mask = product(side, side)
    problem = problem_of(size, size, mask)
    launch, shape = fused_strips.launch_of(problem, 1), fused_strips.shape_of(problem, 1)
    rows = fused_strips.strip_rows(problem, shape)
    assert launch.grid[1] * rows >= size > (launch.grid[1] - 1) * rows
    assert launch.grid[0] * launch.block[1] * 128 >= size
    assert (rows + side - 1) % shape.group_rows == 0
    if size >= 4096:
        assert (side - 1) / rows <= 0.25
        assert launch.blocks * launch.block[1] >= 900


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
    problem = problem_of(500, 700, mask, channels, dtype)
    (step,) = VARIANT.passes(problem, mask, BLOCK)
    ptx, _ = cuda.compile_ptx(step.kernel.py_func, step.signature, cc=(9, 0))
    tiles, strips = fused_shape(mask.shape, mask.anchor[1], channels), fused_strips.shape_of(problem, 1)
    ahead = strips.ahead if in_strips(problem) else tiles.ahead
    if dtype == "float32":
        assert re.search(r"cp\.async\.ca\.shared\.global \[%r\d+\+0\], \[%rd\d+\+0\], 16;", ptx)
        assert set(re.findall(r"cp\.async\.wait_group (\d+);", ptx)) == {str(ahead - 1)}
    assert "ld.shared.v4.f32" in ptx
    assert "st.global.v4.f32" in ptx
    assert "ld.const" in ptx
    assert re.findall(r"__local_depot|\b(?:ld|st)\.local", ptx) == []
    in_code = 4 * 2 * side * strips.group_rows
    if not in_strips(problem):
        down = tiles.down
        written = side if side // down.unrolled_rows < 2 else side % down.unrolled_rows + down.unrolled_rows
        in_code = 4 * (tiles.along.rows * side + down.rows * written)
    else:
        # A warp that marches by itself waits for no other one.
        assert "bar.warp.sync" in ptx
        assert "bar.sync" not in ptx
    assert ptx.count("fma.rn.f32") + ptx.count("mul.f32") == in_code
