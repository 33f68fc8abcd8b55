"""The encoders: from a picture and a quality (exact formats ignore it) to the bytes of a file."""

import io
from typing import Any

import imagecodecs
import numpy as np

from engine.image.picture import Picture
from engine.image.png_encode import png_bytes

# From this quality on, the colours of a JPEG keep the resolution of its brightness.
_FULL_CHROMA_QUALITY = 90

# SOI, and the JFIF segment of 16 bytes with its marker.
_JFIF_END = 20
_ICC_MARK = b"ICC_PROFILE\0"
# A segment has 65,533 bytes beside its length: the mark, number and count, then the profile.
_ICC_PART_BYTES = 65_533 - len(_ICC_MARK) - 2


def encode_png(picture: Picture, quality: int) -> bytes:
    """Encode at 8 or 16 bit, with the colour profile."""
    return png_bytes(_with_alpha(picture), picture.icc_profile)


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
