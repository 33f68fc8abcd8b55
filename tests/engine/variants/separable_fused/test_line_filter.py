"""The emitted filter of neighbouring windows of a line, compiled for this machine's processor: the builder that makes the CUDA code."""

import math

import numpy as np
import pytest
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from engine.variants.box.cuda_window_sums import ColumnWindows, RowWindows
from engine.variants.box.window_sums import Windows
from engine.variants.ir.cuda_ir import F32, constant, moved
from engine.variants.ir.register_tile import VECTOR
from engine.variants.separable_fused import cuda_line_filter
from engine.variants.separable_fused.cuda_line_filter import (
    ROUND_WEIGHTS,
    Weighing,
    column_loader,
    column_weigher,
    emit_line,
    row_loader,
    row_weigher,
)

RANDOM = np.random.default_rng(31)
START = 3.0
ROWS = [
    RowWindows(Windows(length, apart, 16), shift)
    for length, apart, shift in ((1, 1, 0), (27, 1, 3), (12, 3, 1))
]
ROWS += [RowWindows(Windows(63, apart, 16), shift) for apart, shift in ((1, 1), (3, 2), (4, 0))]
COLUMNS = [
    ColumnWindows(rows, count, 1, 12, ring)
    for rows, count, ring in ((27, 16, 48), (63, 16, 96), (63, 16, 80))
]
# All weights one after another; or a loop of many rounds.
MOST = [5000, 100]


def on_the_processor(weighing: Weighing, load_of, width: int, shift: int):
    """Return a function of (cells, weights), flat float32, that runs the emitted code on this machine."""

    @intrinsic
    def filtered(typingctx, cells, weights):
        signature = types.UniTuple(types.float32, weighing.windows.count)(cells, weights)

        def codegen(context, builder, signature, arguments):
            cells, weights = (
                context.make_array(kind)(context, builder, value).data
                for kind, value in zip(signature.args, arguments, strict=True)
            )
            start = ir.Constant(F32, START)
            results = emit_line(weighing, builder, load_of(builder, cells), width, shift, weights, start)
            return context.make_tuple(builder, signature.return_type, results)

        return signature, codegen

    return njit(lambda cells, weights: filtered(cells, weights))


def along_on_the_processor(row: RowWindows):
    step = ROUND_WEIGHTS * row.windows.apart
    return on_the_processor(
        Weighing(row.windows, ROUND_WEIGHTS),
        lambda builder, cells: row_loader(builder, cells, step),
        VECTOR,
        row.shift,
    )


def down_on_the_processor(down: ColumnWindows, first: int, column: int):
    return on_the_processor(
        Weighing(down.windows, down.rows),
        lambda builder, cells: column_loader(
            down, builder, moved(builder, cells, 8), constant(first), constant(column)
        ),
        1,
        0,
    )


def check(got: tuple[float, ...], cells: np.ndarray, weights: np.ndarray, first: int, apart: int) -> None:
    """Compare with exact sums; `cells` is the line from its first cell on."""
    unit = 2.0**-24
    bound = (weights.size + 1) * unit / (1 - (weights.size + 1) * unit)
    for place, value in enumerate(got):
        line = cells[first + place :: apart][: weights.size]
        terms = [START, *(line.astype(np.float64) * weights)]
        assert abs(value - math.fsum(terms)) <= bound * math.fsum(map(abs, terms))


@pytest.mark.parametrize("most", MOST)
@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.windows} {row.shift}")
def test_that_each_result_along_a_row_is_the_sum_over_its_window(
    row: RowWindows, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cuda_line_filter, "MOST_UNROLLED", most)
    # No more cells than it may read.
    cells = RANDOM.standard_normal(row.read).astype(np.float32)
    weights = RANDOM.standard_normal(row.windows.length).astype(np.float32)
    got = along_on_the_processor(row)(cells, weights)
    check(got, cells, weights, row.shift, row.windows.apart)


@pytest.mark.parametrize("most", MOST)
@pytest.mark.parametrize("down", COLUMNS, ids=lambda down: f"{down.mask_rows} {down.rows} {down.ring_rows}")
def test_that_each_result_down_a_ring_is_the_sum_over_its_column(
    down: ColumnWindows, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cuda_line_filter, "MOST_UNROLLED", most)
    ring = RANDOM.standard_normal((down.ring_rows, down.pitch)).astype(np.float32)
    weights = RANDOM.standard_normal(down.mask_rows).astype(np.float32)
    cells = np.concatenate([np.full(8, np.nan, np.float32), ring.ravel()])
    for first in (0, down.rows, down.ring_rows - down.rows):
        got = down_on_the_processor(down, first, 5)(cells, weights)
        check(got, np.roll(ring[:, 5], -first), weights, 0, 1)


def test_that_the_emitted_code_and_its_plain_twin_agree_on_whole_numbers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cuda_line_filter, "MOST_UNROLLED", MOST[1])
    for row in ROWS:
        cells = RANDOM.integers(-50, 50, row.read).astype(np.float32)
        weights = RANDOM.integers(-9, 9, row.windows.length).astype(np.float32)
        twin = row_weigher(row, 100)
        plain = getattr(twin, "py_func", twin)(cells, 0, weights.reshape(1, -1))
        emitted = along_on_the_processor(row)(cells, weights)
        assert [float(value) - START for value in emitted] == [float(value) for value in plain]
    for down in COLUMNS:
        cells = RANDOM.integers(-50, 50, 8 + down.ring_rows * down.pitch).astype(np.float32)
        weights = RANDOM.integers(-9, 9, down.mask_rows).astype(np.float32)
        twin = column_weigher(down, 8, 0, 100)
        plain = getattr(twin, "py_func", twin)(cells, down.rows, 5, weights.reshape(-1, 1), START)
        emitted = down_on_the_processor(down, down.rows, 5)(cells, weights)
        assert [float(value) for value in emitted] == [float(value) for value in plain]
