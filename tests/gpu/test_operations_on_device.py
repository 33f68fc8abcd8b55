"""Operations on a real device: every case and block, real sizes, the compiled kernels."""

import numpy as np
import pytest

import engine
from engine.geometry.block import Block
from engine.image.open import open_sample
from engine.run.measure import measure
from engine.run.sampling import SamplingPlan
from engine.work.operations.table import OPERATION_VARIANTS
from tests.engine.variants.operations.cases import Case, cases_of, check

CUDA = [variant for variant in OPERATION_VARIANTS if variant.has_kernels]
QUICK = SamplingPlan(warm_up_s=0.02, budget_s=0.05, fewest=3, most=30, fewest_copies=2)
SETTINGS = {
    "median": ({"size": 3}, {"size": 5}),
    "find-patch": ({"width": 16, "height": 16}, {"width": 33, "height": 7}),
}
every_cuda_variant = pytest.mark.parametrize("variant", CUDA, ids=lambda variant: variant.key)


@every_cuda_variant
def test_that_an_operation_agrees_with_the_oracle_on_the_device(variant, device):
    for case in cases_of(variant, with_blocks=True):
        check(variant, case, device)


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float32"])
@every_cuda_variant
def test_that_an_operation_of_real_size_is_verified_and_timed(variant, dtype, gpu, device):
    for settings in SETTINGS.get(variant.operation, ({},)):
        for block in (None, Block(16, 16)):
            case = Case(variant.operation, settings, 1001, 1503, 3, dtype, block=block)
            result = measure(case.resolved(variant, device).job(), gpu, QUICK).result
            assert result.is_proven, result.status
            assert result.timing.clock == "device events around a replayed graph"
            print(f"{variant.key} {case}: {result.kernel_ms:.4f} ms, {result.status}")  # noqa: T201


def test_that_all_ways_agree_on_a_photograph(device):
    photo = open_sample("astronaut").pixels
    counts = [
        engine.operate(photo, "histogram", variant=key, device=device).counts
        for key in ("cpu-histogram", "histogram-global", "histogram-shared")
    ]
    assert all(np.array_equal(counts[0], other) for other in counts[1:])
    patch = photo[60:92, 200:240]
    for key in ("cpu-match", "match-naive", "match-tiled"):
        mark = engine.operate(photo, "find-patch", patch=patch, variant=key, device=device).mark
        assert (mark.row, mark.column) == (60, 200)
    sizes = [
        engine.operate(photo, "compress", variant=key, quality=30, device=device).numbers
        for key in ("cpu-dct", "dct-direct", "dct-tiled")
    ]
    # Coefficients half-way between two steps may be rounded to either.
    for numbers in sizes[1:]:
        assert abs(numbers["psnr_db"] - sizes[0]["psnr_db"]) < 0.01
        assert abs(numbers["estimated_bytes"] / sizes[0]["estimated_bytes"] - 1) < 0.001
