import os

import numpy as np
import pytest
import tifffile
from PIL import Image, ImageCms

from engine.errors import BadValue, FileWriteError, ImageWriteError
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
    shape = (7, columns) if channels == 1 else (7, columns, channels)
    if dtype == np.float32:
        return Picture(
            generator.normal(0, 1000, shape).astype(np.float32),
            generator.random((7, columns), np.float32) if has_alpha else None,
        )
    top = np.iinfo(dtype).max + 1
    return Picture(
        generator.integers(0, top, shape, dtype=dtype),
        generator.integers(0, top, (7, columns), dtype=dtype) if has_alpha else None,
    )


def assert_same(saved, picture):
    assert saved.dtype == picture.dtype
    assert np.array_equal(saved.pixels, picture.pixels)
    assert (saved.alpha is None) == (picture.alpha is None)
    assert saved.alpha is None or np.array_equal(saved.alpha, picture.alpha)
    assert saved.notes == ()


@pytest.mark.parametrize("has_alpha", [False, True], ids=["opaque", "alpha"])
@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("columns", [1, 2, 3, 5, 41])
@pytest.mark.parametrize(
    ("extension", "dtype"),
    [("png", np.uint8), ("png", np.uint16), ("tif", np.uint8), ("tiff", np.uint16), ("tif", np.float32)],
)
def test_that_an_exact_format_gives_back_what_was_saved(
    tmp_path, extension, dtype, channels, columns, has_alpha
):
    picture = picture_of(dtype, channels, has_alpha=has_alpha, columns=columns)
    path = tmp_path / f"a.{extension}"
    assert save_image(picture, path) == ()
    assert_same(open_image(path), picture)


@pytest.mark.parametrize("has_alpha", [False, True], ids=["opaque", "alpha"])
def test_that_webp_is_exact_at_quality_100(tmp_path, has_alpha):
    picture = picture_of(np.uint8, 3, has_alpha=has_alpha)
    assert save_image(picture, tmp_path / "a.webp", quality=100) == ()
    assert_same(open_image(tmp_path / "a.webp"), picture)


@pytest.mark.parametrize("extension", ["jpg", "jpeg", "webp"])
def test_that_a_lossy_format_is_near(tmp_path, extension):
    path = tmp_path / f"a.{extension}"
    assert save_image(smooth_rgb(), path) == ()
    saved = open_image(path)
    assert saved.pixels.shape == smooth_rgb().shape
    assert np.abs(saved.pixels.astype(int) - smooth_rgb()).mean() < 2


def test_that_quality_changes_the_size(tmp_path):
    for extension in ("jpg", "webp"):
        sizes = []
        for quality in (1, 50, 99):
            save_image(smooth_rgb(), tmp_path / f"a.{extension}", quality=quality)
            sizes.append((tmp_path / f"a.{extension}").stat().st_size)
        assert sizes == sorted(set(sizes))


@pytest.mark.parametrize("has_alpha", [False, True], ids=["opaque", "alpha"])
@pytest.mark.parametrize("channels", [1, 3])
def test_that_other_programs_find_all_16_bits(tmp_path, channels, has_alpha):
    picture = picture_of(np.uint16, channels, has_alpha=has_alpha)
    expected = picture.pixels if not has_alpha else np.dstack([picture.pixels, picture.alpha])
    save_image(picture, tmp_path / "a.png")
    assert np.array_equal(png_witness.decode((tmp_path / "a.png").read_bytes()).squeeze(), expected)
    save_image(picture, tmp_path / "a.tif")
    assert np.array_equal(tifffile.imread(tmp_path / "a.tif"), expected)


@pytest.mark.parametrize("extension", ["png", "jpg", "tif", "webp"])
def test_that_the_colour_profile_is_kept(tmp_path, extension):
    path = tmp_path / f"a.{extension}"
    assert save_image(Picture(smooth_rgb(), icc_profile=RGB_PROFILE), path) == ()
    assert open_image(path).icc_profile == RGB_PROFILE
    with Image.open(path) as image:
        assert image.info["icc_profile"] == RGB_PROFILE


@pytest.mark.parametrize("extension", ["png", "jpg", "tif"])
def test_that_a_grey_profile_stays_with_a_grey_picture(tmp_path, extension):
    path = tmp_path / f"a.{extension}"
    grey = np.ascontiguousarray(smooth_rgb()[..., 0])
    save_image(Picture(grey, icc_profile=GREY_PROFILE), path)
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


def test_that_float_is_rounded_only_when_asked(tmp_path):
    image = np.array([[-1.0, 0.5, 1.5, 300.0, np.nan]], np.float32)
    save_image(image, tmp_path / "a.png", depth="8")
    assert open_image(tmp_path / "a.png").pixels.tolist() == [[0, 0, 2, 255, 0]]
    save_image(image, tmp_path / "a.png", depth="16")
    assert open_image(tmp_path / "a.png").pixels.tolist() == [[0, 0, 2, 300, 0]]
    save_image(np.full((1, 5), 7, np.uint8), tmp_path / "a.tif", depth="float32")
    assert open_image(tmp_path / "a.tif").pixels.tolist() == [[7.0] * 5]


def test_that_alpha_follows_the_depth(tmp_path):
    picture = Picture(np.full((1, 2), 9.0, np.float32), np.array([[0.0, 1.0]], np.float32))
    save_image(picture, tmp_path / "a.png", depth="16")
    assert open_image(tmp_path / "a.png").alpha.tolist() == [[0, 65535]]


@pytest.mark.parametrize("name", ["a.xyz", "a", "a.gif", "a.png.bak"])
def test_that_an_unknown_extension_is_refused_with_the_known_ones(tmp_path, name):
    with pytest.raises(ImageWriteError) as caught:
        save_image(smooth_rgb(), tmp_path / name)
    assert ".png, .jpg, .jpeg, .tif, .tiff, .webp" in caught.value.remedy
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("options", [{"quality": 0}, {"quality": 101}, {"depth": "12"}])
def test_that_an_option_out_of_range_is_refused(tmp_path, options):
    with pytest.raises(ImageWriteError):
        save_image(smooth_rgb(), tmp_path / "a.jpg", **options)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(("extension", "limit"), [("jpg", 65_500), ("webp", 16_383)])
def test_that_a_side_that_the_format_cannot_hold_is_refused(tmp_path, extension, limit):
    with pytest.raises(ImageWriteError, match=f"{limit:,} pixels"):
        save_image(np.zeros((1, limit + 1), np.uint8), tmp_path / f"a.{extension}")
    save_image(np.zeros((1, limit), np.uint8), tmp_path / f"a.{extension}")
    assert open_image(tmp_path / f"a.{extension}").width == limit


def test_that_an_array_that_is_no_picture_is_refused(tmp_path):
    with pytest.raises(BadValue):
        save_image(np.zeros((3, 3), np.int64), tmp_path / "a.png")


def test_that_a_folder_that_does_not_exist_is_told(tmp_path):
    with pytest.raises(FileWriteError, match="folder does not exist"):
        save_image(smooth_rgb(), tmp_path / "none" / "a.png")


@pytest.mark.parametrize("extension", ["png", "jpg", "tif", "webp"])
def test_that_a_failed_save_leaves_the_old_picture(tmp_path, monkeypatch, extension):
    path = tmp_path / f"a.{extension}"
    save_image(smooth_rgb(), path)
    old = path.read_bytes()

    def fail(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(FileWriteError, match="disk is full"):
        save_image(np.zeros((9, 9), np.uint8), path)
    assert path.read_bytes() == old
    assert os.listdir(tmp_path) == [path.name]
