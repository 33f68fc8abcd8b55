"""The walk over the Huffman codes of a JPEG: it may say "complete" only where two decodings agree."""

import io
import zlib

import imagecodecs
import numpy as np
import pytest
from PIL import Image

from engine.errors import ImageReadError
from engine.image import jpeg_pixels
from engine.image.jpeg import end_of_first_image, with_surplus
from engine.image.jpeg_scan import is_complete
from engine.image.open import open_image
from tests.engine.image.encoded import smooth_rgb, with_pillow

NOISE = np.random.default_rng(5).integers(0, 256, (45, 61, 3), np.uint8)
BASELINE = {
    "4:2:0": {},
    "4:4:4": {"subsampling": "4:4:4", "quality": 100},
    "4:2:2": {"subsampling": "4:2:2", "quality": 30},
    "restarts": {"restart_marker_blocks": 3},
    "a restart for each row": {"restart_marker_rows": 1},
    "own tables": {"optimize": True, "quality": 5},
    "RGB": {"keep_rgb": True},
}


def end_of(data, folder):
    path = folder / "end.jpg"
    path.write_bytes(data)
    with path.open("rb") as file:
        return end_of_first_image(file)


def agrees_with_surplus(data, end):
    """Return what the walk stands for: the same pixels with and without surplus data."""
    decoded = (imagecodecs.jpeg8_decode(part) for part in (data, with_surplus(data, end)))
    return len({zlib.crc32(np.ascontiguousarray(pixels)) for pixels in decoded}) == 1


@pytest.mark.parametrize("mode", ["L", "RGB"])
@pytest.mark.parametrize("kind", BASELINE)
def test_that_whole_baseline_files_are_complete_and_none_that_is_cut(tmp_path, kind, mode):
    for pixels in (NOISE, smooth_rgb(), np.full((17, 33, 3), 200, np.uint8)):
        data = with_pillow(Image.fromarray(pixels).convert(mode), "JPEG", **BASELINE[kind])
        end = end_of(data, tmp_path)
        assert is_complete(data, end)
        scan = data.index(b"\xff\xda")
        # The last byte may be padding alone. A cut within two bytes that belong together leaves neither.
        cuts = [cut for cut in range(scan + 14, end - 1, max(1, (end - scan) // 60)) if data[cut - 1] != 0xFF]
        for cut in cuts:
            assert not is_complete(data[:cut] + b"\xff\xd9", cut), (cut, end)


@pytest.mark.parametrize("kind", BASELINE)
def test_that_a_damaged_file_is_complete_only_where_surplus_data_changes_nothing(tmp_path, kind):
    data = with_pillow(NOISE, "JPEG", **BASELINE[kind])
    generator = np.random.default_rng(9)
    said = [0, 0]
    for _ in range(60):
        changed = bytearray(data)
        for at in generator.integers(data.index(b"\xff\xda"), len(data) - 2, generator.integers(1, 4)):
            changed[at] = generator.integers(256)
        changed = bytes(changed)
        end = end_of(changed, tmp_path)
        if end is None:
            continue
        complete = is_complete(changed, end)
        said[complete] += 1
        assert not complete or agrees_with_surplus(changed, end)
    assert said[False]


@pytest.mark.parametrize("kind", ["progressive", "other files"])
def test_that_other_kinds_are_not_known(tmp_path, kind):
    data = with_pillow(NOISE, "JPEG", progressive=True) if kind == "progressive" else b"\xff\xd8\xff\xd9"
    assert not is_complete(data, len(data) - 2)
    assert not is_complete(b"", 0)
    # A table with more codes than bits, and one that is cut.
    tables = with_pillow(NOISE, "JPEG")
    at = tables.index(b"\xff\xc4")
    for lengths in (b"\xff" * 16, b"\x00" * 16):
        broken = tables[: at + 5] + lengths + tables[at + 21 :]
        assert not is_complete(broken, len(broken) - 2)


def test_that_a_whole_file_is_decoded_once_and_another_twice(tmp_path, monkeypatch):
    decoded = []
    decode = imagecodecs.jpeg8_decode

    def counting(data, **options):
        decoded.append(len(data))
        return decode(data, **options)

    monkeypatch.setattr(imagecodecs, "jpeg8_decode", counting)
    path = tmp_path / "a.jpg"
    data = with_pillow(NOISE, "JPEG")
    path.write_bytes(data)
    open_image(path)
    assert decoded == [len(data)]
    cut = len(data) * 2 // 3
    path.write_bytes(data[:cut] + b"\xff\xd9")
    with pytest.raises(ImageReadError, match="its data stops before its last row"):
        open_image(path)
    assert len(decoded) == 3
    monkeypatch.setattr(jpeg_pixels, "is_complete", lambda *_: False)
    path.write_bytes(data)
    assert np.array_equal(open_image(path).pixels, np.asarray(Image.open(io.BytesIO(data))))
