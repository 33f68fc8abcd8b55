"""The bytes of a PNG: of an array, and of a picture as a notebook shows it."""

import struct
import zlib
from collections.abc import Callable
from typing import Any

import imagecodecs
import numpy as np
from numpy.typing import NDArray

from engine.image.convert import change_alpha_depth, change_depth, halved
from engine.image.format import bands
from engine.image.metadata import NO_METADATA, Metadata

SIGNATURE = b"\x89PNG\r\n\x1a\n"
METRES_PER_INCH = 0.0254
# Channels with alpha -> colour type, table 11.1 of the PNG specification.
_TYPES_OF_CHANNELS = {1: 0, 2: 4, 3: 2, 4: 6}
# Each byte of a row less the one above it.
_FILTER_UP = 2
METRE = 1
# Of an IDAT chunk; before them come their number and its name, after them a checksum.
_MOST_CHUNK_BYTES = (1 << 31) - 1
_BEFORE_CONTENT, _AROUND_CHUNK = 8, 12


def png_bytes(
    image: np.ndarray,
    icc_profile: bytes | None = None,
    metadata: Metadata = NO_METADATA,
    *,
    alpha: np.ndarray | None = None,
    done: Callable[[np.ndarray], None] = lambda rows: None,
) -> memoryview:
    """Encode grey or RGB, with or without alpha, at 8 or 16 bit.

    `alpha` is that of an image without one. `done` is called with rows that are not read again.

    The rows are their differences to the row above, deflated by libdeflate at its first level.
    1920 x 1080 RGB takes 25 ms. libpng's own choice (zlib's level 6, the best of all filters for each row)
    takes 510 ms, and the median of 36 files has 0.96 of the size (photographs 0.8 to 1). OpenCV (runs of
    differences to the left) takes 63 ms for 1.23 times the size.
    """
    height, width = image.shape[:2]
    channels = (1 if image.ndim == 2 else image.shape[2]) + (alpha is not None)
    header = struct.pack(
        ">IIBBBBB", width, height, 8 * image.dtype.itemsize, _TYPES_OF_CHANNELS[channels], 0, 0, 0
    )
    parts: list[bytes] = [SIGNATURE, png_chunk(b"IHDR", header)]
    if icc_profile is not None:
        parts.append(png_chunk(b"iCCP", b"ICC profile\0\0" + zlib.compress(icc_profile)))
    if metadata.dpi is not None:
        per_metre = (round(one / METRES_PER_INCH) for one in metadata.dpi)
        parts.append(png_chunk(b"pHYs", struct.pack(">IIB", *per_metre, METRE)))
    if metadata.exif:
        parts.append(png_chunk(b"eXIf", metadata.exif))
    before, after = b"".join(parts), png_chunk(b"IEND", b"")
    filtered: Any = _differences(image, alpha, done)  # its stub knows no arrays
    # Libdeflate's blocks have 5,000 bytes or more, and 5 around them.
    room = filtered.nbytes + filtered.nbytes // 500 + 4096
    # The whole file, of which only what is written takes memory: joining its parts took that of all twice.
    file: Any = np.empty(len(before) + _AROUND_CHUNK + room + len(after), np.uint8)
    begin = len(before) + _BEFORE_CONTENT
    content = imagecodecs.deflate_encode(filtered, level=1, out=file[begin : begin + room])
    if len(content) > _MOST_CHUNK_BYTES:
        raise ValueError("its compressed pixels take more than 2 GiB")
    checksum = zlib.crc32(content, zlib.crc32(b"IDAT"))
    written, end = memoryview(file), begin + len(content)
    written[:begin] = before + struct.pack(">I", len(content)) + b"IDAT"
    written[end : end + 4 + len(after)] = struct.pack(">I", checksum) + after
    return written[: end + 4 + len(after)]


def _differences(
    image: np.ndarray, alpha: np.ndarray | None, done: Callable[[np.ndarray], None]
) -> NDArray[np.uint8]:
    """Return the rows of a PNG, (H, 1 + bytes of a row): the number of the filter, then its bytes."""
    height = len(image)
    row_bytes = (image.nbytes + (0 if alpha is None else alpha.nbytes)) // height
    filtered = np.empty((height, 1 + row_bytes), np.uint8)
    filtered[:, 0] = _FILTER_UP
    big_endian = image.dtype.newbyteorder(">")
    above = np.zeros((1, row_bytes), np.uint8)
    # In bands, so that no second picture in the other byte order, or with its alpha, is made.
    for rows in bands(height, row_bytes):
        part = image[rows] if alpha is None else np.dstack([image[rows], alpha[rows]])
        part = part.astype(big_endian, copy=False).reshape(-1, row_bytes // image.itemsize)
        samples = part.view(np.uint8)
        np.subtract(samples[:1], above, out=filtered[rows.start : rows.start + 1, 1:])
        np.subtract(samples[1:], samples[:-1], out=filtered[rows.start + 1 : rows.stop, 1:])
        above = samples[-1:].copy()
        done(image[rows])
    return filtered


def png_chunk(kind: bytes, content: bytes) -> bytes:
    """Return a chunk with its length and checksum."""
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


MOST_SIDE = 1024
# Rows of the shown picture that are made at once: of a large picture no second one is made.
_BAND_ROWS = 32


def png_to_show(pixels: np.ndarray, alpha: np.ndarray | None) -> bytes:
    """Return a PNG of 8 bits, halved until it is small enough; 1.0 is white, and values outside are clipped.

    The halves are those of the window (`engine.host.shared_picture`), in which clear pixels do not count.
    """
    halvings = ((max(pixels.shape[:2]) - 1) // MOST_SIDE).bit_length()

    def reduced(samples: np.ndarray) -> np.ndarray:
        for _ in range(halvings):
            samples = halved(samples)
        return samples

    def shown(rows: slice) -> np.ndarray:
        colours = change_depth(pixels[rows], np.uint8).reshape(-1, *pixels.shape[1:2], pixels[0, 0].size)
        if alpha is None:
            return reduced(colours)
        opacity = change_alpha_depth(alpha[rows], np.uint8)[..., np.newaxis]
        if halvings:
            # Weighted by the opacity, while they are halved.
            colours = reduced(np.rint(colours * (opacity / 255.0)).astype(np.uint8))
            opacity = reduced(opacity)
            straight = np.rint(colours * (255.0 / np.maximum(opacity, 1)))
            colours = np.minimum(straight, 255).astype(np.uint8)
        return np.concatenate([colours, opacity], axis=2)

    step = _BAND_ROWS << halvings
    parts = [shown(slice(top, top + step)) for top in range(0, len(pixels), step)]
    return bytes(png_bytes(np.concatenate(parts)))
