"""Several masks on a real device: the course's bank in one launch, `apply_bank` with a launch per mask."""

from dataclasses import replace

import numpy as np
import pytest

import engine
from engine.course.tables import bank_job
from engine.geometry.block import Block, Layout
from engine.geometry.border import Border
from engine.mask.mask import Mask
from engine.run.measure import NO_SAMPLES, measure
from engine.variants.ladder.implicit_gemm import for_bank
from engine.work.filter_task import describe_problem
from engine.work.filtering import oracle
from engine.work.filtering.oracle import rounding_bound
from engine.work.filtering.variants import variant
from engine.work.problem import as_samples


def random_bank(masks, shape, anchor=None):
    random = np.random.default_rng([masks, *shape])
    return tuple(Mask(random.standard_normal(shape), anchor, 3.0 * number) for number in range(masks))


def picture(height, width, channels, dtype):
    random = np.random.default_rng([height, width, channels])
    if dtype == "float32":
        return random.standard_normal((height, width, channels), np.float32)
    return random.integers(0, np.iinfo(dtype).max, (height, width, channels), dtype, endpoint=True)


def check(gpu, bank, image, border, block, layout):
    """Apply a bank in one launch and compare every sample of every result with the oracle."""
    samples = as_samples(image)
    problem = describe_problem(samples, bank[0], border, 12.5)
    job = bank_job(bank, problem, samples)
    job = replace(job, block=block, layout=layout)
    outcome = measure(job, gpu, NO_SAMPLES)
    assert outcome.result.failure is None
    assert outcome.values is not None
    for mask, values in zip(bank, outcome.values.reshape(len(bank), *samples.shape), strict=True):
        wanted = oracle.correlate(samples, mask, border, 12.5)
        bound = rounding_bound(oracle.correlate(samples, mask, border, 12.5, absolute=True), mask.taps)
        assert np.all(np.abs(values - wanted) <= bound)


@pytest.mark.parametrize("layout", list(Layout))
@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float32"])
@pytest.mark.parametrize("border", list(Border))
def test_that_every_result_of_a_bank_agrees_with_the_oracle(gpu, border, dtype, layout):
    for masks, shape, anchor, channels in (
        (1, (5, 5), None, 1),
        (5, (4, 7), (3, 0), 3),
        (17, (1, 1), None, 4),
    ):
        bank = random_bank(masks, shape, anchor)
        block = for_bank(bank).default_block
        check(gpu, bank, picture(37, 1001 // channels, channels, dtype), border, block, layout)


@pytest.mark.parametrize("size", [(1, 1), (1, 97), (89, 1), (31, 33), (3, 2)], ids=str)
@pytest.mark.parametrize(
    "block",
    [Block(*sides) for sides in ((1, 1), (7, 3), (33, 9), (32, 32), (1, 480), (480, 1), (100, 10))],
    ids=str,
)  # fmt: skip
def test_that_every_block_and_size_agrees_with_the_oracle(gpu, block, size):
    for shape in ((5, 5), (9, 6), (1, 26)):
        check(gpu, random_bank(11, shape), picture(*size, 2, "float32"), Border.MIRROR, block, Layout.PITCHED)


def test_that_a_bank_gives_bit_for_bit_what_each_mask_gives_alone(device):
    image = picture(300, 401, 1, "float32")
    bank = random_bank(8, (7, 7))
    together = engine.apply_bank(image, bank, device=device, border="wrap", budget_s=0.01)
    for mask, values, result in zip(bank, together.values, together.results, strict=True):
        alone = engine.correlate(image, mask, device=device, border="wrap", variant=result.variant)
        assert np.array_equal(values, alone)


def test_that_masks_of_different_shapes_are_timed_on_a_large_picture(device):
    image = picture(2048, 2048, 1, "float32")
    masks = [*random_bank(2, (5, 5)), *random_bank(2, (15, 15)), Mask(np.ones((9, 9)))]
    for result in engine.apply_bank(image, masks, device=device, budget_s=0.1).results:
        assert result.verification.passed, result.verification.reason
        assert result.kernel_ms > 0


def test_that_the_device_is_well_after_a_bank_that_is_too_large(device):
    image = np.zeros((64, 64), np.float32)
    with pytest.raises(engine.UnsupportedVariant, match="1,025 threads"):
        engine.apply_bank(image, [[[1.0]]] * 3, device=device, variant="tiled", block=(205, 5))
    assert engine.correlate(image, [[1.0]], device=device, variant=variant("tiled").key).shape == (64, 64)
