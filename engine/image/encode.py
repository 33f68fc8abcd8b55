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

# From this quality on, the colours of a JPEG keep the resolution of its brightness.
_FULL_CHROMA_QUALITY = 90


def encode_png(picture: Picture, quality: int) -> bytes:
    """Encode at 8 or 16 bit; imagecodecs, because Pillow cuts 16-bit RGB to 8."""
    import imagecodecs

    data = bytes(imagecodecs.png_encode(_with_alpha(picture)))
    if picture.icc_profile is None:
        return data
    chunk = png_chunk(b"iCCP", b"ICC profile\0\0" + zlib.compress(picture.icc_profile))
    return data[:_PNG_HEADER_END] + chunk + data[_PNG_HEADER_END:]


def encode_jpeg(picture: Picture, quality: int) -> bytes:
    """Encode grey or RGB at 8 bit, without the alpha."""
    # Grey has no chroma, and Pillow ignores the choice there.
    subsampling = "4:4:4" if quality >= _FULL_CHROMA_QUALITY else "4:2:0"
    profile = picture.icc_profile
    return _by_pillow("JPEG", picture.pixels, quality=quality, subsampling=subsampling, icc_profile=profile)


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
