"""Every way to multiply on every case against the oracle; its model of work against counts; its plan."""

import re

import pytest
from msgspec.structs import replace

import engine
from engine.device.launches import DeviceKind
from engine.geometry.block import Block, Limits
from engine.tasks.product.problem import MATMUL_VARIANTS, MatrixProduct, matmul_variant
from engine.tasks.product.task import as_matrix
from tests.engine.variants.executed import executed, observed
from tests.engine.variants.matmul.cases import CASES, check, compare
from tests.ptx import older

CUDA = [variant for variant in MATMUL_VARIANTS if variant.device is DeviceKind.CUDA]
NAIVE, TILED, NUMPY = (matmul_variant(key) for key in ("matmul-naive", "matmul-tiled", "numpy"))
every_cuda_variant = pytest.mark.parametrize("variant", CUDA, ids=lambda variant: variant.key)


def test_that_numpy_agrees_with_the_oracle():
    for case in CASES:
        check(NUMPY, case, "cpu")


@pytest.mark.slow
@every_cuda_variant
def test_that_every_cuda_variant_agrees_with_the_oracle_and_its_model_in_the_simulator(variant):
    for case in CASES:
        a, b = case.matrices()
        with older.numbas_part_kept(), observed(counted=True) as launches:
            result = engine.matmul(a, b, variant=variant.key, tile=case.tile, device="simulator")
            for ptx in older.checked(launches[0].step):
                assert "fma.rn.f32" in ptx
                assert ".const" not in ptx
                # Two barriers a phase, and phases may be unrolled.
                barriers = ptx.count("bar.sync")
                assert (barriers > 0, barriers % 2) == (variant is TILED, 0)
        compare(variant, case, result, as_matrix("A", a), as_matrix("B", b))
        model = variant.work(case.product, case.block)
        elements = case.rows * case.inner + case.inner * case.columns + case.product.values
        assert model.minimum_bytes == 4 * elements
        found = replace(executed(launches), minimum_bytes=model.minimum_bytes)
        assert found == model


def test_that_ratios_roundings_and_grid_are_those_of_the_lecture():
    for tile in [2, 7, 16, 32]:
        block, product = Block(tile, tile), MatrixProduct(4 * tile, 6 * tile, 2 * tile)
        assert [known.work(product, block).cgma for known in (NAIVE, TILED)] == [1.0, float(tile)]
        assert NUMPY.work(product, block) is None
        work = TILED.work(MatrixProduct(16, 16, 16), Block(16, 16))
        assert (work.global_loads, work.flops) == (512, 8192)
        long = MatrixProduct(3, 100, 3)
        assert NAIVE.roundings(long, block) == NUMPY.roundings(long, block) == 100
        assert TILED.roundings(long, block) == tile + -(-100 // tile) - 1
        assert TILED.roundings(MatrixProduct(3, 1, 3), block) == 1
        # No block is idle.
        for variant in CUDA:
            for rows, columns in ((1, 1), (tile, tile), (tile + 1, 3 * tile - 1), (97, 31)):
                (launch,) = variant.plan(MatrixProduct(rows, 5, columns), block)
                across, down, deep = launch.grid
                assert (across - 1) * tile < columns <= across * tile
                assert (down - 1) * tile < rows <= down * tile
                assert (deep, launch.block) == (1, (tile, tile, 1))
                assert launch.shared_bytes == (2 * tile * tile * 4 if variant is TILED else 0)


NINE, HIGH = MatrixProduct(9, 9, 9), MatrixProduct(131_071, 1, 1)


def test_that_an_illegal_tile_is_refused_with_the_nearest_legal_one():
    for variants, product, tile, limits, words, nearest in [
        (CUDA, NINE, 33, Limits(), "A tile of 33 is not a whole number from 2 to 32.", 32),
        (CUDA, NINE, 1, Limits(), "A tile of 1 is not a whole number from 2 to 32.", 2),
        (CUDA, NINE, 32, Limits(max_threads=512), "1,024 threads; the limit is 512", 22),
        (CUDA, NINE, 9, Limits(max_block_y=8), "the limit is 8 threads down", 8),
        (CUDA, HIGH, 2, Limits(), "65,536 blocks of 2 × 2 down; CUDA allows 65,535", 3),
        ([TILED], NINE, 32, Limits(shared_bytes=4000), "8,192 bytes of shared memory.*has 4,000", 22),
        ([TILED], NINE, 32, Limits(shared_bytes=16), "a block has 16", None),
    ]:
        for variant in variants:
            refusal = variant.unsupported(product, None, Block(tile, tile), limits)
            assert re.search(words, str(refusal))
            legal = None if nearest is None else Block(nearest, nearest)
            assert refusal.nearest_block == legal
            assert legal is None or variant.unsupported(product, None, legal, limits) is None
