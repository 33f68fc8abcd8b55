"""Files that are small and take much: of memory, of time, or of trust in what was not written."""

import io
import struct
import zlib
from functools import partial

import imagecodecs
import numpy as np
import tifffile
from PIL import Image

from engine.image.formats.png_bytes import png_chunk
from tests.engine.image.encoded import retagged, smooth_rgb, with_pillow, with_tifffile

START_OF_SCAN = b"\xff\xda"


def scans_of(jpeg):
    """Return where the scans of a JPEG begin."""
    return [at for at in range(len(jpeg) - 1) if jpeg[at : at + 2] == START_OF_SCAN]


def photograph(height, width, seed=7):
    """Colours of waves and noise: no scan of it is short."""
    noise = np.random.default_rng(seed).integers(-6, 7, (height, width, 3))
    y, x = np.ogrid[:height, :width]
    waves = 128 + 60 * np.sin(y / 40) * np.cos(x / 55.0)
    return (waves[..., np.newaxis] + noise).astype(np.uint8)


def half_decoded(jpeg, at, byte, last_scan=(0, 31, 0x47)):
    """Damage the first scan of a progressive JPEG, a warning, and the header of the last one, an error."""
    damaged = bytearray(jpeg)
    first, last = scans_of(jpeg)[0], scans_of(jpeg)[-1]
    for place in range(first + at, first + at + 60):
        # Neither a marker nor what stands for its first byte.
        if 0xFF not in damaged[place - 1 : place + 1]:
            damaged[place] = byte
    components = damaged[last + 4]
    place = last + 5 + 2 * components
    damaged[place : place + 3] = bytes(last_scan)
    return bytes(damaged)


def jpeg_of_scans(width, height, count):
    """A progressive JPEG of grey whose further scans say of every block that there is nothing in it."""
    blocks = -(-width // 8) * -(-height // 8)

    def table(kind, symbol):
        return b"\xff\xc4" + struct.pack(">HB", 20, kind) + bytes([1] + [0] * 15) + bytes([symbol])

    def scan(first, last, data):
        return START_OF_SCAN + struct.pack(">HBBBBBB", 8, 1, 1, 0, first, last, 0) + data

    # A code of one bit: no difference of means; 2^14 and 14 more bits of blocks that end at once.
    ends = (("0" + "1" * 14) * (blocks // 32767 + 1)).ljust(8 * (blocks // 16384 + 3), "1")
    run = int(ends, 2).to_bytes(len(ends) // 8, "big").replace(b"\xff", b"\xff\0")
    return b"".join(
        (
            b"\xff\xd8\xff\xdb" + struct.pack(">HB", 67, 0) + bytes([1] * 64),
            b"\xff\xc2" + struct.pack(">HBHHB3B", 11, 8, height, width, 1, 1, 0x11, 0),
            table(0, 0) + table(0x10, 0xE0),
            scan(0, 0, bytes(-(-blocks // 8))),
            scan(1, 63, run) * (count - 1),
            b"\xff\xd9",
        )
    )


def gif(width, height, disposal=2):
    """A GIF of one frame, of 37 bytes."""
    control = b"!\xf9\x04" + bytes([disposal << 2, 0, 0, 0, 0])
    frame = b"," + struct.pack("<HHHHB", 0, 0, width, height, 0) + b"\x02\x02\x44\x01\x00"
    return b"GIF89a" + struct.pack("<HHBBB", width, height, 0, 0, 0) + control + frame + b";"


def png(rows, width, depth=8, colour=2, extra=b"", damage=lambda stream: stream):
    """A PNG of rows of bytes, unfiltered; `damage` changes the compressed stream."""
    header = struct.pack(">IIBBBBB", width, len(rows), depth, colour, 0, 0, 0)
    stream = damage(zlib.compress(b"".join(b"\0" + bytes(row) for row in rows)))
    chunks = png_chunk(b"IHDR", header) + extra + png_chunk(b"IDAT", stream) + png_chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + chunks


def raw_profile(inflated_bytes, keyword=b"Raw profile type exif"):
    """A text chunk that inflates to digits of EXIF data that say nothing."""
    digits = b"\nexif\n%d\n" % inflated_bytes + b"00 " * (inflated_bytes // 3)
    return png_chunk(b"zTXt", keyword + b"\0\0" + zlib.compress(digits, 9))


def with_wrong_checksum(stream):
    """Change the last byte of a zlib stream."""
    return stream[:-1] + bytes([stream[-1] ^ 1])


def inner_encoders():
    """Return, for each compression of TIFF whose strips are pictures, its number and an encoder of RGB."""
    return {
        "jpeg": (7, partial(imagecodecs.jpeg8_encode, level=50)),
        "jpeg2000": (34712, imagecodecs.jpeg2k_encode),
    }


def tiff_around(strip, compression, width=8, height=8):
    """A TIFF of RGB that has one strip, of any bytes."""
    return retagged(
        with_tifffile(np.frombuffer(strip, np.uint8)[np.newaxis], photometric="minisblack"),
        ImageWidth=width,
        ImageLength=height,
        RowsPerStrip=height,
        Compression=compression,
        SamplesPerPixel=3,
        BitsPerSample=(8,) * 3,
        PhotometricInterpretation=2,
    )


def inner_tiff(kind, side, tags_side=8):
    """A TIFF of one strip that is a picture of `side` pixels a side; its tags say another."""
    compression, encode = inner_encoders()[kind]
    strip = bytes(encode(np.zeros((side, side, 3), np.uint8)))
    return tiff_around(strip, compression, tags_side, tags_side)


def libtiff(mode, compression):
    """A TIFF by libtiff: values of its tags lie behind the list of them, at the end of the file."""
    rgb = Image.fromarray(smooth_rgb())
    return with_pillow(rgb.convert(mode), "TIFF", compression=compression)


def without_last_strip(data):
    """A TIFF whose last strip of JPEG has no end."""
    buffer = io.BytesIO(data)
    with tifffile.TiffFile(buffer, mode="r+") as tiff:
        page = tiff.pages[0]
        counts = list(page.databytecounts)
        counts[-1] -= 20
        page.tags["StripByteCounts"].overwrite(counts)
        return buffer.getvalue()
