"""The emitted march down a strip, compiled for this machine's processor: the very builder that makes the CUDA code."""

import math

import numpy as np
import pytest
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from engine.variants.register_blocked.cuda_accumulator import window_pointers
from engine.variants.separable_fused.fused_strips import march_shape
from engine.variants.strips.cuda_march import March, marcher, none_waiting
from engine.variants.strips.march_shape import LANES, MarchShape

RANDOM = np.random.default_rng(12)
LANE = 7
SHAPES = [march_shape((side, side), side // 2, 1, 1) for side in (1, 2, 3, 5, 15, 31)]
SHAPES += [march_shape((5, 7), 0, channels, 1) for channels in (2, 3, 4)]
SHAPES += [march_shape((1, 63), 62, 1, 1), march_shape((33, 1), 0, 1, 1)]
SHAPES += [march_shape((9, 9), 4, 1, 2), march_shape((31, 8), 3, 3, 3)]


def name_of(shape: MarchShape) -> str:
    along = shape.along
    return f"{shape.mask_rows}x{along.mask_columns}x{along.channels}, {shape.rank} terms"


def on_the_processor(shape: MarchShape):
    """Return a function of (cells of a group, what waits, weights) that runs the emitted code on this machine."""
    made = types.UniTuple(types.float32, 4 * shape.group_rows + shape.kept)

    @intrinsic
    def march(typingctx, cells, waiting, weights):
        def codegen(context, builder, signature, arguments):
            cells, waiting, weights = (
                context.make_array(kind)(context, builder, value).data
                for kind, value in zip(signature.args, arguments, strict=True)
            )
            lane = ir.Constant(ir.IntType(32), LANE)
            pointers = window_pointers(builder, shape.along, cells, lane)
            places = [ir.Constant(ir.IntType(64), place) for place in range(shape.kept)]
            sums = [builder.load(builder.gep(waiting, [place])) for place in places]
            results, waits = March(shape, builder, pointers, weights).emit(sums)
            return context.make_tuple(builder, made, [*results, *waits])

        return made(cells, waiting, weights), codegen

    return njit(lambda cells, waiting, weights: march(cells, waiting, weights))


def marched(shape: MarchShape, tile: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Return the results that each input row of a tile completes for one lane, group after group."""
    weights = np.zeros(shape.weights, np.float32)
    for term, row in enumerate(rows):
        weights[term * shape.along.weight_pitch :][: row.size] = row
    weights[shape.down_at :][: columns.size] = columns.ravel()
    run = on_the_processor(shape)
    waiting, results = np.zeros(shape.kept, np.float32), []
    for group in tile.reshape(-1, shape.group_cells):
        made = np.array(run(group, waiting, weights), np.float32)
        results.append(made[: 4 * shape.group_rows])
        waiting = made[4 * shape.group_rows :]
    return np.concatenate(results).reshape(-1, 4)


@pytest.mark.parametrize("shape", SHAPES, ids=name_of)
def test_that_the_emitted_march_gives_each_result_its_correlation(shape: MarchShape) -> None:
    along = shape.along
    groups = shape.groups(5)
    tile = RANDOM.standard_normal((groups * shape.group_rows, along.tile_samples)).astype(np.float32)
    rows = RANDOM.standard_normal((shape.rank, along.mask_columns)).astype(np.float32)
    columns = RANDOM.standard_normal((shape.mask_rows, shape.rank)).astype(np.float32)
    results = marched(shape, tile, rows, columns)
    mask = columns.astype(np.float64) @ rows.astype(np.float64)
    most = np.abs(columns).astype(np.float64) @ np.abs(rows).astype(np.float64)
    roundings = along.mask_columns + shape.rank * shape.mask_rows + 1
    for top in range(len(tile) - shape.mask_rows + 1):
        for k in range(4):
            first = 4 * LANE + along.shift + k
            last = first + (along.mask_columns - 1) * along.channels + 1
            cells = tile[top : top + shape.mask_rows, first : last : along.channels].astype(np.float64)
            bound = roundings * 2.0**-24 * 1.0001 * (most * np.abs(cells)).sum()
            wanted = math.fsum((mask * cells).ravel())
            # A row of results is complete with the last input row under its mask.
            assert abs(results[top + shape.mask_rows - 1, k] - wanted) <= bound


@pytest.mark.parametrize("shape", [SHAPES[3], SHAPES[-2], SHAPES[0]], ids=name_of)
def test_that_the_emitted_march_and_its_plain_twin_agree_on_whole_numbers(shape: MarchShape) -> None:
    tile = RANDOM.integers(-50, 50, (4 * shape.group_rows, shape.along.tile_samples)).astype(np.float32)
    rows = RANDOM.integers(-9, 9, (shape.rank, shape.along.mask_columns)).astype(np.float32)
    columns = RANDOM.integers(-9, 9, (shape.mask_rows, shape.rank)).astype(np.float32)
    waiting, results = none_waiting(shape.kept).py_func(), []
    for group in range(4):
        march = marcher(shape).py_func
        made, waiting = march(tile.ravel(), group * shape.group_cells, LANE, waiting, rows, columns)
        results += made
    emitted = marched(shape, tile, rows, columns)
    assert [float(value) for value in results] == emitted.ravel().tolist()


def test_that_nan_reaches_exactly_the_results_that_it_lies_under_and_no_longer_waits_then() -> None:
    shape = march_shape((3, 3), 1, 1, 1)
    tile = np.ones((8, shape.along.tile_samples), np.float32)
    tile[3, 4 * LANE + shape.along.shift + 2] = np.nan
    results = marched(shape, tile, np.zeros((1, 3), np.float32), np.zeros((3, 1), np.float32))
    # 0 x NaN is NaN: input rows 3 to 5 complete the results that have row 3 under their mask.
    wanted = np.zeros((8, 4), bool)
    wanted[3:6, :3] = True
    assert np.array_equal(np.isnan(results), wanted)


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
@pytest.mark.parametrize("itemsize", [1, 2, 4])
def test_that_every_mask_a_thread_can_keep_fits_shared_memory_whatever_its_anchor(
    itemsize: int, channels: int
) -> None:
    for rows in (1, 3, 15, 33):
        for columns in range(1, 64):
            for anchor in {0, columns // 2, columns - 1}:
                for rank in (1, 2, 3):
                    shape = march_shape((rows, columns), anchor, channels, rank)
                    along = shape.along
                    assert shape.shared_bytes <= 48 * 1024, (rows, columns, anchor)
                    # A thread's window begins on a vector, ends within the row, and holds every sample it needs.
                    assert along.before % 4 == along.window % 4 == along.tile_samples % 4 == 0
                    assert along.shift + 4 + (columns - 1) * channels <= along.window
                    assert 4 * (LANES - 1) + along.window <= along.tile_samples
                    assert min(shape.ahead, shape.group_rows) >= 1
