"""What `save_result` of the host writes, without a host around it."""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from engine.errors import ImageWriteError
from engine.host import shared
from engine.host.picture_jobs import save_result
from engine.host.protocol import PictureHandle, Saved, SaveResult, ScreenLevels
from engine.host.shared_array import SharedArray
from engine.image.open import open_image

Share = Callable[[np.ndarray], SharedArray]


@pytest.fixture
def share() -> Iterator[Share]:
    """Lay arrays into shared memory for the time of a test."""
    names: list[str] = []

    def lay(array: np.ndarray) -> SharedArray:
        (block,) = shared.create((array.shape, array.dtype.name))
        names.append(block.name)
        shared.attach(block)[...] = array
        return block

    yield lay
    shared.unlink(*names)


def save(
    share: Share, pixels: np.ndarray, values: np.ndarray | None, path: Path, depth: str, **more: object
) -> Saved:
    alpha = more.pop("alpha", None)
    picture = PictureHandle(
        share(pixels), None if alpha is None else share(alpha), ScreenLevels(()), "made", "made"
    )
    result = None if values is None else share(values)
    return save_result(SaveResult(picture, result, str(path), depth=depth, **more), lambda step: None)


def test_that_16_bit_of_an_8_bit_picture_keep_parts_of_a_grey_step(share: Share, tmp_path: Path) -> None:
    values = np.array([[[5.25], [100.25]]], np.float32)
    saved = save(share, np.zeros((1, 2, 1), np.uint8), values, tmp_path / "out.png", "16")
    assert saved == Saved(str(tmp_path / "out.png"))
    assert open_image(saved.path).pixels.tolist() == [[1349, 25764]]


def test_that_the_range_mode_holds_for_a_float_picture(share: Share, tmp_path: Path) -> None:
    values = np.array([[[-3.0], [6.0]]], np.float32)
    pixels = np.zeros((1, 2, 1), np.float32)
    saved = save(share, pixels, values, tmp_path / "out.png", "8", range_mode="absolute")
    assert open_image(saved.path).pixels.tolist() == [[3, 6]]


def test_that_what_is_left_out_is_in_the_reply(share: Share, tmp_path: Path) -> None:
    grey = np.zeros((2, 3, 1), np.uint8)
    alpha = np.full((2, 3), 255, np.uint8)
    saved = save(share, grey, grey.astype(np.float32), tmp_path / "out.jpg", "keep", alpha=alpha)
    assert len(saved.notes) == 1
    assert "JPEG has no alpha" in saved.notes[0]


@pytest.mark.parametrize("with_result", [False, True])
def test_that_a_depth_that_there_is_not_is_refused(share: Share, tmp_path: Path, with_result: bool) -> None:
    grey = np.zeros((2, 3, 1), np.uint8)
    with pytest.raises(ImageWriteError, match="no depth '12'"):
        save(share, grey, grey.astype(np.float32) if with_result else None, tmp_path / "out.png", "12")
    assert not list(tmp_path.iterdir())


def test_that_nan_that_8_bit_cannot_hold_is_in_the_reply_and_float32_keeps_it(
    share: Share, tmp_path: Path
) -> None:
    values = np.array([[[np.nan], [6.0]]], np.float32)
    saved = save(share, values, values, tmp_path / "out.png", "8")
    assert len(saved.notes) == 1
    assert "1 is NaN, which 8 bit cannot hold: saved as 0." in saved.notes[0]
    assert open_image(saved.path).pixels.tolist() == [[0, 6]]
    kept = save(share, values, values, tmp_path / "out.tif", "float32")
    assert kept.notes == ()
    assert np.array_equal(open_image(kept.path).pixels, values[:, :, 0], equal_nan=True)
