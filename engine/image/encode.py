"""The encoders: from a picture and a quality (exact formats ignore it) to the bytes of a file."""

import io
import struct
import zlib
from typing import Any

import imagecodecs
import numpy as np
from numpy.typing import NDArray

from engine.image.picture import Picture
from engine.image.png_chunks import png_chunk
from engine.image.scratch import bands

# Channels with alpha -> colour type, table 11.1 of the PNG specification.
_COLOUR_TYPES = {1: 0, 2: 4, 3: 2, 4: 6}
# Each byte of a row less the one above it.
_FILTER_UP = 2
# An IDAT chunk has at most 2^31 - 1 bytes.
_MOST_CHUNK_BYTES = 1 << 30

# From this quality on, the colours of a JPEG keep the resolution of its brightness.
_FULL_CHROMA_QUALITY = 90

# SOI, and the JFIF segment of 16 bytes with its marker.
_JFIF_END = 20
_ICC_MARK = b"ICC_PROFILE\0"
# A segment has 65,533 bytes beside its length: the mark, number and count, then the profile.
_ICC_PART_BYTES = 65_533 - len(_ICC_MARK) - 2


def encode_png(picture: Picture, quality: int) -> bytes:
    """Encode at 8 or 16 bit: the differences to the row above, deflated by libdeflate at its first level.

    1920 x 1080 RGB takes 25 ms. libpng's own choice (zlib's level 6, the best of all filters for each row)
    takes 510 ms, and the median of 36 files has 0.96 of the size (photographs 0.8 to 1). OpenCV (runs of
    differences to the left) takes 63 ms for 1.23 times the size.
    """
    image = _with_alpha(picture)
    height, width = image.shape[:2]
    channels = 1 if image.ndim == 2 else image.shape[2]
    header = struct.pack(
        ">IIBBBBB", width, height, 8 * image.dtype.itemsize, _COLOUR_TYPES[channels], 0, 0, 0
    )
    parts: list[bytes | memoryview] = [b"\x89PNG\r\n\x1a\n", png_chunk(b"IHDR", header)]
    if picture.icc_profile is not None:
        parts.append(png_chunk(b"iCCP", b"ICC profile\0\0" + zlib.compress(picture.icc_profile)))
    filtered: Any = _differences(image)  # its stub knows no arrays
    deflated = memoryview(imagecodecs.deflate_encode(filtered, level=1))
    for begin in range(0, len(deflated), _MOST_CHUNK_BYTES):
        content = deflated[begin : begin + _MOST_CHUNK_BYTES]
        checksum = zlib.crc32(content, zlib.crc32(b"IDAT"))
        parts += [struct.pack(">I", len(content)), b"IDAT", content, struct.pack(">I", checksum)]
    return b"".join([*parts, png_chunk(b"IEND", b"")])


def _differences(image: np.ndarray) -> NDArray[np.uint8]:
    """Return the rows of a PNG, (H, 1 + bytes of a row): the number of the filter, then its bytes."""
    height = len(image)
    row_bytes = image.nbytes // height
    filtered = np.empty((height, 1 + row_bytes), np.uint8)
    filtered[:, 0] = _FILTER_UP
    big_endian = image.dtype.newbyteorder(">")
    above = np.zeros((1, row_bytes), np.uint8)
    # In bands, so that no second picture in the other byte order is made.
    for rows in bands(height, row_bytes):
        part = image[rows].astype(big_endian, copy=False).reshape(-1, row_bytes // image.itemsize)
        samples = part.view(np.uint8)
        np.subtract(samples[:1], above, out=filtered[rows.start : rows.start + 1, 1:])
        np.subtract(samples[1:], samples[:-1], out=filtered[rows.start + 1 : rows.stop, 1:])
        above = samples[-1:]
    return filtered


def encode_jpeg(picture: Picture, quality: int) -> bytes:
    """Encode grey or RGB at 8 bit, without the alpha.

    imagecodecs, because Pillow first copies the picture into four bytes per pixel (12 megapixels: 59 ms
    instead of 47, and 48 MB); the files are the same.
    """
    # Grey has no chroma.
    subsampling = "444" if quality >= _FULL_CHROMA_QUALITY else "420"
    # NumPy keeps the strides of the original array for a single row or column, and imagecodecs refuses
    # those.
    pixels = picture.pixels.reshape(-1).reshape(picture.pixels.shape)
    data = bytes(imagecodecs.jpeg8_encode(pixels, level=quality, subsampling=subsampling))
    if picture.icc_profile is None:
        return data
    segments = _icc_segments(picture.icc_profile)
    return b"".join((memoryview(data)[:_JFIF_END], segments, memoryview(data)[_JFIF_END:]))


def _icc_segments(profile: bytes) -> bytes:
    """Return a colour profile as segments of a JPEG (ICC.1:2022, annex B.4)."""
    parts = [profile[at : at + _ICC_PART_BYTES] for at in range(0, len(profile), _ICC_PART_BYTES)]
    contents = (_ICC_MARK + bytes((number, len(parts))) + part for number, part in enumerate(parts, start=1))
    return b"".join(b"\xff\xe2" + (len(content) + 2).to_bytes(2, "big") + content for content in contents)


def encode_webp(picture: Picture, quality: int) -> bytes:
    """Encode RGB at 8 bit with its alpha; exact at quality 100, clear pixels included."""
    how = {"quality": quality, "lossless": quality == 100, "exact": True}
    return _by_pillow("WEBP", _with_alpha(picture), **how, icc_profile=picture.icc_profile or b"")


def _by_pillow(kind: str, image: np.ndarray, **how: Any) -> bytes:
    # 20 ms, which a PNG need not wait for.
    from PIL import Image

    buffer = io.BytesIO()
    Image.fromarray(image).save(buffer, kind, **how)
    return buffer.getvalue()


def encode_tiff(picture: Picture, quality: int) -> bytes:
    """Encode any of our depths, deflated (exact) with a predictor."""
    # 40 ms, which a PNG need not wait for.
    import tifffile

    buffer = io.BytesIO()
    tifffile.imwrite(
        buffer,
        _with_alpha(picture),
        photometric="minisblack" if picture.channels == 1 else "rgb",
        planarconfig="contig" if picture.channels == 3 or picture.alpha is not None else None,
        extrasamples=None if picture.alpha is None else ["unassalpha"],
        compression="adobe_deflate",
        predictor=True,
        iccprofile=picture.icc_profile,
        software="Haloscope",
        metadata=None,
    )
    return buffer.getvalue()


def _with_alpha(picture: Picture) -> np.ndarray:
    if picture.alpha is None:
        return picture.pixels
    return np.ascontiguousarray(np.dstack([picture.pixels, picture.alpha]))
