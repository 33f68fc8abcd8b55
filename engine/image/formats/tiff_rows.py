"""The samples of a TIFF page, band by band, in the machine's byte order.

tifffile decodes a strip or tile as a whole and then copies it to its place: with a picture in one strip, that
is both there twice and compressed besides (2.8 times the picture). So large strips are decoded here, each
straight into its place.
"""

import sys
import zlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO

import imagecodecs
import numpy as np
from numpy.typing import NDArray

from engine.image.faults import Refused
from engine.image.formats.png import SURPLUS
from engine.image.formats.tiff_damage import note_damage
from engine.image.formats.tiff_jpeg import is_of_jpegs
from engine.image.scratch import Scratch, bands

if TYPE_CHECKING:
    from tifffile import TiffPage

_DEFLATE = (8, 32946)
_PNG = 34933
# Compression -> its decoder in imagecodecs, which holds what is compressed.
_DECODERS = {5: "lzw_decode", 32773: "packbits_decode", 34926: "zstd_decode", 50000: "zstd_decode"}
_NO_PREDICTOR, _DIFFERENCES, _FLOAT_DIFFERENCES = 1, 2, 3

# tifffile reads that many bytes of strips and tiles at a time (by itself: 256 MB); what is larger is a large
# strip.
_READ_BYTES = 16 * 2**20
_PIECE_BYTES = 2**18


def bytes_beside(page: "TiffPage", picture_bytes: int) -> int:
    """Return the most memory that reading takes beside the picture, of which samples are given back."""
    if is_stored_plainly(page):
        return 0
    longer = max(0, page.size * np.dtype(page.dtype).itemsize - picture_bytes)
    compressed = max(page.databytecounts, default=0)
    if is_of_jpegs(page):
        compressed *= 2  # and once more with what the tags say of it
    if not _has_large_strips(page):
        return longer + compressed + _segment_bytes(page)
    return longer if int(page.compression) in _DEFLATE else longer + compressed


def sample_bands(page: "TiffPage", file: BinaryIO, notes: list[str]) -> Iterator[tuple[slice, np.ndarray]]:
    """Decode a page: yield rows, and their samples of shape (rows, W, S) in the page's number type.

    What is damaged is added to `notes`.
    """
    if is_stored_plainly(page):
        yield from _stored_bands(page, file)
        return
    scratch = Scratch(page.shaped, np.dtype(page.dtype))
    if _has_large_strips(page):
        notes += dict.fromkeys(_decode_strips(page, file, scratch))
    else:
        note_damage(page, scratch.array, notes)
        # What libpng says is noted on the thread where it decodes.
        workers = 1 if int(page.compression) == _PNG else None
        image = page.asarray(squeeze=False, out=scratch.array, buffersize=_READ_BYTES, maxworkers=workers)
        if image.shape != page.shaped:
            raise Refused(f"it decodes to shape {image.shape}, its tags promised {page.shaped}")
    height = page.shaped[2]
    for rows in bands(height, scratch.array.nbytes // height):
        part = scratch.array[:, 0, rows]
        yield rows, _samples(part)
        for plane in part:
            scratch.give_back(plane)


def _samples(part: np.ndarray) -> np.ndarray:
    """Bring the samples of each pixel together, of (planes, rows, columns, samples)."""
    return np.moveaxis(part, 0, -2).reshape(*part.shape[1:3], -1)


def is_stored_plainly(page: "TiffPage") -> bool:
    """Return whether the rows of a page lie in the file one after the other, as they are."""
    return (
        page.is_contiguous
        and not page.is_subsampled
        and page.fillorder == 1
        and page.predictor == _NO_PREDICTOR
    )


def _stored_bands(page: "TiffPage", file: BinaryIO) -> Iterator[tuple[slice, np.ndarray]]:
    planes, _, height, width, count = page.shaped
    stored = np.dtype(page.dtype).newbyteorder(page.parent.byteorder)
    row_bytes = width * count * stored.itemsize
    for rows in bands(height, planes * row_bytes):
        size = (rows.stop - rows.start) * row_bytes
        parts = []
        for plane in range(planes):
            file.seek(page.dataoffsets[0] + (plane * height + rows.start) * row_bytes)
            data = file.read(size)
            if len(data) < size:
                raise Refused(f"its pixels stop before row {rows.stop:,} of {height:,}: it was cut short")
            parts.append(np.frombuffer(data, stored).reshape(-1, width, count))
        yield rows, _samples(np.stack(parts)).astype(page.dtype, copy=False)


def _segment_bytes(page: "TiffPage") -> int:
    """Bytes of a decoded strip or tile."""
    rows, columns = page.tilelength, page.tilewidth
    if not page.is_tiled:
        rows, columns = min(page.rowsperstrip, page.imagelength), page.imagewidth
    samples = page.samplesperpixel if page.planarconfig == 1 else 1
    return int(rows * columns * samples * np.dtype(page.dtype).itemsize)


def _has_large_strips(page: "TiffPage") -> bool:
    compression = int(page.compression)
    is_native = page.parent.byteorder == ("<" if sys.byteorder == "little" else ">")
    return (
        not page.is_tiled
        and not page.is_contiguous
        and not page.is_subsampled
        and (compression in _DEFLATE or compression in _DECODERS)
        and page.fillorder == 1
        and int(page.bitspersample) == 8 * np.dtype(page.dtype).itemsize
        and (
            page.predictor in (_NO_PREDICTOR, _DIFFERENCES)
            or (page.predictor == _FLOAT_DIFFERENCES and is_native)
        )
        and all(page.databytecounts)
        and _segment_bytes(page) > _READ_BYTES
    )


def _decode_strips(page: "TiffPage", file: BinaryIO, scratch: Scratch) -> Iterator[str]:
    """Decode each strip into its place; yield notes on damage."""
    memory, begin = np.frombuffer(scratch.memory, np.uint8), 0
    strips = iter(zip(page.dataoffsets, page.databytecounts, strict=True))
    is_swapped = page.parent.byteorder != ("<" if sys.byteorder == "little" else ">")
    for plane in scratch.array[:, 0]:
        for row in range(0, len(plane), page.rowsperstrip):
            strip = plane[row : row + page.rowsperstrip]
            end = begin + strip.nbytes
            # One more: a decoder that fills that too has more than these rows.
            filled = _decompress(page, file, *next(strips), memory[begin : end + 1])
            if filled < strip.nbytes:
                raise Refused("the compressed pixels of a strip stop before its end")
            if filled > strip.nbytes:
                yield SURPLUS
            begin = end
            for rows in bands(len(strip), strip.nbytes // len(strip)):
                if is_swapped:
                    strip[rows].byteswap(inplace=True)
                _undo_predictor(page, strip[rows])


def _decompress(page: "TiffPage", file: BinaryIO, offset: int, size: int, out: NDArray[np.uint8]) -> int:
    """Decompress a strip; return the number of bytes."""
    file.seek(offset)
    if int(page.compression) in _DEFLATE:
        return _inflate(file, size, out)
    return len(getattr(imagecodecs, _DECODERS[int(page.compression)])(file.read(size), out=out))


def _inflate(file: BinaryIO, size: int, out: NDArray[np.uint8]) -> int:
    """Inflate piece by piece, without holding the compressed data; return the number of bytes."""
    inflater = zlib.decompressobj()
    filled = 0
    while not inflater.eof:
        compressed = inflater.unconsumed_tail or file.read(min(size, _PIECE_BYTES))
        size -= 0 if inflater.unconsumed_tail else len(compressed)
        # A byte more than there is room for: the checksum follows the last, and is compared with them.
        data = inflater.decompress(compressed, min(_PIECE_BYTES, len(out) - filled + 1))
        if not data and not compressed:
            break
        kept = min(len(data), len(out) - filled)
        out[filled : filled + kept] = np.frombuffer(data, np.uint8, kept)
        filled += kept
        if kept < len(data):
            break  # surplus after the last row
    return filled


def _undo_predictor(page: "TiffPage", rows: np.ndarray) -> None:
    if page.predictor == _DIFFERENCES:
        imagecodecs.delta_decode(rows, axis=-2, out=rows)
    elif page.predictor == _FLOAT_DIFFERENCES:
        rows[:] = imagecodecs.floatpred_decode(rows, axis=-2)
