import os
import re

import numpy as np
import pytest
import tifffile
from PIL import Image, ImageCms

from engine.errors import ImageWriteError
from engine.image.open import open_image
from engine.image.picture import Picture
from engine.image.save import save_image
from tests.engine.image import png_witness
from tests.engine.image.encoded import smooth_rgb

RGB_PROFILE = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
GREY_PROFILE = RGB_PROFILE[:16] + b"GRAY" + RGB_PROFILE[20:]


def picture_of(dtype, channels, *, has_alpha=False, columns=41):
    """Every value of the type may occur; the float ones lie outside of 0 to 1 and of 0 to 255 too."""
    generator = np.random.default_rng(11)
    samples = generator.normal(0, 1000, (7, columns, channels + 1))
    if dtype != np.float32:
        samples = generator.integers(0, np.iinfo(dtype).max + 1, samples.shape)
    samples = samples.astype(dtype)
    pixels = samples[..., 0] if channels == 1 else samples[..., :channels]
    return Picture(pixels, samples[..., -1] if has_alpha else None)


@pytest.mark.parametrize("has_alpha", [False, True], ids=["opaque", "alpha"])
@pytest.mark.parametrize(
    ("suffix", "dtype", "channels"),
    [
        *((".png", dtype, channels) for dtype in (np.uint8, np.uint16) for channels in (1, 3)),
        *((".tif", dtype, channels) for dtype in (np.uint8, np.uint16, np.float32) for channels in (1, 3)),
        (".tiff", np.uint8, 3),
        (".webp", np.uint8, 3),
    ],
)
def test_that_an_exact_format_gives_back_what_was_saved(tmp_path, suffix, dtype, channels, has_alpha):
    path = tmp_path / f"a{suffix}"
    for columns in (1, 2, 3, 5, 41):
        picture = picture_of(dtype, channels, has_alpha=has_alpha, columns=columns)
        assert save_image(picture, path, quality=100) == ()
        saved = open_image(path)
        assert (saved.dtype, saved.notes, saved.alpha is None) == (dtype, (), not has_alpha)
        assert np.array_equal(saved.pixels, picture.pixels), columns
        assert not has_alpha or np.array_equal(saved.alpha, picture.alpha), columns
        if dtype == np.uint16:
            # Other programs find all 16 bits.
            is_png = suffix == ".png"
            found = png_witness.decode(path.read_bytes()) if is_png else tifffile.imread(path)
            whole = np.dstack([picture.pixels, picture.alpha]) if has_alpha else picture.pixels
            assert np.array_equal(found.reshape(whole.shape), whole), columns


@pytest.mark.parametrize("suffix", [".jpg", ".jpeg", ".webp"])
def test_that_a_lossy_format_is_near_and_its_quality_changes_the_size(tmp_path, suffix):
    path, sizes = tmp_path / f"a{suffix}", []
    for quality in (1, 50, 95):
        assert save_image(smooth_rgb(), path, quality=quality) == ()
        sizes.append(path.stat().st_size)
    assert sizes == sorted(set(sizes))
    saved = open_image(path).pixels
    assert saved.shape == smooth_rgb().shape
    assert np.abs(saved.astype(int) - smooth_rgb()).mean() < 2


@pytest.mark.parametrize("extension", ["png", "jpg", "tif", "webp"])
def test_that_the_colour_profile_is_kept(tmp_path, extension):
    path = tmp_path / f"a.{extension}"
    assert save_image(Picture(smooth_rgb(), icc_profile=RGB_PROFILE), path) == ()
    assert open_image(path).icc_profile == RGB_PROFILE
    with Image.open(path) as image:
        assert image.info["icc_profile"] == RGB_PROFILE
    if extension != "webp":
        save_image(Picture(smooth_rgb()[..., 0], icc_profile=GREY_PROFILE), path)
        assert open_image(path).icc_profile == GREY_PROFILE


def test_that_what_a_format_cannot_keep_is_left_out_with_a_sentence(tmp_path):
    grey = Picture(np.zeros((4, 4), np.uint8), np.zeros((4, 4), np.uint8), RGB_PROFILE)
    left_out = save_image(grey, tmp_path / "a.jpg")
    assert ["alpha" in left_out[0], "profile" in left_out[1], len(left_out)] == [True, True, 2]
    assert open_image(tmp_path / "a.jpg").icc_profile is None
    assert "grey" in save_image(Picture(grey.pixels), tmp_path / "a.webp")[0]
    assert open_image(tmp_path / "a.webp").channels == 3


@pytest.mark.parametrize(
    ("extension", "dtype"),
    [("png", np.float32), ("jpg", np.float32), ("jpg", np.uint16), ("webp", np.float32), ("webp", np.uint16)],
)
def test_that_a_depth_that_the_format_has_not_is_refused_with_what_would_do(tmp_path, extension, dtype):
    path = tmp_path / f"a.{extension}"
    with pytest.raises(ImageWriteError) as caught:
        save_image(picture_of(dtype, 3), path)
    assert "TIFF" in caught.value.remedy
    assert not path.exists()
    save_image(picture_of(dtype, 3), path, depth="8")
    assert open_image(path).dtype == np.uint8


@pytest.mark.parametrize(
    ("image", "depth", "wanted"),
    [
        (np.array([[-1.0, 0.5, 1.5, 300.0, np.nan]], np.float32), "8", [[0, 0, 2, 255, 0]]),
        (np.array([[-1.0, 0.5, 1.5, 300.0, np.nan]], np.float32), "16", [[0, 0, 2, 300, 0]]),
        (np.full((1, 5), 7, np.uint8), "float32", [[7.0] * 5]),
    ],
)
def test_that_values_are_rounded_only_when_asked(tmp_path, image, depth, wanted):
    path = tmp_path / ("a.tif" if depth == "float32" else "a.png")
    opaque = np.full_like(image, 255 if image.dtype == np.uint8 else 1)
    save_image(Picture(image, opaque), path, depth=depth)
    saved = open_image(path)
    assert saved.pixels.tolist() == wanted
    assert (saved.alpha == {"8": 255, "16": 65535, "float32": 1}[depth]).all()


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        *((name, {}, ": .png, .jpg, .jpeg, .tif, .tiff, .webp.") for name in ("a.gif", "a", "a.png.bak")),
        *(("a.jpg", {"quality": quality}, "not between 1 and 100") for quality in (0, 101)),
        ("a.jpg", {"depth": "12"}, "there is no depth '12'. Choose one of: keep, 8, 16, float32."),
    ],
)  # fmt: skip
def test_that_an_unknown_extension_or_option_is_refused_with_what_would_do(tmp_path, name, options, words):
    with pytest.raises(ImageWriteError, match=re.escape(words)):
        save_image(smooth_rgb(), tmp_path / name, **options)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(("extension", "limit"), [("jpg", 65_500), ("webp", 16_383)])
def test_that_a_side_that_the_format_cannot_hold_is_refused(tmp_path, extension, limit):
    with pytest.raises(ImageWriteError, match=f"{limit:,} pixels"):
        save_image(np.zeros((1, limit + 1), np.uint8), tmp_path / f"a.{extension}")
    save_image(np.zeros((1, limit), np.uint8), tmp_path / f"a.{extension}")
    assert open_image(tmp_path / f"a.{extension}").width == limit
