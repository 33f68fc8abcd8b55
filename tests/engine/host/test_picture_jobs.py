"""What the host's jobs do, without a host around them: open, save, show levels."""

import itertools
import math
import os
from contextlib import contextmanager

import numpy as np
import pytest
from PIL import Image

from engine.errors import BadValue, Cancelled, ImageReadError, ImageWriteError
from engine.flow import tiles as result_of_window
from engine.geometry.border import RANGE_MODES
from engine.host import picture_jobs, shared
from engine.host.picture_jobs import WHOLE_RESULT_BYTES, bytes_with_result, open_picture, save_result
from engine.host.protocol import (
    PERCENTILES,
    CropPicture,
    MeasurePicture,
    OpenPicture,
    PictureHandle,
    Saved,
    SaveResult,
    ScreenLevels,
    ShowWindow,
)
from engine.host.request import ComputedResult
from engine.host.shared_picture import SMALLEST_LEVEL, SharedSegment, level_shapes, render, screen_arrays
from engine.host.tile_jobs import TILES_BYTES
from engine.image.convert import full_scale_of, pixels_of, shown_level
from engine.image.format import Form
from engine.image.large.opening import decoded_bytes
from engine.image.metadata import NO_METADATA
from engine.image.open import open_image, sample_path
from engine.image.save import save_image
from engine.verify.verification import Region
from tests.engine.image.encoded import one_of_each, png_header, smooth_rgb, with_pillow


@contextmanager
def opened(path):
    """Open a file as the host does; its memory is given up at the end."""
    handle = open_picture(OpenPicture(str(path)), lambda step: None)
    yield handle
    shared.unlink(handle.pixels.name)


def exif(orientation):
    block = Image.Exif()
    block[274] = orientation
    return block


KINDS = one_of_each() | {
    "turned": with_pillow(smooth_rgb(), "JPEG", exif=exif(6)),
    "alpha": with_pillow(np.dstack([smooth_rgb(), smooth_rgb()[..., :1]]), "PNG"),
    "alpha-turned": with_pillow(np.dstack([smooth_rgb(), smooth_rgb()[..., :1]]), "PNG", exif=exif(8)),
    "grey": with_pillow(smooth_rgb()[..., 0], "PNG"),
}


def test_that_a_picture_in_shared_memory_is_the_one_that_the_file_holds(tmp_path):
    for kind in KINDS:
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


def test_that_a_picture_says_what_of_it_is_nan(tmp_path):
    for share in [1.0, 0.5, 0.0]:
        for suffix in [".tif", ".npy"]:
            pixels = np.full((8, 10), 0.5, np.float32)
            pixels[: int(8 * share)] = np.nan
            save_image(pixels, tmp_path / f"picture{suffix}")
            with opened(tmp_path / f"picture{suffix}") as handle:
                assert any("NaN" in note for note in handle.notes) is (share > 0)
                assert ("NaN" in handle.description) is (share == 1)


@pytest.mark.parametrize("kind", KINDS)
def test_that_opening_can_be_stopped_once_the_size_is_known(tmp_path, monkeypatch, kind):
    path = tmp_path / "picture"
    path.write_bytes(KINDS[kind])
    steps = []

    def stop(step):
        steps.append(step)
        if len(steps) == 2:
            raise Cancelled("The request", "it was stopped")

    monkeypatch.setattr(SharedSegment, "create", None)
    with pytest.raises(Cancelled):
        open_picture(OpenPicture(str(path)), stop)
    first, second = (step.expected_s for step in steps)
    # Ten times that is allowed: 10 s, 0.5 s per megabyte of the file and 0.2 s per decoded megabyte.
    assert first == pytest.approx(1 + 50e-9 * len(KINDS[kind]))
    assert second >= first + 20e-9 * 37 * 41


# What a person at the window can do.
SMALLER = "Scale it down, or cut out a part"


def test_that_a_picture_that_is_not_opened_leaves_no_memory_in_use(tmp_path):
    path, in_use = tmp_path / "picture.png", set(shared._attached)
    for data, size, words, remedy in [
        (
            png_header(30_000, 35_000),
            None,
            "its 30,000 × 35,000 pixels takes 4.2 GiB, the limit is 4.0 GiB",
            SMALLER,
        ),
        (b"", 2**32 + 1, "the limit is 4.0 GiB", SMALLER),
        (with_pillow(smooth_rgb(300, 300), "JPEG")[:-900] + b"\xff\xd9", None, "cut short or is damaged", ""),
        (one_of_each()["tiff-deflate"].replace(b"x\x9c", b"x\x00"), None, "damaged", ""),
    ]:
        path.write_bytes(data)
        if size is not None:
            os.truncate(path, size)
        with pytest.raises(ImageReadError) as caught, opened(path):
            pass
        assert words in caught.value.why
        assert caught.value.remedy.startswith(remedy)
        assert not remedy or "max" not in str(caught.value)
    assert set(shared._attached) == in_use


@pytest.mark.parametrize("with_result", [False, True])
def test_that_a_save_from_the_window_keeps_the_metadata(tmp_path, with_result):
    path = tmp_path / "in.jpg"
    path.write_bytes(with_pillow(smooth_rgb(), "JPEG", exif=exif(1), dpi=(300, 300)))
    with opened(path) as handle:
        (values,) = shared.create((handle.pixels.shape, "float32"))
        shared.attach(values)[...] = 7
        result = values if with_result else None
        saved = save_result(SaveResult(handle, result, str(tmp_path / "out.png")), lambda step: None)
        bare = SaveResult(handle, result, str(tmp_path / "bare.png"), metadata=False)
        assert save_result(bare, lambda step: None).notes == ()
        unknown = SaveResult(handle, result, str(tmp_path / "other.png"), depth="12")
        with pytest.raises(ImageWriteError, match="no depth '12'"):
            save_result(unknown, lambda step: None)
        shared.unlink(values.name)
    assert saved.notes == ()
    kept = open_image(tmp_path / "out.png").metadata
    assert (bool(kept.exif), round(kept.dpi[0])) == (True, 300)
    assert open_image(tmp_path / "bare.png").metadata == NO_METADATA
    assert not (tmp_path / "other.png").exists()


def save(pixels, values, path, depth, *alpha, **more):
    """Save a result of a picture, both in shared memory for that time."""
    made = []
    for array in (pixels, values, *alpha):
        made += shared.create((array.shape, array.dtype.name))
        shared.attach(made[-1])[...] = array
    picture = PictureHandle(made[0], made[2] if alpha else None, ScreenLevels(()), "made", "made")
    try:
        return save_result(SaveResult(picture, made[1], str(path), depth=depth, **more), lambda step: None)
    finally:
        shared.unlink(*(array.name for array in made))


def test_that_a_result_is_saved_in_its_depth_and_range(tmp_path):
    values = np.array([[[5.25], [100.25]]], np.float32)
    saved = save(np.zeros((1, 2, 1), np.uint8), values, tmp_path / "out.png", "16")
    assert saved == Saved(str(tmp_path / "out.png"))
    assert open_image(saved.path).pixels.tolist() == [[1349, 25764]]
    values = np.array([[[-0.2], [0.4]]], np.float32)
    saved = save(np.zeros_like(values), values, tmp_path / "out.png", "8", range_mode="absolute")
    assert open_image(saved.path).pixels.tolist() == [[51, 102]]
    grey = np.zeros((2, 3, 1), np.uint8)
    alpha = np.full((2, 3), 255, np.uint8)
    (note,) = save(grey, grey.astype(np.float32), tmp_path / "out.jpg", "keep", alpha).notes
    assert "JPEG has no alpha" in note
    values = np.array([[[np.nan], [0.4]]], np.float32)
    saved = save(values, values, tmp_path / "out.png", "8")
    (note,) = saved.notes
    assert "1 is NaN, which 8 bit cannot hold: saved as 0." in note
    assert open_image(saved.path).pixels.tolist() == [[0, 102]]
    kept = save(values, values, tmp_path / "out.tif", "float32")
    assert kept.notes == ()
    assert np.array_equal(open_image(kept.path).pixels, values[:, :, 0], equal_nan=True)


RANDOM = np.random.default_rng(6)


def levels_for(height, width):
    return [np.full(shape, 7, np.uint8) for shape in level_shapes(height, width)]


def shown(values, white, range_mode="clip", alpha=None):
    levels = levels_for(*values.shape[:2])
    render(values, levels, white, range_mode, alpha)
    return levels[0]


def test_that_levels_halve_until_they_are_small():
    for height, width in [(1, 1), (64, 64), (65, 64), (1, 300), (301, 7)]:
        shapes = level_shapes(height, width)
        assert shapes[0] == (height, width, 4)
        for (above, left, _), (below, right, _) in itertools.pairwise(shapes):
            assert (below, right) == ((above + 1) // 2, (left + 1) // 2)
            assert max(above, left) > SMALLEST_LEVEL
        assert max(shapes[-1][:2]) <= SMALLEST_LEVEL


def test_that_a_picture_is_shown_in_eight_bits_blue_first():
    for channels in [1, 2, 3, 4]:
        for dtype in ["uint8", "uint16"]:
            white = full_scale_of(np.dtype(dtype))
            values = RANDOM.integers(0, int(white) + 1, (70, 90, channels)).astype(dtype)
            colours = values[:, :, :3] if channels >= 3 else np.repeat(values[:, :, :1], 3, 2)
            wanted = np.rint(colours[:, :, ::-1].astype(np.float32) * np.float32(255 / white))
            bgra = shown(values, white)
            assert np.array_equal(bgra[:, :, :3], wanted)
            assert (bgra[:, :, 3] == 255).all()


def test_that_values_of_every_kind_are_shown():
    values = np.array([[[-5.0], [np.nan], [2.0], [np.inf], [-np.inf], [0.5]]], np.float32)
    assert shown(values, 1.0)[0, :, 0].tolist() == [0, 0, 255, 255, 0, 128]
    for mode, wanted in [
        ("clip", [0, 0, 100]),
        ("absolute", [100, 0, 100]),
        ("offset", [28, 128, 228]),
        ("rescale", [0, 128, 255]),
    ]:
        values = np.array([[[-100.0], [0.0], [100.0]]], np.float32)
        assert shown(values, 255.0, mode)[0, :, 0].tolist() == wanted
        for even in (3.0, np.nan):
            assert (shown(np.full((2, 2, 1), even, np.float32), 255.0, mode)[:, :, 3] == 255).all()
    values, alpha = np.full((1, 3, 3), 200, np.uint8), np.array([[0, 128, 255]], np.uint8)
    bgra = shown(values, 255.0, alpha=alpha)
    assert (bgra[0, :, 0].tolist(), bgra[0, :, 3].tolist()) == ([0, 100, 200], [0, 128, 255])
    # Alpha of a float file beyond its range is clipped.
    alpha = np.array([[2.0, np.inf, 1.0, -1.0, np.nan]], np.float32)
    colours = np.repeat(np.float32([[[0.8, 0.0, 0.0]]]), 5, axis=1)
    solid, clear = [0, 0, 204, 255], [0, 0, 0, 0]
    assert shown(colours, 1.0, alpha=alpha)[0].tolist() == [solid, solid, solid, clear, clear]


def test_that_each_level_is_the_mean_of_four_of_the_one_before():
    for height, width in [(129, 67), (66, 131)]:
        levels = levels_for(height, width)
        render(RANDOM.integers(0, 256, (height, width, 3), np.uint8), levels, 255.0)
        for above, below in itertools.pairwise(levels):
            beside = (0, above.shape[0] % 2), (0, above.shape[1] % 2), (0, 0)
            padded = np.pad(above, beside, mode="edge").astype(int)
            fours = padded[::2, ::2] + padded[1::2, ::2] + padded[::2, 1::2] + padded[1::2, 1::2]
            assert np.array_equal(below, (fours + 2) // 4)


def test_that_pixels_made_where_they_are_seen_are_those_of_the_full_size():
    for dtype, channels in [("uint8", 3), ("uint8", 4), ("uint16", 1), ("float32", 3), ("float32", 4)]:
        for mode in ["clip", "absolute", "offset", "rescale"]:
            values = RANDOM.normal(40.0, 300.0, (130, 70, channels)).astype(dtype)
            if dtype == "float32":
                values[0, 0] = np.nan
            alpha = RANDOM.integers(0, 256, (130, 70)).astype(dtype) if channels == 4 else None
            levels, halves = levels_for(130, 70), levels_for(130, 70)[1:]
            render(values, levels, 255.0, mode, alpha)
            how = render(values, halves, 255.0, mode, alpha)
            assert all(np.array_equal(one, other) for one, other in zip(levels[1:], halves, strict=True))
            seen = np.s_[3:90, 5:40]
            part = None if alpha is None else alpha[seen]
            assert np.array_equal(pixels_of(values[seen], *how, part, 255.0), levels[0][seen])


def test_that_a_picture_and_its_result_take_what_they_may_while_the_next_one_is_made():
    for height, width in [
        *((1080, 1920), (1535, 2048), (1440, 2560), (2160, 3840), (3000, 4000), (4000, 6000), (6000, 8000)),
        *((7800, 7800), (8000, 8000), (12_000, 12_000)),
    ]:
        # Three times the picture and 300 MB, of which both processes take 191 without a picture.
        form = Form(height, width, 3, has_alpha=False, dtype=np.dtype(np.uint8))
        shown = sum(math.prod(shape) for shape, _ in screen_arrays(height, width))
        is_large = level_shapes(height, width)[0] != screen_arrays(height, width)[0][0]
        result = shown + (0 if is_large else 4 * form.decoded_bytes)
        bands = 2 * result_of_window._BAND_BYTES if is_large else 0
        taken = form.decoded_bytes + shown + 2 * result + bands
        if bytes_with_result(form) > WHOLE_RESULT_BYTES:
            taken = decoded_bytes(form) + TILES_BYTES
        assert taken <= 3 * form.decoded_bytes + 109e6


def handle(pixels):
    (array,) = shared.create((pixels.shape, pixels.dtype.name))
    shared.attach(array)[...] = pixels
    return PictureHandle(array, None, ScreenLevels((array,)), "made", "made")


def test_that_a_crop_has_the_pixels_of_its_region_and_ends_with_the_picture(ask):
    whole = ask(OpenPicture(sample="astronaut"))
    part = ask(CropPicture(whole, Region(10, 30, 40, 90)))
    assert (shared.attach(part.pixels) == shared.attach(whole.pixels)[10:30, 40:90]).all()
    # One of a crop says where it is in the file.
    assert ask(CropPicture(part, Region(1, 5, 2, 9))).crop == Region(11, 15, 42, 49)
    part = ask(OpenPicture(path=str(sample_path("astronaut")), crop=Region(500, 900, 500, 900)))
    assert part.pixels.shape[:2] == (12, 12)
    with pytest.raises(BadValue, match="has no pixel there"):
        ask(OpenPicture(sample="astronaut", crop=Region(900, 950, 0, 9)))


def test_that_clipped_samples_are_counted_apart(ask):
    picture = handle(np.zeros((2, 3, 1), np.uint8))
    values = np.array([-1, 0, 255, 256, 300, np.nan], np.float32).reshape(2, 3, 1)
    (array,) = shared.create((values.shape, "float32"))
    shared.attach(array)[...] = values
    found = ask(MeasurePicture(picture, array))
    (after,) = found.after
    assert (after.below, after.above, after.not_finite, after.total) == (1, 2, 1, 6)
    assert found.after_ends == (-1.0, 300.0)
    assert [after.counts[at] for at in (0, 217, 218, 255)] == [2, 1, 1, 1]


@pytest.mark.parametrize("is_kept", [True, False], ids=["kept", "computed"])
def test_that_a_window_shows_its_ends_black_and_white_and_leaves_the_values(ask, is_kept, monkeypatch):
    random = np.random.default_rng(3)
    samples = random.integers(0, 4096, (70, 80, 1), np.uint16)
    picture = handle(samples)
    values = None
    if not is_kept:
        monkeypatch.setattr(picture_jobs, "bands_of", lambda _, region: [(region, samples[region.slices])])
        values = ComputedResult(None)
    found = ask(ShowWindow(picture, values, (1000.0, 3000.0)))
    level = shared.attach(found.screen.levels[0])[..., 0]
    wanted = np.rint(np.clip((samples[..., 0].astype(np.float64) - 1000) / 2000, 0, 1) * 255)
    assert np.abs(level - wanted).max() <= 1.0  # where float32 rounds a half to the other side
    assert (level[samples[..., 0] <= 1000] == 0).all()
    assert (level[samples[..., 0] >= 3000] == 255).all()
    assert (shared.attach(picture.pixels) == samples).all()
    low, high = ask(ShowWindow(picture, values, None)).ends
    assert (low, high) == pytest.approx(np.percentile(samples, PERCENTILES).tolist())


def test_that_mean_and_deviation_are_those_of_the_samples(ask):
    values = np.random.default_rng(1).integers(0, 65535, (40, 30, 2), np.uint16)
    found = ask(MeasurePicture(handle(values))).before
    # Sums of 1200 whole numbers below 2^32 are exact in float64; a division and a root are left.
    assert [one.mean for one in found] == [float(values[..., n].sum()) / 1200 for n in range(2)]
    exact = values.astype(np.float64).std((0, 1))
    assert [one.deviation for one in found] == pytest.approx(list(exact), rel=1e-12)


def test_that_the_level_of_a_sample_is_the_byte_on_the_screen():
    for white in [255.0, 65535.0, 1.0]:
        for mode in [mode for mode in RANGE_MODES if mode != "rescale"]:
            random = np.random.default_rng(2)
            values = (random.standard_normal((8, 9, 1)) * white).astype(np.float32)
            values[0, :3, 0] = np.nan, np.inf, -np.inf
            levels = [np.empty(shape, np.uint8) for shape in level_shapes(8, 9)]
            render(values, levels, white, mode)
            wanted = [shown_level(float(value), mode, white) for value in values.ravel()]
            assert levels[0][..., 0].ravel().tolist() == wanted
