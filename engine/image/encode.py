"""The encoders: from a picture and a quality (exact formats ignore it) to the bytes of a file."""

import io
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.image.picture import Picture
from engine.image.png import png_chunk

# Signature, then the header chunk: length, type, 13 bytes, checksum. A colour profile must follow it at once.
_PNG_HEADER_END = 33

# zlib's constants: runs only, and the difference to the row above. libpng's own choice (level 6, the best of
# all filters for each row) takes 510 ms for 1920 x 1080 RGB, this 56. Of 36 pictures the median file is 1.22
# times as large (photographs 1.0 to 1.2, patterns that repeat up to 15). OpenCV also writes runs, but of
# differences to the left, in 63 ms: its files are 1.05 times as large as these.
_PNG_SPEED = {"level": 1, "strategy": 3, "filter": 0x20}

# From this quality on, the colours of a JPEG keep the resolution of its brightness.
_FULL_CHROMA_QUALITY = 90

# SOI, and the JFIF segment of 16 bytes with its marker.
_JFIF_END = 20
_ICC_MARK = b"ICC_PROFILE\0"
# A segment has 65,533 bytes beside its length: the mark, number and count, then the profile.
_ICC_PART_BYTES = 65_533 - len(_ICC_MARK) - 2


def encode_png(picture: Picture, quality: int) -> bytes:
    """Encode at 8 or 16 bit; imagecodecs, because Pillow cuts 16-bit RGB to 8."""
    import imagecodecs

    data = bytes(imagecodecs.png_encode(_with_alpha(picture), **_PNG_SPEED))
    if picture.icc_profile is None:
        return data
    chunk = png_chunk(b"iCCP", b"ICC profile\0\0" + zlib.compress(picture.icc_profile))
    return b"".join((memoryview(data)[:_PNG_HEADER_END], chunk, memoryview(data)[_PNG_HEADER_END:]))


def encode_jpeg(picture: Picture, quality: int) -> bytes:
    """Encode grey or RGB at 8 bit, without the alpha.

    imagecodecs, because Pillow first copies the picture into four bytes a pixel (12 megapixels: 59 ms instead
    of 47, and 48 MB); the files are the same.
    """
    import imagecodecs

    # Grey has no chroma.
    subsampling = "444" if quality >= _FULL_CHROMA_QUALITY else "420"
    data = bytes(imagecodecs.jpeg8_encode(picture.pixels, level=quality, subsampling=subsampling))
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


def _by_pillow(kind: str, image: NDArray[Any], **how: Any) -> bytes:
    from PIL import Image

    buffer = io.BytesIO()
    Image.fromarray(image).save(buffer, kind, **how)
    return buffer.getvalue()


def encode_tiff(picture: Picture, quality: int) -> bytes:
    """Encode any of our depths, deflated (exact) with a predictor."""
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


def _with_alpha(picture: Picture) -> NDArray[Any]:
    if picture.alpha is None:
        return picture.pixels
    return np.ascontiguousarray(np.dstack([picture.pixels, picture.alpha]))
