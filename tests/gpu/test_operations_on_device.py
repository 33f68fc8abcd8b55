"""Operations and chains on a real device: every case and block, real sizes, the compiled kernels."""

import numpy as np
import pytest

import engine
from engine.api.request import PictureCall
from engine.flow import tiles as result_of_window
from engine.geometry.block import Block
from engine.host import shared, shared_picture
from engine.host.protocol import OpenPicture
from engine.host.request import Preview, answer, segments_of
from engine.host.shared_picture import part_of
from engine.image.open import open_sample
from engine.run.measure import SamplingPlan, measure
from engine.verify.verification import Region
from engine.work.chain_files import chain_named, ready_chains
from engine.work.messages import PictureJob
from engine.work.operations.contract import OPERATION_VARIANTS
from engine.work.steps import PictureRequest
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


every_ready_chain = pytest.mark.parametrize("chain", ready_chains(), ids=lambda chain: chain.key)


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float32"])
@every_ready_chain
def test_that_a_ready_chain_is_proven_and_timed_on_the_device(chain, dtype, gpu, device):
    photo = open_sample("astronaut").pixels
    picture = {"uint8": photo, "uint16": photo.astype(np.uint16) * 257, "float32": photo / np.float32(255)}
    asked = PictureRequest(chain=chain, device=device)
    call = PictureCall(np.ascontiguousarray(picture[dtype][:301, :403]), asked)
    result = measure(call.job(), gpu, QUICK).result
    assert result.is_proven, result.status
    assert result.timing.clock == "device events around a replayed graph"
    print(f"{chain.key} {dtype}: {result.kernel_ms:.4f} ms, {result.status}")  # noqa: T201


@every_ready_chain
def test_that_each_step_has_a_time_on_the_device(chain, device):
    photo = open_sample("astronaut").pixels
    found = engine.chain(photo, chain, device=device)
    assert [step.id for step in found.steps] == [node.step.id for node in chain.nodes()]
    assert all(step.ms > 0 for step in found.steps)
    print(f"{chain.key}: {found.result.kernel_ms:.4f} ms; {found.result.steps_text}")  # noqa: T201


def test_that_a_chain_on_the_device_is_that_of_the_cpu_where_all_of_it_is_exact(device):
    steps = [
        {"id": "calm", "operation": "median", "input": "picture"},
        {"id": "x", "mask": "sobel-x", "border": "mirror"},
        {"id": "most", "combine": "maximum", "second": "calm"},
    ]
    photo = open_sample("astronaut").pixels
    here, there = (engine.chain(photo, steps, device=one).values for one in ("cpu", device))
    assert np.array_equal(here, there)


@pytest.mark.parametrize("key", ["sobel-magnitude", "denoise-edges", "soft-glow"])
def test_that_parts_of_a_chain_of_a_large_picture_have_the_bits_of_the_whole(key, device, monkeypatch):
    monkeypatch.setattr(shared_picture, "FULL_SIZE_BYTES", 0)
    monkeypatch.setattr(result_of_window, "_BAND_BYTES", 8 * 100 * 512 * 12)
    opened = answer(OpenPicture(sample="astronaut"), lambda step: None)
    job = PictureJob(picture=opened, chain=chain_named(key), device=device)
    reply = answer(Preview(job), lambda step: None)
    whole = engine.chain(open_sample("astronaut").pixels, reply.values.job.chain, device=device).values
    try:
        for region in (Region(0, 512, 0, 512), Region(130, 131, 7, 300)):
            assert np.array_equal(part_of(reply.values, region), whole[region.slices])
    finally:
        shared.unlink(*segments_of(reply), *segments_of(opened))
