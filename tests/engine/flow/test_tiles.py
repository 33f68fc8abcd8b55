"""Results of large pictures by tile: the bits of the whole, at any level, under every border rule."""

import numpy as np
import pytest

import engine
from engine.geometry.border import Border
from engine.host import shared, tile_jobs
from engine.host.picture_jobs import open_picture
from engine.host.protocol import OpenPicture, TiledScreen, WantedTiles, WantedValues
from engine.host.request import Check, Preview, Run, answer, segments_of
from engine.host.shared_picture import render
from engine.mask.mask import Mask
from engine.work.chain_files import chain_named
from engine.work.filtering.variants import VARIANTS
from engine.work.messages import MEASURED_SIDE, PictureJob
from tests.picture_jobs import mask_job, operation_job

MASK = Mask(np.random.default_rng(2).random((5, 7)) - 0.4, anchor=(1, 5))
SEPARABLE = Mask(np.outer([1.0, 2.0, 1.0], [3.0, 1.0, 2.0, 5.0, 1.0]) / 60)
CPU = [one.key for one in VARIANTS.on("cpu") if one.band_invariant]


def silent(step):
    """Report nothing."""


@pytest.fixture(autouse=True)
def all_is_large(monkeypatch):
    """Keep arrays of any size in their files; afterwards close all."""
    monkeypatch.setattr(tile_jobs, "_IN_MEMORY_BYTES", 0)
    yield
    for tiles in tile_jobs._open.values():
        tiles.picture.close()
    tile_jobs._open.clear()


@pytest.fixture
def pixels():
    return np.random.default_rng(8).random((530, 601, 1), np.float32) * np.float32(1.4) - np.float32(0.2)


@pytest.fixture
def picture(tmp_path, pixels):
    np.save(tmp_path / "big.npy", pixels)
    return open_picture(OpenPicture(str(tmp_path / "big.npy")), silent)


def values_of(job, rows, columns):
    reply = answer(WantedValues(job.picture.screen, rows, columns, job=job), silent)
    values = shared.attach(reply.values).copy()
    shared.unlink(*segments_of(reply))
    return values


def tiles_of(job, level, places):
    reply = answer(WantedTiles(job.picture.screen, level, places, job=job), silent)
    found = {tile.place: shared.attach(tile.pixels).copy() for tile in reply.tiles}
    shared.unlink(*segments_of(reply))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("border", Border)
@pytest.mark.parametrize(("variant", "mask"), [("cpu-separable", SEPARABLE), ("cpu-parallel", MASK)])
def test_that_any_rectangle_has_the_bits_of_the_whole(picture, pixels, border, variant, mask):
    job = mask_job(picture=picture, mask=mask, variant=variant, border=border, device="cpu", cval=0.3)
    whole = engine.correlate(
        pixels, mask, border=border, cval=0.3 * (border == "constant"), variant=variant, device="cpu"
    )
    for rows, columns in (((0, 9), (0, 700)), ((521, 530), (590, 601)), ((200, 300), (250, 260))):
        columns = columns[0], min(columns[1], 601)
        found = values_of(job, rows, columns)
        np.testing.assert_array_equal(found, whole[slice(*rows), slice(*columns)])


def test_that_tiles_are_the_result_as_the_screen_shows_it(picture, pixels):
    job = mask_job(picture=picture, mask=MASK, range_mode="absolute")
    variant = answer(Preview(job), silent).variant
    whole = engine.correlate(pixels, MASK, variant=variant)
    shown = np.empty((530, 601, 4), np.uint8)
    render(whole, [shown], 1.0, "absolute")
    places = ((0, 0), (0, 1), (0, 2), (2, 2), (1, 0))
    found = tiles_of(job, 0, places)
    assert set(found) == set(places)
    for (row, column), tile in found.items():
        np.testing.assert_array_equal(
            tile, shown[row * 256 : row * 256 + 256, column * 256 : column * 256 + 256]
        )


def test_that_a_smaller_level_is_the_mask_on_the_reduced_picture(picture):
    job = mask_job(picture=picture, mask=MASK)
    variant = answer(Preview(job), silent).variant
    reduced = tile_jobs.opened(picture.screen.key).rectangle(1, slice(0, 265), slice(0, 301), np.inf)
    shown = np.empty((265, 301, 4), np.uint8)
    render(engine.correlate(reduced, MASK, variant=variant), [shown], 1.0)
    found = tiles_of(job, 1, ((0, 0), (0, 1), (1, 1)))
    np.testing.assert_array_equal(found[0, 1], shown[:256, 256:])
    np.testing.assert_array_equal(found[1, 1], shown[256:, 256:])


def test_that_rescaling_uses_one_range_for_all_tiles(picture, pixels):
    job = mask_job(picture=picture, mask=Mask([[1.0]]), range_mode="rescale")
    reply = answer(Preview(job), silent)
    assert "range of 16 parts" in reply.screen.note
    tile = tiles_of(job, 0, ((1, 1),))[1, 1]
    # The parts cover a picture of this size: its own range.
    shown = np.empty((530, 601, 4), np.uint8)
    render(pixels, [shown], 1.0, "rescale")
    np.testing.assert_array_equal(tile, shown[256:512, 256:512])


def test_that_a_preview_computes_nothing_before_it_is_seen_and_chooses_what_computes_parts(picture):
    box = Mask(np.full((31, 31), 1 / 961))
    reply = answer(Preview(mask_job(picture=picture, mask=box, device="cpu")), silent)
    assert isinstance(reply.screen, TiledScreen)
    assert (reply.values, segments_of(reply)) == (None, ())
    assert reply.variant in CPU
    found = answer(Check(mask_job(picture=picture, mask=MASK)), silent)
    assert {one.variant for one in found if not one.reason} >= {"cpu-serial", "cpu-parallel"}


def test_that_a_run_measures_the_part_that_is_looked_at(tmp_path):
    side = MEASURED_SIDE + 100
    np.save(tmp_path / "wide.npy", np.zeros((64, side), np.uint8))
    picture = open_picture(OpenPicture(str(tmp_path / "wide.npy")), silent)
    job = mask_job(picture=picture, mask=Mask([[1.0]]), variant="cpu-serial", device="cpu", centre=(3, 9999))
    result = answer(Run(job, 0.0), silent).result
    assert result.is_proven
    assert (result.problem.height, result.problem.width) == (64, MEASURED_SIDE)


@pytest.mark.slow
def test_that_operations_and_chains_on_a_picture_in_its_file_have_the_bits_of_the_whole(picture, pixels):
    median = operation_job(operation="median", settings={"size": 5}, picture=picture, device="cpu")
    chain = PictureJob(chain=chain_named("unsharp"), picture=picture, device="cpu")
    wholes = (
        engine.operate(pixels, "median", size=5, device="cpu").picture,
        engine.chain(pixels, "unsharp", device="cpu").values,
    )
    for job, whole in zip((median, chain), wholes, strict=True):
        assert answer(Preview(job), silent).values is None
        for rows, columns in (((0, 9), (0, 601)), ((200, 300), (250, 260))):
            np.testing.assert_array_equal(values_of(job, rows, columns), whole[slice(*rows), slice(*columns)])
        assert answer(Run(job, 0.0), silent).result.is_proven


@pytest.mark.parametrize("operation", ["equalise", "histogram", "find-patch"])
def test_that_what_needs_all_of_a_picture_in_its_file_is_refused_in_words(picture, operation):
    job = operation_job(operation=operation, settings={}, picture=picture)
    with pytest.raises(engine.EngineError, match="whole picture"):
        answer(Preview(job), silent)
