"""Small files of every format that is read, made by other programs than ours; and hostile ones.

These take much: of memory, of time, or of trust in what was not written.
"""

import io
import struct
import zlib
from functools import partial

import imagecodecs
import numpy as np
import tifffile
from PIL import Image

from engine.image.formats.png import png_chunk


def smooth_rgb(rows=37, columns=41):
    """Colours that change little from pixel to pixel; no side is a multiple of 4."""
    y, x = np.indices((rows, columns))
    return np.stack([4 * y + 2 * x, 250 - 3 * x - 2 * y, 90 + 2 * y], axis=-1).astype(np.uint8)


def with_pillow(image, kind, **options):
    buffer = io.BytesIO()
    (image if isinstance(image, Image.Image) else Image.fromarray(image)).save(buffer, kind, **options)
    return buffer.getvalue()


def with_tifffile(image, **options):
    buffer = io.BytesIO()
    tifffile.imwrite(buffer, image, metadata=None, **options)
    return buffer.getvalue()


def png_header(width, height):
    """A PNG with a legal header and nearly no pixels."""
    return png([bytes(99)], width, height=height)


def jpeg_header(width, height):
    """A JPEG whose header promises that size and whose pixels are those of 41 x 37."""
    size = struct.pack(">HH", height, width)
    return with_pillow(smooth_rgb(), "JPEG").replace(b"\x08\x00\x25\x00\x29\x03", b"\x08" + size + b"\x03")


def webp_header(width, height):
    """A lossy WebP whose header promises that size."""
    data = bytearray(with_pillow(smooth_rgb(), "WEBP"))
    at = data.index(b"\x9d\x01\x2a") + 3
    data[at : at + 4] = struct.pack("<HH", width, height)
    return bytes(data)


def retagged(data, **values):
    """A TIFF with other values in tags of its first page."""
    buffer = io.BytesIO(data)
    with tifffile.TiffFile(buffer, mode="r+") as tiff:
        for tag, value in values.items():
            tiff.pages[0].tags[tag].overwrite(value)
        return buffer.getvalue()


def tiff_header(width, height):
    """A TIFF whose tags promise far more pixels than it has."""
    data = with_tifffile(np.zeros((1, 1, 3), np.uint8), photometric="rgb")
    return retagged(data, ImageWidth=width, ImageLength=height)


def one_colour_webp(width, height):
    """A lossless WebP of 34 bytes: each channel has a code of one symbol, so its pixels take no bits."""
    code = "1" + "0" + "1" + "00010001"  # simple, one symbol, of 8 bits: 136
    bits = "000" + 4 * code + "1000"  # no transform, no cache, no further codes; distances: symbol 0
    size = f"{height - 1:014b}{width - 1:014b}"[::-1]  # lowest bit first, as everything here
    stream = size + "0" + "000" + bits
    content = b"\x2f" + int(stream[::-1], 2).to_bytes(13, "little")
    return b"RIFF" + struct.pack("<I", 26) + b"WEBPVP8L" + struct.pack("<I", 14) + content


def npy(array, save=np.save):
    """The file of an array."""
    buffer = io.BytesIO()
    save(buffer, array)
    return buffer.getvalue()


def encoders(rgb):
    """Return what makes a file of colours, by the title of its format, and of what kind it is."""
    deflate = {"photometric": "rgb", "compression": "zlib", "predictor": True}
    planes = np.ascontiguousarray(np.moveaxis(rgb, 2, 0))
    of_planes = {"photometric": "rgb", "planarconfig": "separate"}
    return {
        "png": lambda: with_pillow(rgb, "PNG"),
        "jpeg": lambda: with_pillow(rgb, "JPEG"),
        "jpeg-progressive": lambda: with_pillow(rgb, "JPEG", progressive=True),
        "bmp": lambda: with_pillow(rgb, "BMP"),
        "gif": lambda: with_pillow(np.ascontiguousarray(rgb[..., 0]), "GIF"),
        "webp": lambda: with_pillow(rgb, "WEBP", method=0),
        "webp-lossless": lambda: with_pillow(rgb, "WEBP", lossless=True),
        "tiff": lambda: with_tifffile(rgb, photometric="rgb"),
        "tiff-deflate": lambda: with_tifffile(rgb, rowsperstrip=8, **deflate),
        "tiff-lzw-tiles": lambda: with_tifffile(rgb, photometric="rgb", tile=(16, 16), compression="lzw"),
        "tiff-planar-16": lambda: with_tifffile(planes.astype(np.uint16) * 257, **of_planes),
        "jpeg xl": lambda: bytes(imagecodecs.jpegxl_encode(rgb, lossless=True)),
        "avif": lambda: bytes(imagecodecs.avif_encode(rgb, level=100)),
        "numpy": lambda: npy(rgb),
        "pnm": lambda: b"P6\n41 37\n255\n" + rgb.tobytes(),
        "pnm-text": lambda: b"P3 41 37 255 " + b" ".join(b"%d" % value for value in rgb.flat),
    }


def one_of_each():
    """Return a small file of each kind."""
    return {kind: encode() for kind, encode in encoders(smooth_rgb()).items()}


START_OF_SCAN = b"\xff\xda"


def scans_of(jpeg):
    """Return where the scans of a JPEG begin."""
    return [at for at in range(len(jpeg) - 1) if jpeg[at : at + 2] == START_OF_SCAN]


def photograph(height, width, of_noise=np.int64):
    """Colours of waves and noise: no scan of it is short."""
    noise = np.random.default_rng(7).integers(-6, 7, (height, width, 3), of_noise)
    y, x = np.ogrid[:height, :width]
    waves = 128 + 60 * np.sin(y / 40) * np.cos(x / 55.0)
    return (waves.astype(np.float32)[..., np.newaxis] + noise).astype(np.uint8)


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
    head = b"\xff\xd8\xff\xdb" + struct.pack(">HB", 67, 0) + bytes([1] * 64)
    head += b"\xff\xc2" + struct.pack(">HBHHB3B", 11, 8, height, width, 1, 1, 0x11, 0)
    head += table(0, 0) + table(0x10, 0xE0) + scan(0, 0, bytes(-(-blocks // 8)))
    return head + scan(1, 63, run) * (count - 1) + b"\xff\xd9"


def gif(width, height, disposal=2):
    """A GIF of one frame, of 37 bytes."""
    control = b"!\xf9\x04" + bytes([disposal << 2, 0, 0, 0, 0])
    frame = b"," + struct.pack("<HHHHB", 0, 0, width, height, 0) + b"\x02\x02\x44\x01\x00"
    return b"GIF89a" + struct.pack("<HHBBB", width, height, 0, 0, 0) + control + frame + b";"


def png(rows, width, depth=8, colour=2, extra=b"", damage=lambda stream: stream, height=0):
    """A PNG of rows of bytes, unfiltered; `damage` changes the compressed stream."""
    header = struct.pack(">IIBBBBB", width, height or len(rows), depth, colour, 0, 0, 0)
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


def tiff_around(strip, width, height, compression=1, bits=8, photometric=2, samples=3):
    """A TIFF of one strip, of any bytes, and of tags that say what they are, as tifffile writes none."""
    tags = {"ImageWidth": width, "ImageLength": height, "RowsPerStrip": height, "Compression": compression}
    tags |= {"SamplesPerPixel": samples, "BitsPerSample": (bits,) * samples}
    data = with_tifffile(np.frombuffer(strip, np.uint8)[np.newaxis], photometric="minisblack")
    return retagged(data, **tags, PhotometricInterpretation=photometric)


def inner_tiff(kind, side):
    """A TIFF of one strip that is a picture of `side` pixels a side; its tags say 8."""
    compression, encode = inner_encoders()[kind]
    strip = bytes(encode(np.zeros((side, side, 3), np.uint8)))
    return tiff_around(strip, 8, 8, compression)


def libtiff(mode, compression):
    """A TIFF by libtiff: values of its tags lie behind the list of them, at the end of the file."""
    rgb = Image.fromarray(smooth_rgb())
    return with_pillow(rgb.convert(mode), "TIFF", compression=compression)
