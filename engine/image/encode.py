"""The encoders: from a picture and a quality (exact formats ignore it) to the bytes of a file."""

import io
import struct
from collections.abc import Callable
from typing import Any

import imagecodecs
import numpy as np

from engine.image.avif_boxes import with_profile_and_exif
from engine.image.metadata import (
    EXIF_MARK,
    NO_METADATA,
    TEXT_TAGS,
    Metadata,
    exif_module,
)
from engine.image.picture import Picture
from engine.image.png_encode import png_bytes

# From this quality on, the colours of a JPEG keep the resolution of its brightness.
_FULL_CHROMA_QUALITY = 90
# Of 1 to 9: 7, libjxl's own, takes nine times as long for files of the same size, and without loss 14 times
# for 0.81 of it.
_XL_EFFORT = 3
# Of 0 to 10: 6, libavif's own, takes three times as long for files of 0.89 of the size.
_AVIF_SPEED = 8

_AVIF_BITS = 12
_AVIF_LARGEST = 2**_AVIF_BITS - 1
_AVIF_SRGB: dict[str, Any] = {"primaries": 1, "transfer": 13}

# SOI, and the JFIF segment of 16 bytes with its marker.
_JFIF_END = 20
# Its beginning, and types of its values.
_CLASSIC_TIFF = b"II*\0"
_TEXT, _OFFSET = 2, 4
# Of a JFIF segment unit and density: where they lie, and what they are. 1 is for inches.
_DENSITY_AT, _DENSITY, _PER_INCH = 13, ">BHH", 1
# The length counts itself.
MOST_JPEG_EXIF_BYTES = 65_533 - len(EXIF_MARK)
_ICC_MARK = b"ICC_PROFILE\0"
# A segment has 65,533 bytes beside its length: the mark, number and count, then the profile.
_ICC_PART_BYTES = 65_533 - len(_ICC_MARK) - 2


def encode_png(
    picture: Picture, quality: int, done: Callable[[np.ndarray], None] = lambda rows: None
) -> memoryview:
    """Encode at 8 or 16 bit, with the colour profile and the metadata; `done` as of `png_bytes`."""
    profile, metadata = picture.icc_profile, picture.metadata
    return png_bytes(picture.pixels, profile, metadata, alpha=picture.alpha, done=done)


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
    profile, metadata = picture.icc_profile, picture.metadata
    if profile is None and metadata == NO_METADATA:
        return data
    jfif = bytearray(data[:_JFIF_END])
    if metadata.dpi is not None:
        struct.pack_into(_DENSITY, jfif, _DENSITY_AT, _PER_INCH, *map(round, metadata.dpi))
    exif = _segment(b"\xff\xe1", EXIF_MARK + metadata.exif) if metadata.exif else b""
    icc = _icc_segments(profile) if profile is not None else b""
    return b"".join((jfif, exif, icc, memoryview(data)[_JFIF_END:]))


def _segment(marker: bytes, content: bytes) -> bytes:
    return marker + (len(content) + 2).to_bytes(2, "big") + content


def _icc_segments(profile: bytes) -> bytes:
    """Return a colour profile as segments of a JPEG (ICC.1:2022, annex B.4)."""
    parts = [profile[at : at + _ICC_PART_BYTES] for at in range(0, len(profile), _ICC_PART_BYTES)]
    contents = (_ICC_MARK + bytes((number, len(parts))) + part for number, part in enumerate(parts, start=1))
    return b"".join(_segment(b"\xff\xe2", content) for content in contents)


def _exif_with_resolution(metadata: Metadata) -> bytes:
    """Return EXIF data that has the resolution, for a file that has no other place for it."""
    if metadata.dpi is None:
        return metadata.exif
    made: bytes = exif_module().exif_with_resolution(metadata)
    return made


def encode_webp(picture: Picture, quality: int) -> bytes:
    """Encode RGB at 8 bit with its alpha; exact at quality 100, clear pixels included."""
    how = {"quality": quality, "lossless": quality == 100, "exact": True}
    exif = _exif_with_resolution(picture.metadata)
    return _by_pillow("WEBP", _with_alpha(picture), **how, icc_profile=picture.icc_profile or b"", exif=exif)


def encode_avif(picture: Picture, quality: int) -> bytes:
    """Encode RGB with its alpha: 8 bit by Pillow, 16 bit as 12 by imagecodecs."""
    exif, profile = _exif_with_resolution(picture.metadata), picture.icc_profile or b""
    if picture.dtype == np.uint16:
        # To the nearest, full scale to full scale.
        deep = (_with_alpha(picture).astype(np.uint32) * _AVIF_LARGEST + 32767) // 65535
        data = imagecodecs.avif_encode(
            deep.astype(np.uint16),
            level=quality,
            speed=_AVIF_SPEED,
            bitspersample=_AVIF_BITS,
            # A profile says it otherwise.
            **({} if profile else _AVIF_SRGB),
        )
        return with_profile_and_exif(bytes(data), profile, exif.removeprefix(EXIF_MARK))
    subsampling = "4:4:4" if quality >= _FULL_CHROMA_QUALITY else "4:2:0"
    how = {"quality": quality, "subsampling": subsampling, "speed": _AVIF_SPEED}
    return _by_pillow("AVIF", _with_alpha(picture), **how, icc_profile=profile, exif=exif)


def encode_jpegxl(picture: Picture, quality: int) -> bytes:
    """Encode any of our depths; exact at quality 100, and where there are floats, whose range libjxl cuts."""
    is_exact = quality == 100 or picture.dtype == np.float32
    # As libjxl's own programs have it: 90 is as good as the eye.
    distance = 0.0 if is_exact else 0.1 + (100 - quality) * 0.09
    exif = _exif_with_resolution(picture.metadata)
    image = np.ascontiguousarray(_with_alpha(picture))
    data = bytes(
        imagecodecs.jpegxl_encode(
            image, distance=distance, lossless=is_exact, effort=_XL_EFFORT, usecontainer=bool(exif) or None
        )
    )
    if not exif:
        return data
    # A box may follow the pixels. Its content begins with how many bytes lie before the EXIF data.
    content = bytes(4) + exif.removeprefix(EXIF_MARK)
    return data + struct.pack(">I4s", 8 + len(content), b"Exif") + content


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

    buffer, metadata = io.BytesIO(), picture.metadata
    exif = exif_module().loaded_exif(metadata) if metadata.exif else {}
    tifffile.imwrite(
        buffer,
        _with_alpha(picture),
        photometric="minisblack" if picture.channels == 1 else "rgb",
        byteorder="<",
        planarconfig="contig" if picture.channels == 3 or picture.alpha is not None else None,
        extrasamples=None if picture.alpha is None else ["unassalpha"],
        compression="adobe_deflate",
        predictor=True,
        iccprofile=picture.icc_profile,
        software="Haloscope",
        metadata=None,
        resolution=metadata.dpi,
        resolutionunit=None if metadata.dpi is None else "INCH",
        extratags=[
            *(
                (tag, _TEXT, 0, str(exif[tag]).encode("latin-1", "replace"), True)
                for tag in TEXT_TAGS
                if tag in exif
            ),
        ],
    )
    return _with_lists(buffer.getvalue(), exif) if exif else buffer.getvalue()


def _with_lists(data: bytes, exif: Any) -> bytes:
    """Return a TIFF whose list of tags, which tifffile has written, also names those within EXIF data.

    tifffile writes none of these, and Pillow no RGB of 16 bit or float32. The list is written anew, last.
    """
    if data[:4] != _CLASSIC_TIFF:
        return data  # beyond 4 GB, where offsets have other sizes
    (begin,) = struct.unpack_from("<I", data, 4)
    (count,) = struct.unpack_from("<H", data, begin)
    entries = [data[begin + 2 + 12 * i : begin + 14 + 12 * i] for i in range(count)]
    padding = b"\0" * (len(data) % 2)
    lists, begins = exif_module().tiff_lists(exif, len(data) + len(padding))
    entries += [struct.pack("<HHII", tag, _OFFSET, 1, offset) for tag, offset in begins.items()]
    entries.sort(key=lambda entry: struct.unpack_from("<H", entry))
    lists += b"\0" * (len(lists) % 2)
    end = len(data) + len(padding) + len(lists)
    head = _CLASSIC_TIFF + struct.pack("<I", end)
    body = memoryview(data)[len(head) :]
    return b"".join((head, body, padding, lists, struct.pack("<H", len(entries)), *entries, bytes(4)))


def _with_alpha(picture: Picture) -> np.ndarray:
    if picture.alpha is None:
        return picture.pixels
    return np.ascontiguousarray(np.dstack([picture.pixels, picture.alpha]))
