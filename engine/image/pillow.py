"""JPEG, BMP, WebP and GIF: all 8 bit, all decoded by Pillow."""

import io
import threading
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from engine.image.budget import check_budget
from engine.image.decoded import Decoded
from engine.image.faults import Refused
from engine.image.jpeg import with_surplus_data
from engine.image.orientation import EXIF_ORIENTATION_TAG

if TYPE_CHECKING:
    from PIL import Image, ImageFile

# Mode in Pillow -> mode that we take over. What is missing has no 8-bit picture.
_TARGET_MODES = {
    "1": "L",
    "L": "L",
    "LA": "LA",
    "P": "RGB",
    "PA": "RGBA",
    "RGB": "RGB",
    "RGBX": "RGB",
    "RGBA": "RGBA",
    "CMYK": "RGB",
    "YCbCr": "RGB",
}
_WITH_ALPHA = {"L": "LA", "RGB": "RGBA"}

_limit_lock = threading.Lock()


def read_with_pillow(file: BinaryIO, format_name: str, max_bytes: int) -> Decoded:
    """Decode a JPEG, BMP, WebP or GIF; of an animation the first frame.

    Parameters
    ----------
    file : binary file
        At its start.
    format_name : str
        "JPEG", "BMP", "WebP" or "GIF".
    max_bytes : int
        Limit on the bytes of the decoded picture.

    Raises
    ------
    Refused
        Too large, or damaged in a way that Pillow does not tell. Errors of Pillow pass through.
    """
    with _opened(file, format_name) as image:
        mode = _target_mode(image)
        width, height = image.size
        check_budget(width, height, len(mode), 1, max_bytes)
        notes: list[str] = []
        if image.mode == "CMYK":
            notes.append("It was converted from CMYK to RGB without its colour profile.")
        image.load()
        if format_name == "JPEG":
            file.seek(0)
            _check_all_there(file.read(), image)
        # convert() copies even where the mode is the same.
        array = np.array(image if image.mode == mode else image.convert(mode))
        if array.shape[:2] != (height, width):
            raise Refused(
                f"it decodes to {array.shape[1]} x {array.shape[0]}, its header promised {width} x {height}"
            )
        orientation = _orientation(image)
        profile = image.info.get("icc_profile")
        notes += _frame_notes(image)
    has_alpha = mode in ("LA", "RGBA")
    if array.ndim == 2:
        return Decoded(array, None, profile, orientation, tuple(notes))
    return Decoded(
        pixels=np.ascontiguousarray(array[..., 0] if mode == "LA" else array[..., :3]),
        alpha=np.ascontiguousarray(array[..., -1]) if has_alpha else None,
        icc_profile=profile,
        orientation=orientation,
        notes=tuple(notes),
    )


def _opened(file: BinaryIO, format_name: str) -> "ImageFile.ImageFile":
    """Read the header without Pillow's own limit on pixels: the budget is checked here."""
    from PIL import Image

    with _limit_lock:
        limit, Image.MAX_IMAGE_PIXELS = Image.MAX_IMAGE_PIXELS, None
        try:
            return Image.open(file, formats=[format_name.upper()])
        finally:
            Image.MAX_IMAGE_PIXELS = limit


def _target_mode(image: "Image.Image") -> str:
    if image.mode not in _TARGET_MODES:
        raise Refused(f"its pixels are of a kind that is not read here ({image.mode})", "Save it as RGB.")
    mode = _TARGET_MODES[image.mode]
    return _WITH_ALPHA[mode] if "transparency" in image.info and mode in _WITH_ALPHA else mode


def _check_all_there(data: bytes, image: "Image.Image") -> None:
    """Refuse a JPEG whose data stops before its end marker: libjpeg fills the rest with grey and says nothing."""
    from PIL import ImageChops

    surplus = with_surplus_data(data)
    if surplus is None:
        return
    with _opened(io.BytesIO(surplus), "JPEG") as again:
        # In Pillow's own memory: as arrays, 12 megapixels would take 60 ms longer.
        if ImageChops.difference(image, again).getbbox() is not None:
            raise Refused("its data stops before its last row: the file was cut short or is damaged")


def _orientation(image: "Image.Image") -> int:
    try:
        return int(image.getexif().get(EXIF_ORIENTATION_TAG, 1))
    except (SyntaxError, ValueError, TypeError, OSError, LookupError, ArithmeticError):
        # Damaged metadata is no reason to refuse whole pixels.
        return 1


def _frame_notes(image: "Image.Image") -> list[str]:
    from PIL.Image import DecompressionBombError

    try:
        frames = int(getattr(image, "n_frames", 1))
    except (SyntaxError, ValueError, OSError, LookupError, EOFError, DecompressionBombError):
        return ["Its first frame was opened; the frames after it are damaged."]
    return [f"It has {frames:,} frames; the first was opened."] if frames > 1 else []
