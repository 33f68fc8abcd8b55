"""Every variant on a real device: lists of cases, layouts, real sizes, kernels, blocks, orders of sums."""

from dataclasses import replace
from functools import partial
from importlib.util import find_spec

import numpy as np
import pytest

import engine
from engine.commands.command_line import main
from engine.device.devices import backend
from engine.device.launches import DeviceKind
from engine.device_info import AUTO
from engine.geometry.block import ROW_BYTES, Block, Layout, UnsupportedVariant, every_block
from engine.geometry.border import Border
from engine.mask.generators import gaussian
from engine.mask.mask import Mask
from engine.run.measure import NO_SAMPLES, SamplingPlan, measure, sweep
from engine.run.task import Choice, device_for
from engine.work.filter_task import describe_problem
from engine.work.filtering.planner import choose
from engine.work.filtering.variants import VARIANTS, MaskClass, variant
from engine.work.measuring import Sweep
from engine.work.problem import Problem
from tests.engine.variants.case_lists import full_cases, mask_for, suited, suited_cases, typed
from tests.engine.variants.cases import Case, by_group, faults_of, verified
from tests.engine.work.filtering.test_sum_order import SHAPES, all_are_equal
from tests.gpu.conftest import assert_compiled_as_planned
from tests.picture_jobs import filter_job, mask_request

CUDA = [variant for variant in VARIANTS if variant.has_kernels]
# Those whose library is not installed refuse everything, in words.
INSTALLED = [variant for variant in VARIANTS if not variant.library or find_spec(variant.library)]
SIDE = 4096
MASK = Mask(
    [[1, 4, 6, 4, 1], [4, 16, 24, 16, 4], [6, 24, 36, 24, 6], [4, 16, 24, 16, 4], [1, 4, 6, 4, 1]]
).divided_by(256)


def binomial_for(variant):
    """Return the binomial mask, or one like it of the class that the variant takes."""
    if variant.rank > 1:
        return mask_for(variant, 5, 5)
    if variant.masks is MaskClass.EQUAL_WEIGHTS:
        return Mask(np.full((5, 5), 1 / 32))
    return Mask(MASK.weights[:1] * 16) if variant.masks is MaskClass.ONE_ROW else MASK


def suiting(variant, image, border):
    """Return a problem, a mask and the picture in a type and with channels that the variant takes."""
    mask = binomial_for(variant)
    problem = typed(variant, describe_problem(image, mask, border, 0.0))
    image = image[..., : problem.channels]
    if image.dtype != problem.dtype:
        image = image * (255 / image.max()) if image.dtype == np.float32 else image
        image = image.astype(problem.dtype)
    return problem, mask, image


every_cuda_variant = pytest.mark.parametrize("variant", CUDA, ids=lambda variant: variant.key)


@pytest.mark.parametrize(
    ("variant", "cases"),
    [
        pytest.param(v, cases, id=f"{v.key}-{group}")
        for v in (*CUDA, *(v for v in INSTALLED if v.library == "cupy"))
        for group, cases in by_group(suited_cases(v, full_cases())).items()
    ],
)
def test_that_a_variant_agrees_with_the_oracle_on_the_device(variant, cases, device):
    assert faults_of(variant, cases, device) == {}


@pytest.fixture(scope="module", params=["float32 grey", "uint8 RGB"])
def large(request):
    """Return a picture of 4096 x 4096."""
    random = np.random.default_rng(1)
    if request.param == "uint8 RGB":
        return random.integers(0, 256, (SIDE, SIDE, 3), np.uint8)
    return random.random((SIDE, SIDE, 1), np.float32)


@pytest.mark.parametrize("variant", INSTALLED, ids=lambda variant: variant.key)
def test_that_a_large_picture_is_verified_and_timed(variant, large, device):
    machine = backend(device_for(variant, device).key)
    problem, mask, large = suiting(variant, large, Border.MIRROR)
    plan = SamplingPlan(warm_up_s=0.02, budget_s=0.05, fewest=3, most=30, fewest_copies=2)
    job = filter_job(Choice(variant, variant.default_block), problem, mask, large, seed=5)
    result = measure(job, machine, plan).result
    assert result.failure is None
    assert result.verification.passed, result.verification.reason
    # Sums of products are refused where exact ones are promised.
    assert result.verification.exact or large.dtype == np.float32 or variant.rank > 1
    assert result.kernel_ms > 0
    print(f"{variant.key} {large.dtype} × {large.shape[2]}: {result.kernel_ms:.3f} ms, {result.status}")  # noqa: T201


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float32"])
@pytest.mark.parametrize("border", list(Border))
@every_cuda_variant
def test_that_the_device_spills_nothing_and_shares_what_was_planned(variant, border, dtype, gpu):
    mask = binomial_for(variant)
    problem = typed(variant, Problem(500, 700, 3, dtype, mask.shape, mask.anchor, border))
    variant.prepare(problem, mask, variant.default_block)
    assert_compiled_as_planned(variant.passes(problem, mask, variant.default_block))


@every_cuda_variant
def test_that_large_masks_and_the_largest_blocks_run(variant, device):
    large = partial(Case, height=70, width=70, block=Block(32, 16))
    cases = [
        large(f"large mask {side} {border}", mask_shape=(side, side), border=border)
        for side in (15, 31, 63)
        for border in (Border.ZERO, Border.MIRROR)
    ] + [
        Case(f"largest {block} {side}", 70, 70, 3, mask_shape=(side, side), block=block)
        for block in (Block(32, 32), Block(1024, 1), Block(1, 1024), Block(32, 16), Block(32, 24))
        for side in (3, 5, 9, 2)
    ]
    possible = [found for case in cases if (found := suited(variant, case)) is not None]
    assert faults_of(variant, possible, device) == {}


@pytest.mark.parametrize("result", ["float32", "same"])
@pytest.mark.parametrize(("side", "channels"), [(9, 1), (27, 1), (37, 1), (27, 2), (63, 3)])
@pytest.mark.parametrize(("key", "terms"), [("separable-fused", 1), ("low-rank-2", 2), ("low-rank-3", 3)])
def test_that_blocks_that_go_on_down_the_picture_meet_without_a_seam(
    key, terms, side, channels, result, device
):
    # Only where there is work for all multiprocessors do they take several steps; the last one is not whole.
    random = np.random.default_rng(side)
    image = random.integers(0, 256, (66_001, 40, channels)).astype("uint8" if result == "same" else "float32")
    mask = Mask(sum(np.outer(*random.uniform(0.1, 1, (2, side))) for _ in range(terms)) / side**2)
    out = engine.correlate(image, mask, border="mirror", device=device, variant=key, result=result)
    problem = describe_problem(image, mask, Border.MIRROR, 0.0, out.dtype.name)
    added = variant(key).added_to(problem, mask, image)
    verified(out.reshape(image.shape), image, mask, problem, added)


def test_that_auto_chooses_a_cuda_variant_that_runs(gpu):
    image = np.random.default_rng(1).integers(0, 256, (200, 300, 3), np.uint8)
    problem = describe_problem(image, MASK, Border.WRAP, 0.0)
    choice = choose(AUTO, problem, MASK, None, gpu.info)
    assert choice.variant.device is DeviceKind.CUDA
    assert choice.reason
    result = measure(filter_job(choice, problem, MASK, image), gpu, SamplingPlan(0.0, 0.0, 1, 1, 1)).result
    assert result.verification.exact


@pytest.mark.parametrize("dtype", ["uint8", "uint16"])
@pytest.mark.parametrize("key", ["naive", "register-blocked"])
@pytest.mark.parametrize("width", [3, 256])
def test_that_nan_becomes_0_where_results_are_rounded(key, dtype, width, gpu, device):
    largest = int(np.iinfo(dtype).max)
    rows = np.array([255, 255, 0, 0, 255], dtype) * (largest // 255)
    picture = np.repeat(rows[:, np.newaxis], width, axis=1)
    # Each pixel less the one above, times 3e38: of 255 and 255 infinity less infinity.
    answer = engine.correlate(
        picture, [[-3e38], [3e38]], border="replicate", variant=key, device=device, result="same"
    )
    assert answer.dtype == dtype
    assert np.array_equal(answer, np.repeat(np.array([[0], [0], [0], [0], [largest]], dtype), width, axis=1))


def test_that_fft_says_where_a_nan_is_or_which_library_is_missing(device):
    image = np.ones((9, 9), np.float32)
    image[2, 3] = np.nan
    says = "Row 2, column 3" if find_spec("cupy") else "pip install cupy"
    with pytest.raises(UnsupportedVariant, match=says):
        engine.correlate(image, np.ones((3, 3)), variant="fft", device=device)


HEIGHT, WIDTH = 67, 1001

both_layouts = pytest.mark.parametrize("layout", list(Layout))
both_pictures = pytest.mark.parametrize(("dtype", "channels"), [("uint8", 3), ("float32", 1)])


def picture_of(dtype, channels, width=WIDTH):
    return np.random.default_rng(3).integers(0, 256, (HEIGHT, width, channels)).astype(dtype)


@both_layouts
@both_pictures
def test_that_rows_lie_on_the_device_as_the_layout_says(dtype, channels, layout, gpu):
    picture = picture_of(dtype, channels)
    buffers = gpu.allocate(picture, layout=layout)
    for array, itemsize in ((buffers.image, picture.itemsize), (buffers.out, 4)):
        row_bytes = array.strides[0]
        assert array.__cuda_array_interface__["data"][0] % ROW_BYTES == 0
        dense_bytes = WIDTH * channels * itemsize
        assert row_bytes == dense_bytes if layout is Layout.PACKED else row_bytes % ROW_BYTES == 0
        assert row_bytes >= dense_bytes


@both_layouts
@pytest.mark.parametrize("form", ["dense", "every other column", "mirrored", "Fortran"])
@both_pictures
def test_that_a_picture_comes_back_from_the_device_as_it_went_there(dtype, channels, form, layout, gpu):
    picture = picture_of(dtype, channels, 2 * WIDTH)[:, ::2]
    if form == "dense":
        picture = np.ascontiguousarray(picture)
    elif form == "mirrored":
        picture = picture[::-1, ::-1]
    elif form == "Fortran":
        picture = np.asfortranarray(picture)
    buffers = gpu.allocate(picture, layout=layout)
    gpu.upload(picture, buffers)
    assert np.array_equal(buffers.image.copy_to_host()[:, :WIDTH], picture)
    # Out again, into the host's memory as it comes and into every other column of a larger array.
    out = picture.astype(np.float32)
    padded = np.full(buffers.out.shape, np.nan, np.float32)
    padded[:, :WIDTH] = out
    buffers.out.copy_to_device(padded)
    assert np.array_equal(gpu.download(buffers), out)
    wide = np.full((HEIGHT, 2 * WIDTH, channels), -1.0, np.float32)
    assert np.array_equal(gpu.download(replace(buffers, host_out=wide[:, ::2])), out)
    assert np.array_equal(wide[:, ::2], out)
    assert (wide[:, 1::2] == -1.0).all()


@both_pictures
@pytest.mark.parametrize("variant", CUDA, ids=lambda variant: variant.key)
def test_that_both_layouts_give_the_same(variant, dtype, channels, gpu):
    problem, mask, picture = suiting(variant, picture_of(dtype, channels), Border.MIRROR)
    results = []
    for layout in Layout:
        choice = Choice(variant, variant.default_block)
        outcome = measure(filter_job(choice, problem, mask, picture, layout=layout), gpu, NO_SAMPLES)
        assert outcome.result.failure is None
        assert outcome.result.layout == layout
        assert outcome.result.verification.passed, outcome.result.verification.reason
        results.append(outcome.values)
    assert np.array_equal(*results)


@both_layouts
def test_that_a_caller_may_pass_an_array_that_is_not_dense(layout, device):
    dense = picture_of("uint8", 3)
    spread = np.repeat(dense, 2, axis=1)[:, ::2]
    assert not spread.flags.c_contiguous
    found = [
        engine.apply(picture, [[1, 2, 1]], variant="naive", device=device, layout=layout, budget_s=0.0)
        for picture in (dense, spread)
    ]
    assert [one.result.layout for one in found] == [layout, layout]
    assert np.array_equal(found[0].values, found[1].values)


WITH_BLOCKS = [known for known in VARIANTS if known.has_kernels and known.uses_block]


@pytest.mark.parametrize("known", WITH_BLOCKS, ids=lambda known: known.key)
def test_that_every_block_is_refused_with_a_reason_or_gives_the_right_result(device, known):
    # A mask of one row, which every variant takes, and one of rank 1.
    masks = [gaussian(1, 5, 1.0), gaussian(5, 5, 1.0)] if known.most_rows > 1 else [gaussian(1, 5, 1.0)]
    cells = Sweep(
        requests=[mask_request(mask=mask, device=device) for mask in masks],
        variants=[known],
        sizes=[(131, 67)],
        blocks=every_block(),
    )
    results, fault = sweep(cells.jobs(), device, 0.0)
    assert fault is None
    wrong = [f"{one.block}: {one.status}" for one in results if not one.is_proven and not one.refused]
    assert wrong == []
    assert sum(one.is_proven for one in results) >= 10


def test_that_the_best_block_is_said(device, capsys):
    arguments = ["--variants", "tiled,naive", "--sizes", "512", "--masks", "5", "--budget", "0.01"]
    blocks = ["--blocks", "8x8,16x16,32x4,32x8,1x1"]
    assert main(["bench", "--best", *arguments, *blocks, "--device", device]) == 0
    assert "best block" in capsys.readouterr().out


def _is_known(variant):
    problem = describe_problem(np.zeros((1, 1, 1), np.uint8), Mask([[1.0]]), Border.ZERO, 0.0, "float32")
    return variant.sum_order(problem, Mask([[1.0]])).is_known


KNOWN = [variant for variant in VARIANTS.on("cuda") if _is_known(variant)]


@pytest.mark.parametrize("border", [Border.ZERO, Border.CONSTANT, Border.MIRROR], ids=str)
@pytest.mark.parametrize("variant", KNOWN, ids=lambda one: one.key)
def test_that_the_sum_of_a_pixel_is_the_value_that_the_device_stored(variant, border, device):
    all_are_equal(variant, border, device, 45, 30, SHAPES)
