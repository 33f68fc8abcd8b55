"""The ring of `separable-fused`: its shapes, where strips meet, and the emitted code."""

import re

import numpy as np
import pytest

from engine.device.numba_cuda import cuda, missing
from engine.geometry.border import Border
from engine.mask.mask import Mask
from engine.run.resolve import describe_problem
from engine.tasks.filtering.agreement import verify
from engine.tasks.filtering.problem import Problem
from engine.variants.box.box_shape import SHARED_BYTES
from engine.variants.separable_fused import fused_in_place, fused_ring
from engine.variants.separable_fused.fused_ring import ring_shape, strip_rows
from engine.variants.separable_fused.separable_fused import VARIANT
from tests.engine.variants.counting import count

RANDOM = np.random.default_rng(19)


@pytest.fixture(autouse=True)
def ring_for_every_mask(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fused_in_place, "MOST_RING_ROWS", 0)


def product(rows: int, columns: int, anchor: tuple[int, int] | None = None) -> Mask:
    """Return a mask of rank 1 without a zero."""
    return Mask(np.outer(RANDOM.uniform(0.1, 1, rows), RANDOM.uniform(0.1, 1, columns)), anchor)


@pytest.mark.parametrize("dtype", ["uint8", "float32"])
@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_that_every_mask_up_to_63_fits_shared_memory_whatever_its_anchor(channels: int, dtype: str) -> None:
    for rows in (1, 15, 33, 34, 63):
        for columns in range(1, 64):
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
                assert strip_rows(problem, shape) % shape.step_rows == 0


@pytest.mark.parametrize(("channels", "rows"), [(1, 416), (3, 320)])
def test_that_the_blocks_of_a_large_picture_are_done_in_one_or_two_waves(channels: int, rows: int) -> None:
    mask = product(*((63, 63) if channels == 1 else (31, 31)))
    problem = Problem(4096, 4096, channels, "float32", mask.shape, mask.anchor)
    assert strip_rows(problem, ring_shape(problem)) == rows


def test_that_strips_are_as_high_as_the_grid_needs() -> None:
    problem = Problem(16_000_000, 2, 1, "float32", (40, 1), (0, 0))
    shape = ring_shape(problem)
    (launch,) = VARIANT.plan(problem, VARIANT.default_block)
    assert launch.grid[1] <= 65_535
    assert launch.grid[1] * strip_rows(problem, shape) >= 16_000_000


@pytest.mark.parametrize(
    ("picture", "dtype", "rows", "columns", "anchor", "border"),
    [
        ((66, 5, 1), "float32", 37, 5, None, Border.CONSTANT),
        ((20, 70, 1), "float32", 3, 31, (0, 30), Border.MIRROR),
        ((34, 5, 3), "float32", 33, 3, (32, 0), Border.WRAP),
        ((40, 5, 3), "uint8", 63, 2, None, Border.REFLECT),
        ((20, 2, 4), "float32", 2, 63, None, Border.ZERO),
        ((20, 70, 1), "uint16", 1, 17, None, Border.ZERO),
    ],
    ids=["strips", "two blocks across", "channels", "strips of bytes", "wide", "one mask row"],
)
def test_that_results_agree_and_are_counted(
    picture: tuple[int, int, int],
    dtype: str,
    rows: int,
    columns: int,
    anchor: tuple[int, int] | None,
    border: Border,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Several lots a strip, and more than one strip.
    monkeypatch.setattr(fused_ring, "MULTIPROCESSORS", 1)
    mask, image = product(rows, columns, anchor), RANDOM.uniform(0, 255, picture).astype(dtype)
    if dtype == "float32":
        image[3, 1, 0], image[17, 1, 0] = np.nan, np.inf
    problem = describe_problem(image, mask, border, 2.5)
    counts = count(VARIANT, problem, mask, VARIANT.default_block, image)
    verification = verify(np.ascontiguousarray(counts.out), image, mask, problem)
    assert verification.passed, verification.reason
    model = VARIANT.work(problem, VARIANT.default_block)
    assert model.picture_loads == counts.picture_loads
    assert (model.shared_loads, model.shared_stores) == (counts.shared_loads, counts.shared_stores)
    assert model.constant_loads == counts.constant_loads
    assert model.flops == 2 * counts.multiplications


@pytest.mark.nvvm
@pytest.mark.skipif(bool(missing), reason=missing or "numba-cuda is there")
@pytest.mark.parametrize("capability", [(7, 5), (8, 6), (9, 0)], ids=str)
@pytest.mark.parametrize(("side", "dtype", "channels"), [(47, "float32", 1), (63, "uint8", 3)])
def test_that_windows_are_read_by_vectors_and_local_memory_is_not_used(
    side: int, dtype: str, channels: int, capability: tuple[int, int]
) -> None:
    mask = product(side, side)
    problem = Problem(4096, 4096, channels, dtype, mask.shape, mask.anchor)
    (step,) = VARIANT.passes(problem, mask, VARIANT.default_block)
    shape = ring_shape(problem)
    ptx, _ = cuda.compile_ptx(step.kernel.py_func, step.signature, cc=capability)
    assert re.findall(r"__local_depot|\b(?:ld|st)\.local", ptx) == []
    assert "ld.shared.v4.f32" in ptx
    # A round of the loop, and what comes after its last one.
    written = side if side * 16 <= 800 else 16 + 15
    assert ptx.count("fma.rn.f32") == written * (shape.results + shape.rows)
