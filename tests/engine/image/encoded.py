"""Small files of every format that is read, made by other programs than ours."""

import io
import struct
import zlib

import numpy as np
import tifffile
from PIL import Image

from engine.image.formats.png_bytes import png_chunk


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


def png_header(width, height, depth=8, colour=2):
    """A PNG with a legal header and nearly no pixels."""
    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(bytes(100))), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(png_chunk(*chunk) for chunk in chunks)


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


def one_of_each():
    rgb = smooth_rgb()
    grey = np.ascontiguousarray(rgb[..., 0])
    deflate = {"photometric": "rgb", "compression": "zlib", "predictor": True}
    return {
        "png": with_pillow(rgb, "PNG"),
        "jpeg": with_pillow(rgb, "JPEG"),
        "jpeg-progressive": with_pillow(rgb, "JPEG", progressive=True),
        "bmp": with_pillow(rgb, "BMP"),
        "gif": with_pillow(grey, "GIF"),
        "webp": with_pillow(rgb, "WEBP"),
        "webp-lossless": with_pillow(rgb, "WEBP", lossless=True),
        "tiff": with_tifffile(rgb, photometric="rgb"),
        "tiff-deflate": with_tifffile(rgb, rowsperstrip=8, **deflate),
        "tiff-lzw-tiles": with_tifffile(rgb, photometric="rgb", tile=(16, 16), compression="lzw"),
        "tiff-planar-16": with_tifffile(
            np.ascontiguousarray(np.moveaxis(rgb, 2, 0)).astype(np.uint16) * 257,
            photometric="rgb",
            planarconfig="separate",
        ),
    }
