"""What `open_picture` hands over and `save_result` writes, without a host around them."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from engine.errors import ImageReadError, ImageWriteError
from engine.host import shared
from engine.host.picture_jobs import open_picture, save_result
from engine.host.protocol import OpenPicture, PictureHandle, Saved, SaveResult, ScreenLevels
from engine.host.shared_array import SharedArray
from engine.image.open import open_image
from tests.engine.image.encoded import one_of_each, png_header, smooth_rgb, with_pillow


@contextmanager
def opened(path: Path) -> Iterator[PictureHandle]:
    """Open a file as the host does; its memory is given up at the end."""
    handle = open_picture(OpenPicture(str(path)), lambda step: None)
    yield handle
    shared.unlink(handle.pixels.name)


def exif(orientation: int) -> Image.Exif:
    block = Image.Exif()
    block[274] = orientation
    return block


KINDS = one_of_each() | {
    "turned": with_pillow(smooth_rgb(), "JPEG", exif=exif(6)),
    "alpha": with_pillow(np.dstack([smooth_rgb(), smooth_rgb()[..., :1]]), "PNG"),
    "alpha-turned": with_pillow(np.dstack([smooth_rgb(), smooth_rgb()[..., :1]]), "PNG", exif=exif(8)),
    "grey": with_pillow(smooth_rgb()[..., 0], "PNG"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_that_a_picture_in_shared_memory_is_the_one_that_the_file_holds(tmp_path, kind):
    path = tmp_path / "picture"
    path.write_bytes(KINDS[kind])
    wanted = open_image(path)
    with opened(path) as handle:
        pixels = shared.attach(handle.pixels)
        assert pixels.dtype == wanted.dtype
        assert np.array_equal(pixels, wanted.pixels.reshape(pixels.shape))
        assert (handle.height, handle.width) == wanted.pixels.shape[:2]
        assert (handle.alpha is None) == (wanted.alpha is None)
        if handle.alpha is not None:
            assert np.array_equal(shared.attach(handle.alpha), wanted.alpha)
        (level, *_) = handle.screen.levels
        assert level.shape == (*wanted.pixels.shape[:2], 4)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (
            png_header(20_000, 40_000),
            "showing its 20,000 x 40,000 pixels takes 7.0 GiB, the limit is 4.0 GiB",
        ),
        (with_pillow(smooth_rgb(300, 300), "JPEG")[:-900] + b"\xff\xd9", "cut short or is damaged"),
        (one_of_each()["tiff-deflate"].replace(b"x\x9c", b"x\x00"), "damaged"),
    ],
    ids=["too large", "cut", "damaged"],
)
def test_that_a_picture_that_is_not_opened_leaves_no_memory_in_use(tmp_path, data, words):
    path = tmp_path / "picture"
    path.write_bytes(data)
    in_use = set(shared._attached)
    with pytest.raises(ImageReadError) as caught, opened(path):
        pass
    assert words in caught.value.why
    assert set(shared._attached) == in_use


def test_that_the_window_is_told_what_a_person_there_can_do_about_a_picture_too_large(tmp_path):
    large, larger = tmp_path / "large.png", tmp_path / "larger.png"
    large.write_bytes(png_header(20_000, 40_000))
    with larger.open("wb") as file:
        file.truncate(2**32 + 1)
    for path in (large, larger):
        with pytest.raises(ImageReadError) as caught, opened(path):
            pass
        assert "the limit is 4.0 GiB" in caught.value.why
        assert caught.value.remedy.startswith("Scale it down, or cut out a part")
        assert "max" not in str(caught.value)


@pytest.mark.parametrize("with_result", [False, True])
def test_that_a_save_from_the_window_reports_what_it_drops_and_refuses_an_unknown_depth(
    tmp_path, with_result
):
    path = tmp_path / "in.jpg"
    path.write_bytes(with_pillow(smooth_rgb(), "JPEG", exif=exif(1), dpi=(300, 300)))
    with opened(path) as handle:
        (values,) = shared.create((handle.pixels.shape, "float32"))
        shared.attach(values)[...] = 7
        result = values if with_result else None
        saved = save_result(SaveResult(handle, result, str(tmp_path / "out.png")), lambda step: None)
        unknown = SaveResult(handle, result, str(tmp_path / "other.png"), depth="12")
        with pytest.raises(ImageWriteError, match="no depth '12'"):
            save_result(unknown, lambda step: None)
        shared.unlink(values.name)
    assert saved.notes == ("EXIF data and resolution (DPI) of the opened file are not saved.",)
    assert not (tmp_path / "other.png").exists()


def save(
    pixels: np.ndarray, values: np.ndarray, path: Path, depth: str, *alpha: np.ndarray, **more: str
) -> Saved:
    """Save a result of a picture, both in shared memory for that time."""
    made: list[SharedArray] = []
    for array in (pixels, values, *alpha):
        made += shared.create((array.shape, array.dtype.name))
        shared.attach(made[-1])[...] = array
    picture = PictureHandle(made[0], made[2] if alpha else None, ScreenLevels(()), "made", "made")
    try:
        return save_result(SaveResult(picture, made[1], str(path), depth=depth, **more), lambda step: None)
    finally:
        shared.unlink(*(array.name for array in made))


def test_that_16_bit_of_an_8_bit_picture_keep_fractions_of_a_grey_level(tmp_path):
    values = np.array([[[5.25], [100.25]]], np.float32)
    saved = save(np.zeros((1, 2, 1), np.uint8), values, tmp_path / "out.png", "16")
    assert saved == Saved(str(tmp_path / "out.png"))
    assert open_image(saved.path).pixels.tolist() == [[1349, 25764]]


def test_that_the_range_mode_holds_for_a_float_picture(tmp_path):
    values = np.array([[[-3.0], [6.0]]], np.float32)
    saved = save(np.zeros_like(values), values, tmp_path / "out.png", "8", range_mode="absolute")
    assert open_image(saved.path).pixels.tolist() == [[3, 6]]


def test_that_what_a_file_cannot_hold_is_in_the_reply(tmp_path):
    grey = np.zeros((2, 3, 1), np.uint8)
    alpha = np.full((2, 3), 255, np.uint8)
    (note,) = save(grey, grey.astype(np.float32), tmp_path / "out.jpg", "keep", alpha).notes
    assert "JPEG has no alpha" in note
    values = np.array([[[np.nan], [6.0]]], np.float32)
    saved = save(values, values, tmp_path / "out.png", "8")
    (note,) = saved.notes
    assert "1 is NaN, which 8 bit cannot hold: saved as 0." in note
    assert open_image(saved.path).pixels.tolist() == [[0, 6]]
    kept = save(values, values, tmp_path / "out.tif", "float32")
    assert kept.notes == ()
    assert np.array_equal(open_image(kept.path).pixels, values[:, :, 0], equal_nan=True)
