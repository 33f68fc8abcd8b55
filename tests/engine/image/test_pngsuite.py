from pathlib import Path

import numpy as np
import pytest

from engine.image import png, scratch
from engine.image.open import open_image
from tests.engine.image import png_witness

FOLDER = Path(__file__).resolve().parents[2] / "data" / "pngsuite"
FILES = sorted(FOLDER.glob("*.png"))
VALID = [path for path in FILES if not path.name.startswith("x")]
CORRUPT = [path for path in FILES if path.name.startswith("x")]


@pytest.mark.slow
@pytest.mark.parametrize("band_bytes", [None, 100])
def test_that_each_valid_file_decodes_as_the_witness_does_whole_and_in_bands(monkeypatch, band_bytes):
    if band_bytes is not None:
        monkeypatch.setattr(png, "_HELD_BYTES", 0)
        monkeypatch.setattr(scratch, "_BAND_BYTES", band_bytes)
    wrong = []
    for path in VALID:
        expected = png_witness.decode(path.read_bytes())
        picture = open_image(path)
        parts = [picture.pixels.reshape(*picture.pixels.shape[:2], -1)]
        if picture.alpha is not None:
            parts.append(picture.alpha[..., np.newaxis])
        decoded = np.concatenate(parts, axis=2)
        if decoded.dtype != expected.dtype or not np.array_equal(decoded, expected):
            wrong.append(path.stem)
    assert wrong == []


def test_that_the_suite_is_whole_and_each_corrupt_file_is_refused_in_words(refused):
    assert (len(VALID), len(CORRUPT)) == (161, 14)
    assert (FOLDER / "LICENSE").is_file()
    for path in CORRUPT:
        assert len(refused(path.read_bytes()).why) > 15, path.stem


@pytest.mark.slow
def test_that_a_file_cut_anywhere_or_with_one_flipped_bit_is_refused(refused):
    for path in VALID[:40:7]:
        data = path.read_bytes()
        for length in range(0, len(data), 1 + len(data) // 300):
            refused(data[:length])
    data = (FOLDER / "basn2c08.png").read_bytes()
    for position in range(len(data)):
        refused(data[:position] + bytes([data[position] ^ 1]) + data[position + 1 :])
