"""Results of large pictures in memory: no values are kept, and what is computed of them has the same bits."""

import itertools

import numpy as np
import pytest
from msgspec.structs import replace
from PIL import Image

import engine
from engine.api.request import PictureCall
from engine.errors import BadValue
from engine.flow import tiles
from engine.geometry.border import Border
from engine.host import shared, shared_picture
from engine.host.protocol import (
    MeasurePicture,
    PictureHandle,
    SaveResult,
    TiledScreen,
    WantedTiles,
    WantedValues,
)
from engine.host.request import ComputedResult, Preview, QueuePolicy, Run, answer, segments_of
from engine.host.shared_picture import SharedSegment, level_shapes, render, screen_arrays
from engine.mask.mask import Mask
from engine.mask.presets import preset
from engine.verify.verification import Region
from engine.work.chain_files import chain_from, chain_named, ready_chains
from engine.work.messages import ComparePictures, PictureJob
from engine.work.steps import MaskStep, PictureRequest
from tests.pairwise import by_pairs
from tests.picture_jobs import mask_job

ROWS, COLUMNS = 211, 150
WHOLE = Region(0, ROWS, 0, COLUMNS)
MASK = Mask(np.random.default_rng(2).random((5, 7)) - 0.4, anchor=(1, 5))
BOX = Mask(np.full((9, 9), 1 / 81))


@pytest.fixture(autouse=True)
def all_is_large(monkeypatch):
    """Take pictures of any size for large ones, and cut them into bands of about 60 rows, or of 40."""
    monkeypatch.setattr(shared_picture, "FULL_SIZE_BYTES", 0)
    monkeypatch.setattr(tiles, "_BAND_BYTES", 60 * COLUMNS * 3 * 4)
    monkeypatch.setattr(shared_picture, "_BAND_BYTES", 41 * COLUMNS * 3 * 4)
    monkeypatch.setattr(tiles, "_ready", [])


@pytest.fixture
def pixels():
    return np.random.default_rng(8).integers(0, 255, (ROWS, COLUMNS, 3), np.uint8)


@pytest.fixture
def opened():
    """Return a function that puts a picture into shared memory as opening it does."""
    names: list[str] = []

    def put(pixels, alpha=None):
        segment = SharedSegment()
        opacity = [] if alpha is None else [(alpha.shape, alpha.dtype.name)]
        shapes = (pixels.shape, pixels.dtype.name), *opacity, *screen_arrays(ROWS, COLUMNS)
        arrays = list(segment.create(*shapes))
        first, second = arrays.pop(0), arrays.pop(0) if opacity else None
        shared.attach(first)[...] = pixels
        if second is not None:
            shared.attach(second)[...] = alpha
        screen = segment.rendered(first, tuple(arrays), 255.0, alpha=second)
        names.append(first.name)
        return PictureHandle(first, second, screen, "made", "made")

    yield put
    shared.unlink(*names)


def whole_of(job, pixels):
    """Return the result as a whole, of the same variant."""
    step = job.filter
    options = {"border": step.border, "cval": step.cval * step.border.takes_value, "result": job.result_type}
    return engine.correlate(pixels, step.applied, variant=job.variant, device="cpu", **options)


def whole_chain(chain, pixels):
    """Return the result of all steps as a whole, float32."""
    call = PictureCall(pixels, PictureRequest(chain=chain, device="cpu"))
    return call.filter().reshape(call.shape)


def levels_of(values, mode, alpha=None):
    levels = [np.empty(shape, np.uint8) for shape in level_shapes(ROWS, COLUMNS)]
    render(values, levels, 255.0, mode, alpha)
    return levels


@pytest.fixture
def assert_shown(ask):
    """Return a function that checks that a screen shows a result halved, and its first tile."""

    def check(screen, job, values, mode, alpha=None):
        full, *wanted = levels_of(values, mode, alpha)
        for level, array in zip(wanted, screen.coarse, strict=True):
            np.testing.assert_array_equal(shared.attach(array), level)
        (tile,) = ask(WantedTiles(screen, 0, ((0, 0),), job=job)).tiles
        np.testing.assert_array_equal(shared.attach(tile.pixels), full)

    return check


@pytest.mark.slow
@by_pairs(
    border=list(Border),
    variant=["cpu-parallel", "cpu-separable"],
    mode=["clip", "absolute", "offset", "rescale"],
    has_alpha=[False, True],
    region=[None, Region(40, 130, 17, 70)],
)
def test_that_the_screen_and_any_part_show_the_whole_and_outside_the_region_the_picture(
    ask, opened, pixels, border, variant, mode, has_alpha, region, assert_parts, assert_shown
):
    mask = Mask(np.outer([1.0, 2.0, 1.0], [3.0, 1.0, 2.0, 5.0, -9.0]) / 60)
    alpha = pixels[..., 0].copy() if has_alpha else None
    how = {"variant": variant, "border": border, "device": "cpu", "cval": 0.3}
    job = mask_job(picture=opened(pixels, alpha), mask=mask, range_mode=mode, region=region, **how)
    wanted = whole_of(job, pixels)
    if region is not None:
        whole, wanted = wanted, pixels.astype(np.float32)
        wanted[region.slices] = whole[region.slices]
    screen = ask(Preview(job)).screen
    assert_parts(screen, job, wanted)
    assert_shown(screen, job, wanted, mode, alpha)


@pytest.mark.parametrize("variant", ["cpu-box", "cpu-fft"])
def test_that_sums_through_the_whole_picture_are_the_same_wherever_they_are_asked_for(
    ask, opened, pixels, variant
):
    job = mask_job(picture=opened(pixels), mask=BOX, variant=variant, device="cpu")
    screen = ask(Preview(job)).screen
    rows = [
        shared.attach(ask(WantedValues(screen, (row, row + 1), (0, COLUMNS), job=job)).values)
        for row in range(ROWS)
    ]
    shown = levels_of(np.concatenate(rows), "clip")
    np.testing.assert_array_equal(shared.attach(screen.coarse[0]), shown[1])
    part = shared.attach(ask(WantedValues(screen, (50, 80), (20, 90), job=job)).values)
    np.testing.assert_array_equal(part, np.concatenate(rows[50:80])[:, 20:90])


@pytest.mark.slow
@pytest.mark.parametrize("what", ["clip", "rescale", "chain"])
def test_that_a_run_shows_the_same_and_keeps_no_values_either(ask, opened, pixels, what):
    picture, region = opened(pixels), Region(40, 130, 17, 70) if what == "rescale" else None
    if what == "chain":
        job = PictureJob(picture=picture, chain=chain_named("sobel-magnitude"), device="cpu")
    else:
        how = {"variant": "cpu-serial", "device": "cpu", "range_mode": what, "region": region}
        job = mask_job(picture=picture, mask=MASK, **how)
    run, preview = ask(Run(job, 0.0)), ask(Preview(job))
    assert run.result.is_proven
    assert isinstance(run.values, ComputedResult)
    if what == "chain":
        assert run.clipped == pytest.approx(preview.clipped, abs=0.05)
        assert run.clipped[1] > 0.2
    for one, other in zip(run.screen.coarse, preview.screen.coarse, strict=True):
        np.testing.assert_array_equal(shared.attach(one), shared.attach(other))


def test_that_a_preview_resolves_its_job_once_for_all_that_is_read_of_it(ask, opened, pixels, monkeypatch):
    asked = []
    resolve = tiles.resolved_for_parts
    monkeypatch.setattr(tiles, "resolved_for_parts", lambda job, of: asked.append(job) or resolve(job, of))
    job = mask_job(picture=opened(pixels), mask=BOX, device="cpu")
    reply = ask(Preview(job))
    for read in (job, reply.values.job):
        ask(WantedValues(reply.screen, (0, 3), (0, 3), job=read))
    assert asked == [job]
    assert reply.values.job == job.changed(variant=reply.variant, block=reply.values.job.block)
    assert job.picture.pixels.name not in segments_of(reply)


def test_that_histogram_difference_and_error_are_those_of_the_whole_result(ask, opened, pixels):
    picture = opened(pixels)
    job = mask_job(picture=picture, mask=preset("sobel-x"), variant="cpu-serial", device="cpu")
    (kept,) = shared.create(((ROWS, COLUMNS, 3), "float32"))
    shared.attach(kept)[...] = whole_of(job, pixels)
    computed = ask(Preview(job)).values
    for region in (None, Region(7, 190, 3, 99)):
        asked = MeasurePicture(picture, computed, region)
        assert ask(asked).after == ask(MeasurePicture(picture, kept, region)).after
        # A run is not to be disturbed by a kernel.
        assert asked.queue is QueuePolicy.IN_ORDER
    for of_error in (None, job):
        first, second = (
            ask(ComparePictures(picture, values, of_error, job.variant, WHOLE)) for values in (kept, computed)
        )
        assert first.words == second.words
        for one, other in zip(first.screen.levels, second.screen.levels, strict=True):
            np.testing.assert_array_equal(shared.attach(one), shared.attach(other))
    shared.unlink(kept.name)


@pytest.mark.slow
@by_pairs(kind=["png", "tif"], has_alpha=[False, True], mode=["clip", "rescale"])
def test_that_a_saved_result_has_the_bits_of_the_whole(ask, opened, pixels, kind, has_alpha, mode, tmp_path):
    alpha = pixels[..., 0].copy() if has_alpha else None
    picture = opened(pixels, alpha)
    job = mask_job(picture=picture, mask=MASK, variant="cpu-serial", device="cpu", range_mode=mode)
    values = ask(Preview(job)).values
    ask(SaveResult(picture, values, str(tmp_path / f"saved.{kind}"), mode))
    wanted = engine.image.convert.to_depth(whole_of(job, pixels), np.uint8, range_mode=mode)
    found = np.asarray(Image.open(tmp_path / f"saved.{kind}"))
    np.testing.assert_array_equal(found, wanted if alpha is None else np.dstack([wanted, alpha]))


def test_that_a_preview_of_a_large_picture_stops_when_it_is_not_wanted_any_more(opened, pixels):
    steps = []

    def stop(step):
        steps.append(step)
        if len(steps) == 2:
            raise engine.errors.Cancelled("The request", "it was stopped")

    job = mask_job(picture=opened(pixels), mask=MASK, variant="cpu-serial", device="cpu")
    with pytest.raises(engine.errors.Cancelled):
        answer(Preview(job), stop)


# The ready ones whose steps look at no more than windows.
CUT_CHAINS = [
    chain
    for chain in ready_chains()
    if "equalise" not in {getattr(one, "operation", "") for one in chain.steps}
]
NEAR = (Border.ZERO, Border.REFLECT, Border.MIRROR, Border.REPLICATE)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("chain", "border"),
    list(zip(CUT_CHAINS, itertools.cycle(NEAR), strict=False)),
    ids=lambda value: getattr(value, "key", str(value)),
)
def test_that_any_part_of_a_chain_has_the_bits_of_the_whole(
    ask, opened, pixels, chain, border, assert_parts, assert_shown
):
    steps = (replace(one, border=border) if isinstance(one, MaskStep) else one for one in chain.steps)
    chain = replace(chain, steps=tuple(steps))
    job = PictureJob(picture=opened(pixels), chain=chain, device="cpu")
    reply = ask(Preview(job))
    planned = reply.values.job
    whole = whole_chain(planned.chain, pixels)
    assert_parts(reply.screen, planned, whole)
    assert_shown(reply.screen, planned, whole, chain.range)
    assert [step.id for step in reply.steps] == [step.id for step in planned.chain.steps]
    assert all(step.ms > 0 for step in reply.steps)


@pytest.mark.parametrize("last", [{"operation": "equalise"}, {"mask": "box-3", "border": "wrap"}])
def test_that_a_chain_that_looks_at_the_whole_picture_is_computed_as_a_whole(ask, opened, pixels, last):
    chain = chain_from({"steps": [{"mask": "sharpen"}, last]})
    job = PictureJob(picture=opened(pixels), chain=chain, device="cpu")
    whole = whole_chain(chain, pixels)
    for reply in (ask(Preview(job)), ask(Run(job, 0.0))):
        np.testing.assert_array_equal(shared.attach(reply.values), whole)
    # No part of it is.
    with pytest.raises(BadValue, match="depends on the whole picture"):
        ask(WantedValues(TiledScreen("", ((ROWS, COLUMNS),)), (0, 9), (0, 9), job=job))


@pytest.mark.parametrize("steps", [[{"mask": "box:9", "variant": "cpu-box"}], [{"operation": "equalise"}]])
def test_that_of_a_small_picture_any_part_has_the_bits_of_the_whole(
    ask, opened, pixels, steps, monkeypatch, assert_parts
):
    monkeypatch.setattr(shared_picture, "FULL_SIZE_BYTES", 1 << 30)
    job = PictureJob(picture=opened(pixels), chain=chain_from({"steps": steps}), device="cpu")
    whole = shared.attach(ask(Preview(job)).values)
    screen = TiledScreen("", ((ROWS, COLUMNS),))
    for _ in range(2):
        assert_parts(screen, job, whole)
        # An idle engine keeps no values.
        shared.trim_unused()


def test_that_a_part_is_never_that_of_a_picture_that_had_the_same_memory(ask, opened, pixels, monkeypatch):
    monkeypatch.setattr(shared_picture, "FULL_SIZE_BYTES", 1 << 30)
    chain, screen = chain_from({"steps": [{"operation": "equalise"}]}), TiledScreen("", ((ROWS, COLUMNS),))
    job = PictureJob(picture=opened(pixels), chain=chain, device="cpu")
    part = (0, 40), (0, 40)
    before = shared.attach(ask(WantedValues(screen, *part, job=job)).values).copy()
    shared.attach(job.picture.in_memory)[...] = pixels[::-1] // 2
    uses = shared.uses(job.picture.in_memory)
    monkeypatch.setattr(shared, "uses", lambda array: uses + 1)
    assert not np.array_equal(shared.attach(ask(WantedValues(screen, *part, job=job)).values), before)
