"""The models of work against counts: the variants' own source, run in plain Python with arrays that count."""

import numpy as np
import pytest

from engine import reference
from engine.block import Block
from engine.border import Border
from engine.device.index_rules import cpu_code
from engine.mask.mask import Mask
from engine.metrics.agreement import rounding_bound
from engine.timing.request import describe_problem
from engine.variants.contract import DeviceKind, Variant
from engine.variants.cpu import parallel, serial
from engine.variants.registry import VARIANTS
from tests.engine.variants.cases import Case
from tests.engine.variants.counting import CountingArray, Counts, count
from tests.engine.variants.suited import mask_for, suited

CUDA = [variant for variant in VARIANTS if variant.device is DeviceKind.CUDA]
RANDOM = np.random.default_rng(4)


@pytest.mark.parametrize("border", [Border.CONSTANT, Border.REFLECT])
@pytest.mark.parametrize("block", [Block(4, 3), Block(16, 16), Block(2, 1)], ids=str)
@pytest.mark.parametrize("dtype", ["uint8", "float32"])
@pytest.mark.parametrize("variant", CUDA, ids=lambda variant: variant.key)
def test_that_the_model_of_a_cuda_variant_counts_what_its_source_does(
    variant: Variant, dtype: str, block: Block, border: Border
) -> None:
    image = RANDOM.integers(0, 256, (7, 6, 2)).astype(dtype)
    case = Case("work", mask_shape=(3, 4), anchor=(0, 3), offset=1.5, block=block, border=border)
    suited_case = suited(variant, case)
    assert suited_case is not None
    mask, block = suited_case.mask(), suited_case.block
    problem = describe_problem(image, mask, border, 2.5)
    counts = count(variant, problem, mask, block, image)
    model = variant.work(problem, block)
    assert model.picture_loads == counts.picture_loads
    assert model.global_loads == counts.picture_loads + counts.weight_loads + counts.scratch_loads
    assert model.global_stores == counts.out_stores + counts.scratch_stores
    other_loads = counts.weight_loads + counts.scratch_loads
    assert model.global_load_bytes == counts.picture_loads * image.itemsize + other_loads * 4
    assert model.global_store_bytes == (counts.out_stores + counts.scratch_stores) * 4
    assert model.shared_loads == counts.shared_loads
    assert model.shared_stores == counts.shared_stores
    assert model.constant_loads == counts.constant_loads
    assert model.flops == 2 * counts.multiplications
    wanted = reference.correlate(image, mask, border, 2.5)
    assert np.all(
        np.abs(counts.out - wanted) <= rounding_bound(reference.magnitudes(image, mask, border, 2.5), 12)
    )


@pytest.mark.parametrize("border", list(Border))
def test_that_the_model_of_the_serial_loops_counts_what_they_do(border: Border) -> None:
    image = RANDOM.integers(0, 256, (5, 4, 3), np.uint16)
    mask = Mask(RANDOM.standard_normal((3, 6)))
    problem = describe_problem(image, mask, border, 0.0)
    counts = Counts()
    picture, weights = (
        CountingArray(image, counts, "picture"),
        CountingArray(mask.weights32, counts, "weight"),
    )
    out = CountingArray(np.empty(image.shape, np.float32), counts, "out")
    numbers = (*mask.anchor, cpu_code(border), np.float32(0), np.float32(0))
    serial.correlate_serial.py_func(picture, weights, *numbers, out)
    model = serial.work(problem, Block(1, 1))
    assert model.global_loads == counts.picture_loads + counts.weight_loads
    assert model.global_load_bytes == counts.picture_loads * 2 + counts.weight_loads * 4
    assert model.global_store_bytes == counts.out_stores * 4
    assert model.flops == 2 * counts.multiplications


class _CountingRows:
    """A picture of rows of interleaved samples that counts what is read of it, one by one or as a slice."""

    def __init__(self, values: np.ndarray) -> None:
        self.values, self.shape, self.loads = values, values.shape, 0

    def __getitem__(self, index: tuple[int, int | slice]) -> np.ndarray:
        row, samples = index
        assert 0 <= row < self.shape[0]
        if isinstance(samples, slice):
            assert 0 <= samples.start <= self.shape[1]
        else:
            assert 0 <= samples < self.shape[1]
        self.loads += self.values[row, samples].size
        return self.values[row, samples]


@pytest.mark.parametrize("border", list(Border))
@pytest.mark.parametrize("shape", [(50, 3, 1), (2, 87, 3), (97, 100, 3)], ids=str)
def test_that_the_model_of_the_parallel_tiles_counts_what_they_load(
    shape: tuple[int, int, int], border: Border
) -> None:
    height, width, channels = shape
    mask = Mask(np.ones((4, 3)), anchor=(3, 0))
    problem = describe_problem(np.zeros(shape, np.uint8), mask, border, 0.0)
    picture = _CountingRows(np.zeros((height, width * channels), np.uint8))
    for top in range(0, height, parallel.TILE_ROWS):
        rows = min(parallel.TILE_ROWS, height - top) + mask.rows - 1
        for left in range(0, width * channels, parallel.TILE_SAMPLES):
            columns = min(parallel.TILE_SAMPLES, width * channels - left) + (mask.columns - 1) * channels
            tile = np.full(rows * columns, np.nan, np.float32)
            parallel._load_tile.py_func(
                picture,
                channels,
                top - 3,
                left,
                rows,
                columns,
                cpu_code(border),
                np.float32(0),
                tile,
                columns,
            )
            assert not np.isnan(tile).any()
    assert parallel.work(problem, Block(1, 1)).global_load_bytes == picture.loads


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.key)
def test_that_least_bytes_and_intensity_follow_from_the_problem(variant: Variant) -> None:
    mask = mask_for(variant, 3, 5)
    problem = describe_problem(np.zeros((7, 11, 3), np.uint16), mask, Border.WRAP, 0.0)
    work = variant.work(problem, variant.default_block)
    assert work.minimum_bytes == 7 * 11 * 3 * (2 + 4)
    assert work.cgma == work.flops / work.global_loads
    assert work.arithmetic_intensity == work.flops / (work.global_load_bytes + work.global_store_bytes)
    assert work == variant.work(problem, variant.default_block)
