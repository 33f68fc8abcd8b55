"""What the host answers for large pictures, without a host around it."""

import os
from functools import partial

import numpy as np
import pytest
import tifffile
from PIL import Image

import engine
from engine.errors import BadValue, ImageReadError
from engine.host import picture_jobs, shared, shared_picture, tile_jobs
from engine.host.picture_jobs import open_picture
from engine.host.protocol import (
    CloseTiled,
    FilePixels,
    OpenPicture,
    ScreenLevels,
    TiledScreen,
    WantedTiles,
    WantedValues,
)
from engine.host.request import segments_of
from engine.image.convert import halved
from engine.image.faults import Refused
from engine.image.format import Budget
from engine.image.open import open_image
from engine.mask.presets import preset
from engine.work.chain_files import chain_named
from engine.work.messages import PictureJob, SaveFiltered
from tests.picture_jobs import mask_job, operation_job

pytestmark = pytest.mark.usefixtures("in_files")


def opened(path):
    return open_picture(OpenPicture(str(path)), lambda step: None)


@pytest.fixture
def answered(ask):
    """Return a function that returns a reply and the arrays of it."""

    def arrays_of(request):
        reply = ask(request)
        arrays = [reply.values] if hasattr(reply, "values") else [tile.pixels for tile in reply.tiles]
        return reply, [None if array is None else shared.attach(array) for array in arrays]

    return arrays_of


@pytest.fixture
def pixels():
    return np.random.default_rng(3).integers(0, 256, (700, 900, 3), np.uint8)


@pytest.fixture
def path(tmp_path, pixels):
    np.save(tmp_path / "big.npy", pixels)
    return tmp_path / "big.npy"


def test_that_a_large_array_is_opened_without_its_pixels(path, pixels):
    handle = opened(path)
    assert (handle.pixels.shape, handle.dtype, handle.channels) == (pixels.shape, "uint8", 3)
    assert isinstance(handle.pixels, FilePixels)
    assert handle.screen.levels == ((700, 900), (350, 450), (175, 225))
    assert segments_of(handle) == ()
    with pytest.raises(BadValue, match=r"big\.npy, 900 × 700 pixels.* stays in its file"):
        assert handle.in_memory


def test_that_a_small_array_is_opened_as_other_pictures_are(path, pixels, monkeypatch):
    monkeypatch.setattr(tile_jobs, "_IN_MEMORY_BYTES", 1 << 30)
    handle = opened(path)
    assert isinstance(handle.screen, ScreenLevels)
    np.testing.assert_array_equal(shared.attach(handle.pixels), pixels)
    assert not tile_jobs._open
    shared.unlink(handle.pixels.name)


def test_that_a_tiff_over_the_limit_is_opened_in_parts(tmp_path, pixels, monkeypatch):
    tifffile.imwrite(tmp_path / "big.tif", pixels, photometric="rgb", tile=(128, 128))
    monkeypatch.setattr(picture_jobs, "open_image", partial(picture_jobs.open_image, max_bytes=1 << 20))
    handle = opened(tmp_path / "big.tif")
    assert isinstance(handle.screen, TiledScreen)
    assert handle.description == "big.tif  900 × 700  RGB  8 bit, TIFF, tiled"


@pytest.fixture
def decoded(tmp_path, pixels, monkeypatch):
    """Return a picture with alpha in a file that is not read in parts, and whose result is too large."""
    monkeypatch.setattr(picture_jobs, "WHOLE_RESULT_BYTES", 0)
    opacity = np.full((*pixels.shape[:2], 1), 255, np.uint8)
    Image.fromarray(np.dstack([pixels, opacity])).save(tmp_path / "big.png", dpi=(300, 300))
    return opened(tmp_path / "big.png")


def test_that_a_picture_whose_result_is_too_large_is_decoded_and_filtered_where_it_is_seen(decoded):
    assert isinstance(decoded.pixels, FilePixels)
    assert decoded.screen.levels == ((700, 900), (350, 450), (175, 225))
    assert decoded.description == "big.png  900 × 700  RGB with alpha  8 bit, PNG"
    assert (os.path.basename(decoded.path), round(decoded.metadata.dpi[0])) == ("big.png", 300)


@pytest.mark.slow
@pytest.mark.parametrize("level", [0, 1, 2])
def test_that_tiles_of_a_decoded_picture_are_its_pixels_halved(decoded, pixels, answered, level):
    _, (tile,) = answered(WantedTiles(decoded.screen, level, ((0, 0),)))
    wanted = pixels
    for _ in range(level):
        wanted = halved(wanted)
    np.testing.assert_array_equal(tile[..., 2::-1], wanted[:256, :256])


def test_that_the_result_of_a_decoded_picture_is_saved_in_parts(ask, decoded, pixels, tmp_path):
    path = str(tmp_path / "out.tif")
    ask(SaveFiltered(mask_job(mask=preset("identity"), picture=decoded), path))
    saved = open_image(path)
    np.testing.assert_array_equal(saved.pixels, pixels)
    assert (saved.alpha == 255).all()


@pytest.mark.slow
def test_that_results_of_operations_and_chains_are_saved_in_parts(ask, decoded, pixels, tmp_path):
    median = operation_job(operation="median", settings={"size": 3}, picture=decoded)
    chain = PictureJob(chain=chain_named("unsharp"), picture=decoded)
    wholes = (
        engine.operate(pixels, "median", size=3, device="cpu", budget_s=0.0).picture,
        engine.chain(pixels, "unsharp", device="cpu", budget_s=0.0).picture,
    )
    for number, (job, whole) in enumerate(zip((median, chain), wholes, strict=True)):
        path = str(tmp_path / f"{number}.tif")
        ask(SaveFiltered(job, path))
        np.testing.assert_array_equal(open_image(path).pixels, whole)


def test_that_another_format_over_the_limit_and_a_folder_are_refused_as_before(tmp_path, monkeypatch):
    Image.new("L", (900, 700)).save(tmp_path / "big.png")

    def refuse(self, form, decoder_bytes=0):
        raise Refused("its pixels take too much", shared_picture.MAKE_SMALLER)

    monkeypatch.setattr(Budget, "check", refuse)
    for path, says in ((tmp_path / "big.png", "take too much"), (tmp_path, "it is a folder")):
        with pytest.raises(ImageReadError, match=says):
            opened(path)


def test_that_tiles_and_values_are_the_pixels_of_the_file_which_is_opened_where_it_is_not(
    ask, path, pixels, answered
):
    screen = opened(path).screen
    for _ in range(2):
        reply, (right, lowest) = answered(WantedTiles(screen, 0, ((0, 3), (2, 0))))
        assert [tile.place for tile in reply.tiles] == [(0, 3), (2, 0)]
        np.testing.assert_array_equal(right[..., 2::-1], pixels[:256, 768:])
        np.testing.assert_array_equal(lowest[..., 2::-1], pixels[512:, :256])
        _, (values,) = answered(WantedValues(screen, (690, 700), (3, 9)))
        np.testing.assert_array_equal(values, pixels[690:700, 3:9])
        # The next host has it not open.
        ask(CloseTiled(screen))
        assert not tile_jobs._open
    path.unlink()
    with pytest.raises(ImageReadError, match="there is no such file"):
        ask(WantedTiles(screen, 0, ((0, 0),)))


def test_that_opacity_is_on_the_screen_and_not_among_the_values(tmp_path, answered):
    pixels = np.full((300, 300, 4), 200, np.uint8)
    pixels[..., 3] = 51
    tifffile.imwrite(
        tmp_path / "alpha.tif", pixels, photometric="rgb", extrasamples=["unassalpha"], tile=(64, 64)
    )
    handle = tile_jobs.open_in_parts(tmp_path / "alpha.tif", ImageReadError("no"), is_too_large=True)
    assert (handle.channels, handle.screen.opaque) == (3, False)
    _, (tile,) = answered(WantedTiles(handle.screen, 0, ((0, 0),)))
    # A fifth of 200, and of 255.
    assert tile[0, 0].tolist() == [40, 40, 40, 51]
    _, (values,) = answered(WantedValues(handle.screen, (0, 1), (0, 1)))
    assert values.tolist() == [[[200, 200, 200]]]


def test_that_at_most_two_pictures_are_open(tmp_path, pixels):
    for number in range(3):
        np.save(tmp_path / f"{number}.npy", pixels)
        opened(tmp_path / f"{number}.npy")
    assert [key[-5] for key in tile_jobs._open] == ["1", "2"]


def test_that_a_file_that_was_replaced_is_another_picture(path, pixels, answered):
    before = opened(path)
    np.save(path, 255 - pixels)
    os.utime(path, ns=(1, 1))
    after = opened(path)
    assert after != before
    _, (tile,) = answered(WantedTiles(after.screen, 0, ((0, 0),)))
    np.testing.assert_array_equal(tile[..., 2::-1], 255 - pixels[:256, :256])


def test_that_a_file_that_is_cut_short_while_it_is_open_marks_the_lost_tiles(path, pixels, answered):
    screen = opened(path).screen
    os.truncate(path, 600 * 900 * 3)
    reply, (first, lost) = answered(WantedTiles(screen, 0, ((0, 0), (2, 0))))
    np.testing.assert_array_equal(first[..., 2::-1], pixels[:256, :256])
    assert lost is None
    assert "cut short" in str(reply.fault)
