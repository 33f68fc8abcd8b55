"""What `open_picture` of the host hands over, without a host around it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from engine.errors import ImageReadError
from engine.host import shared
from engine.host.picture_jobs import open_picture, save_result
from engine.host.protocol import OpenPicture, PictureHandle, SaveResult
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
def test_that_a_picture_in_shared_memory_is_the_one_that_the_file_holds(tmp_path: Path, kind: str) -> None:
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


@pytest.mark.parametrize("with_result", [False, True])
def test_that_a_save_from_the_window_tells_of_exif_and_resolution_that_it_drops(
    tmp_path: Path, with_result: bool
) -> None:
    path = tmp_path / "in.jpg"
    path.write_bytes(with_pillow(smooth_rgb(), "JPEG", exif=exif(1), dpi=(300, 300)))
    with opened(path) as handle:
        (values,) = shared.create((handle.pixels.shape, "float32"))
        shared.attach(values)[...] = 7
        request = SaveResult(handle, values if with_result else None, str(tmp_path / "out.png"))
        notes = save_result(request, lambda step: None).notes
        shared.unlink(values.name)
    assert notes == ("EXIF data and resolution (DPI) of the opened file are not saved.",)


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
def test_that_a_picture_that_is_not_opened_leaves_no_memory_in_use(
    tmp_path: Path, data: bytes, words: str
) -> None:
    path = tmp_path / "picture"
    path.write_bytes(data)
    in_use = set(shared._attached)
    with pytest.raises(ImageReadError) as caught, opened(path):
        pass
    assert words in caught.value.why
    assert set(shared._attached) == in_use
