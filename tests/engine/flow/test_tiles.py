"""Results of large pictures by tile: the bits of the whole, at any level, under every border rule."""

import numpy as np
import pytest

import engine
from engine.geometry.border import Border
from engine.host import shared, tile_jobs
from engine.host.protocol import OpenPicture, TiledScreen, WantedTiles
from engine.host.request import Check, Preview, Run, segments_of
from engine.host.shared_picture import render
from engine.mask.mask import Mask
from engine.work.chain_files import chain_named
from engine.work.filtering.variants import VARIANTS
from engine.work.messages import MEASURED_SIDE, PictureJob
from tests.picture_jobs import mask_job, operation_job

pytestmark = pytest.mark.usefixtures("in_files")

MASK = Mask(np.random.default_rng(2).random((5, 7)) - 0.4, anchor=(1, 5))
SEPARABLE = Mask(np.outer([1.0, 2.0, 1.0], [3.0, 1.0, 2.0, 5.0, 1.0]) / 60)
CPU = [one.key for one in VARIANTS.on("cpu") if one.band_invariant]


@pytest.fixture
def pixels():
    return np.random.default_rng(8).random((530, 601, 1), np.float32) * np.float32(1.4) - np.float32(0.2)


@pytest.fixture
def picture(ask, tmp_path, pixels):
    np.save(tmp_path / "big.npy", pixels)
    return ask(OpenPicture(str(tmp_path / "big.npy")))


@pytest.fixture
def assert_tiles(ask):
    """Return a function that checks tiles of a job's result against a picture as the screen shows it."""

    def check(job, level, places, values, white, mode="clip"):
        shown = np.empty((*values.shape[:2], 4), np.uint8)
        render(values, [shown], white, mode)
        reply = ask(WantedTiles(job.picture.screen, level, places, job=job))
        assert {tile.place for tile in reply.tiles} == set(places)
        for tile in reply.tiles:
            part = shown[job.picture.screen.extent(level, tile.place)]
            np.testing.assert_array_equal(shared.attach(tile.pixels), part)

    return check


@pytest.mark.slow
@pytest.mark.parametrize("border", Border)
def test_that_any_rectangle_has_the_bits_of_the_whole(picture, pixels, border, assert_parts):
    for variant, mask in (("cpu-separable", SEPARABLE), ("cpu-parallel", MASK)):
        job = mask_job(picture=picture, mask=mask, variant=variant, border=border, device="cpu", cval=0.3)
        how = {"border": border, "cval": 0.3 * (border == "constant"), "variant": variant, "device": "cpu"}
        assert_parts(picture.screen, job, engine.correlate(pixels, mask, **how))


def test_that_tiles_are_the_result_as_the_screen_shows_it(ask, picture, pixels, assert_tiles):
    job = mask_job(picture=picture, mask=MASK, range_mode="absolute")
    variant = ask(Preview(job)).variant
    whole = engine.correlate(pixels, MASK, variant=variant)
    assert_tiles(job, 0, ((0, 0), (0, 1), (0, 2), (2, 2), (1, 0)), whole, 1.0, "absolute")
    # A smaller level is the mask on the reduced picture.
    reduced = tile_jobs.opened(picture.screen.key).rectangle(1, slice(0, 265), slice(0, 301), np.inf)
    job = mask_job(picture=picture, mask=MASK)
    assert_tiles(job, 1, ((0, 0), (0, 1), (1, 1)), engine.correlate(reduced, MASK, variant=variant), 1.0)


def test_that_rescaling_uses_one_range_for_all_tiles(ask, picture, pixels, assert_tiles):
    job = mask_job(picture=picture, mask=Mask([[1.0]]), range_mode="rescale")
    assert "range of 16 parts" in ask(Preview(job)).screen.note
    # The parts cover a picture of this size: its own range.
    assert_tiles(job, 0, ((1, 1),), pixels, 1.0, "rescale")


def test_that_a_preview_computes_nothing_before_it_is_seen_and_chooses_what_computes_parts(ask, picture):
    box = Mask(np.full((31, 31), 1 / 961))
    reply = ask(Preview(mask_job(picture=picture, mask=box, device="cpu")))
    assert isinstance(reply.screen, TiledScreen)
    assert (reply.values, segments_of(reply)) == (None, ())
    assert reply.variant in CPU
    found = ask(Check(mask_job(picture=picture, mask=MASK)))
    assert {one.variant for one in found if not one.reason} >= {"cpu-serial", "cpu-parallel"}


def test_that_a_run_measures_the_part_that_is_looked_at(ask, tmp_path):
    np.save(tmp_path / "wide.npy", np.zeros((64, MEASURED_SIDE + 100), np.uint8))
    picture = ask(OpenPicture(str(tmp_path / "wide.npy")))
    job = mask_job(picture=picture, mask=Mask([[1.0]]), variant="cpu-serial", device="cpu", centre=(3, 9999))
    result = ask(Run(job, 0.0)).result
    assert result.is_proven
    assert (result.problem.height, result.problem.width) == (64, MEASURED_SIDE)


@pytest.mark.slow
def test_that_operations_and_chains_on_a_picture_in_its_file_have_the_bits_of_the_whole(
    ask, picture, pixels, assert_parts
):
    median = operation_job(operation="median", settings={"size": 3}, picture=picture, device="cpu")
    chain = PictureJob(chain=chain_named("unsharp"), picture=picture, device="cpu")
    wholes = (
        engine.operate(pixels, "median", size=3, device="cpu").picture,
        engine.chain(pixels, "unsharp", device="cpu").values,
    )
    for job, whole in zip((median, chain), wholes, strict=True):
        assert ask(Preview(job)).values is None
        assert_parts(picture.screen, job, whole)
        assert ask(Run(job, 0.0)).result.is_proven


@pytest.mark.parametrize("operation", ["equalise", "histogram", "find-patch"])
def test_that_what_needs_all_of_a_picture_in_its_file_is_refused_in_words(ask, picture, operation):
    job = operation_job(operation=operation, settings={}, picture=picture)
    with pytest.raises(engine.EngineError, match="whole picture"):
        ask(Preview(job))
