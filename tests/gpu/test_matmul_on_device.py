"""Matrix products on a real device: every tile and shape, real sizes, the compiled kernels."""

import numpy as np
import pytest

import engine
from engine.device.launches import DeviceKind
from engine.errors import BadValue
from engine.results.metrics import number_of
from engine.run.measure import SamplingPlan, measure
from engine.tasks.product.problem import MATMUL_VARIANTS, MatrixProduct
from engine.tasks.product.task import product_job, random_matrices
from tests.engine.variants.matmul.cases import CASES, Case, check

CUDA = [variant for variant in MATMUL_VARIANTS if variant.device is DeviceKind.CUDA]
TILES = (2, 7, 16, 32)
SHAPES = ((1, 1, 1), (17, 33, 5), (1000, 777, 513), (1, 1000, 1), (257, 1, 255), (32, 32, 32))
LARGE_CASES = [
    Case(*shape, tile, numbers) for shape in SHAPES for tile in TILES for numbers in ("even", "whole")
]
QUICK = SamplingPlan(warm_up_s=0.02, budget_s=0.05, fewest=3, most=30, fewest_copies=2)

every_cuda_variant = pytest.mark.parametrize("variant", CUDA, ids=lambda variant: variant.key)


@pytest.mark.parametrize("case", [*CASES, *LARGE_CASES], ids=str)
@every_cuda_variant
def test_that_a_variant_agrees_with_the_oracle_on_the_device(variant, case, device):
    check(variant, case, device)


@pytest.mark.parametrize("tile", TILES)
@every_cuda_variant
def test_that_a_product_of_real_size_is_verified_and_timed(variant, tile, gpu):
    a, b = random_matrices(MatrixProduct(1000, 777, 513), 5)
    result = measure(product_job(variant, tile, a, b, seed=5), gpu, QUICK).result
    assert result.is_proven, result.status
    assert result.verification.checked_pixels == 513_000
    assert result.timing.clock == "device events around a replayed graph"
    assert result.timing.host_to_device is not None
    rate = number_of(result, "gflops")
    assert rate > 0
    assert result.environment.bandwidth_gb_s is not None
    assert number_of(result, "bandwidth_limit_gflops") is not None
    print(f"{variant.key} {tile}: {result.kernel_ms:.4f} ms, {rate:.0f} GFLOPS, {result.status}")  # noqa: T201


def test_that_the_python_call_uses_the_device(device):
    random = np.random.default_rng(2)
    a, b = random.integers(-9, 10, (70, 50)), random.integers(-9, 10, (50, 40))
    for options in ({}, {"variant": "matmul-naive", "tile": 32}, {"variant": "matmul-tiled", "tile": 2}):
        assert np.array_equal(engine.matmul(a, b, device=device, **options), a @ b)
    with pytest.raises(BadValue, match="these two must be equal"):
        engine.matmul(a, a, device=device)
