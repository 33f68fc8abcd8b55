from pathlib import Path

import numpy as np
import pytest

from engine.errors import ImageReadError
from engine.image.open import open_image
from tests.engine.image import png_witness

FOLDER = Path(__file__).resolve().parents[2] / "data" / "pngsuite"
FILES = sorted(FOLDER.glob("*.png"))
VALID = [path for path in FILES if not path.name.startswith("x")]
CORRUPT = [path for path in FILES if path.name.startswith("x")]


def names(path):
    return path.stem


def test_that_the_suite_is_whole_and_has_its_licence():
    assert (len(VALID), len(CORRUPT)) == (161, 14)
    assert (FOLDER / "LICENSE").is_file()


@pytest.mark.parametrize("path", VALID, ids=names)
def test_that_a_valid_file_decodes_as_the_witness_does(path):
    expected = png_witness.decode(path.read_bytes())
    picture = open_image(path)
    parts = [picture.pixels.reshape(*picture.pixels.shape[:2], -1)]
    if picture.alpha is not None:
        parts.append(picture.alpha[..., np.newaxis])
    decoded = np.concatenate(parts, axis=2)
    assert decoded.dtype == expected.dtype
    assert np.array_equal(decoded, expected)


@pytest.mark.parametrize("path", CORRUPT, ids=names)
def test_that_a_corrupt_file_is_refused_in_words(path):
    with pytest.raises(ImageReadError) as caught:
        open_image(path)
    assert str(path) in caught.value.what
    assert len(caught.value.why) > 15
    assert caught.value.remedy


@pytest.mark.parametrize("path", VALID[:40:7], ids=names)
def test_that_a_file_cut_anywhere_is_refused(path, tmp_path):
    data = path.read_bytes()
    cut = tmp_path / "cut.png"
    for length in range(len(data)):
        cut.write_bytes(data[:length])
        with pytest.raises(ImageReadError):
            open_image(cut)


def test_that_one_flipped_bit_anywhere_is_refused(tmp_path):
    data = (FOLDER / "basn2c08.png").read_bytes()
    flipped = tmp_path / "flipped.png"
    for position in range(len(data)):
        flipped.write_bytes(data[:position] + bytes([data[position] ^ 1]) + data[position + 1 :])
        with pytest.raises(ImageReadError):
            open_image(flipped)
