"""The emitted multiply-adds, compiled for this machine's processor: the very builder that makes the CUDA code."""

import math

import numpy as np
import pytest
from numba import njit, types
from numba.extending import intrinsic

from engine.variants.cuda.register_blocked import tile_shape
from engine.variants.emit.cuda_accumulator import MaskWalk, accumulator
from engine.variants.emit.register_tile_shape import TileShape

RANDOM = np.random.default_rng(11)
SHAPES = [tile_shape((side, side), side // 2, 1, 4) for side in (1, 2, 3, 5, 9, 13, 31)]
SHAPES += [tile_shape((5, 7), 0, channels, 1) for channels in (2, 3, 4)]


def on_the_processor(shape: TileShape, is_one_chain: bool):
    """Return a function of (cells, weights), flat float32, that runs the emitted walk on this machine."""
    count = shape.rows * shape.across

    @intrinsic
    def walk(typingctx, cells, weights):
        signature = types.UniTuple(types.float32, count)(cells, weights)

        def codegen(context, builder, signature, arguments):
            pointers = [
                context.make_array(kind)(context, builder, value).data
                for kind, value in zip(signature.args, arguments, strict=True)
            ]
            return context.make_tuple(
                builder, signature.return_type, MaskWalk(shape, builder, *pointers, is_one_chain).emit()
            )

        return signature, codegen

    return njit(lambda cells, weights: walk(cells, weights))


@pytest.mark.parametrize("is_one_chain", [False, True], ids=["a sum a row", "one chain"])
@pytest.mark.parametrize("shape", SHAPES, ids=lambda s: f"{s.mask_rows}x{s.mask_columns}x{s.channels}")
def test_that_the_emitted_walk_gives_each_result_its_correlation(
    shape: TileShape, is_one_chain: bool
) -> None:
    tile = RANDOM.standard_normal((shape.rows + shape.mask_rows - 1, shape.tile_samples)).astype(np.float32)
    mask = RANDOM.standard_normal((shape.mask_rows, shape.weight_pitch)).astype(np.float32)
    sums = on_the_processor(shape, is_one_chain)(tile.ravel(), mask.ravel())
    for place, got in enumerate(sums):
        i, k = divmod(place, shape.across)
        first = shape.shift + k
        last = first + shape.mask_columns * shape.channels
        cells = tile[i : i + shape.mask_rows, first : last : shape.channels].astype(np.float64)
        terms = cells * mask[:, : shape.mask_columns].astype(np.float64)
        n = terms.size
        unit = 2.0**-24
        bound = (n + 2) * unit / (1 - (n + 2) * unit) * np.abs(terms).sum()
        assert abs(got - math.fsum(terms.ravel())) <= bound


def test_that_the_emitted_walk_and_its_plain_twin_agree_on_whole_numbers() -> None:
    shape = tile_shape((13, 13), 6, 1, 4)
    tile = RANDOM.integers(-50, 50, (shape.rows + 12) * shape.tile_samples).astype(np.float32)
    mask = RANDOM.integers(-9, 9, (13, shape.weight_pitch)).astype(np.float32)
    emitted = on_the_processor(shape, False)(tile, mask.ravel())
    plain = accumulator(shape).py_func(tile, 0, mask)
    assert [float(value) for value in emitted] == [float(value) for value in plain]


def test_that_nan_and_infinity_reach_exactly_the_results_that_they_lie_under() -> None:
    shape = tile_shape((3, 3), 1, 1, 4)
    tile = np.ones((shape.rows + 2, shape.tile_samples), np.float32)
    tile[2, shape.shift + 2] = np.nan
    mask = np.zeros(shape.weights, np.float32)
    sums = np.array(on_the_processor(shape, False)(tile.ravel(), mask)).reshape(shape.rows, shape.across)
    # 0 x NaN is NaN: rows 0 to 2 and samples 0 to 2 have that cell under their mask.
    wanted = np.zeros((shape.rows, shape.across), bool)
    wanted[:3, :3] = True
    assert np.array_equal(np.isnan(sums), wanted)
