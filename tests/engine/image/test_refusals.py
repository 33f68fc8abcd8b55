"""What people read of a file that is not opened: its cause in words, and nothing of Python's inside."""

import io
import re
import struct

import numpy as np
import pytest
import tifffile

from engine.errors import ImageReadError
from engine.image.faults import cause_of_damage, unsupported_kind
from engine.image.formats import FORMATS
from tests.engine.image.encoded import one_of_each, smooth_rgb, with_pillow, with_tifffile

RGB = smooth_rgb(8, 8)
FILES = one_of_each()
# Addresses, class names, names of constants, bare numbers in brackets: words for programmers.
INSIDE = re.compile(
    r"<|>|_io|0x|Error|\bNone\b|\(\d*\)|not supported between|index out|dtype|\bbuffer\b|NULL"
)


def bmp(bits=24, compression=0, header_bytes=40):
    data = bytearray(with_pillow(RGB, "BMP"))
    struct.pack_into("<I", data, 14, header_bytes)
    struct.pack_into("<HI", data, 28, bits, compression)
    return bytes(data)


def tiff(tag, value):
    buffer = io.BytesIO(with_tifffile(RGB, photometric="rgb"))
    with tifffile.TiffFile(buffer, mode="r+") as file:
        file.pages[0].tags[tag].overwrite(value)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (bmp(32, compression=6), "BMP is not supported: its channels and its alpha are named by masks"),
        (bmp(0, compression=4), "BMP is not supported: it holds a JPEG"),
        (bmp(2), "BMP is not supported: it has 2 bits per pixel"),
        (bmp(header_bytes=16), "BMP is not supported: it is one of OS/2"),
        (tiff("Compression", 34676), "TIFF is not supported: its compression is SGILOG"),
        (tiff("Compression", 24), "TIFF is not supported: its compression has number 24"),
        (tiff("PhotometricInterpretation", 32845), "TIFF is not supported: its pixels are LogLuv"),
        (with_tifffile(RGB.astype(np.float32), photometric="cielab"), "not supported: it is Lab of float32"),
        (
            with_pillow(RGB, "JPEG").replace(b"\x08\x00\x08\x00\x08\x03", b"\x0c\x00\x08\x00\x08\x03"),
            "JPEG is not supported: it has 12 bits per sample",
        ),
    ],
    ids=lambda value: value[-40:] if isinstance(value, str) else "",
)
def test_that_a_whole_file_of_a_kind_that_is_not_read_is_not_called_damaged(refused, data, words):
    error = refused(data)
    assert f"this kind of {words}" in error.why or words in error.why
    assert "damaged" not in str(error)
    assert "Save it as" in error.remedy


@pytest.mark.parametrize("kind", FILES)
def test_that_damaged_files_open_in_their_shape_or_are_refused_without_the_inside_of_the_program(
    opened, kind
):
    generator = np.random.default_rng(8)
    data = FILES[kind]
    damaged = [data[:length] for length in range(14, len(data), max(1, len(data) // 25))]
    for count in range(70):
        changed = bytearray(data)
        for position in generator.integers(2, min(len(data), 120 if count % 2 else len(data)), 4):
            changed[position] = generator.integers(256)
        damaged.append(bytes(changed))
    refusals = set()
    for content in damaged:
        try:
            picture = opened(content, max_bytes=10**8)
            assert picture.dtype in (np.uint8, np.uint16, np.float32)
        except ImageReadError as error:
            refusals.add(error.why)
    assert refusals
    assert [why for why in refusals if INSIDE.search(why)] == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("cannot identify image file <_io.BufferedReader name='a'>", "its header is damaged or cut short"),
        ("broken data stream when reading image file", "its compressed pixels are damaged"),
        ("image file is truncated (0 bytes not processed)", "it ends before its last row"),
        ("corrupted strip cannot be reshaped from (8062,) to (1, 374, 278, 1)", "do not fit together"),
        ("suspicious number of tags 61457", "its list of tags is damaged"),
        ("Unsupported BMP compression (77)", "its header names compression 77, which BMP does not have"),
        ("0", ""),
        ("'<' not supported between instances of 'tuple' and 'int'", ""),
    ],
)
def test_that_what_a_library_says_becomes_words(text, words):
    assert cause_of_damage(ValueError(text)).endswith(words)
    assert [unsupported_kind(ValueError(text), known.unsupported) for known in FORMATS] == [""] * len(FORMATS)
