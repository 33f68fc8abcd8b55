"""Grey and RGB pixels of a JPEG: Pillow reads the header, imagecodecs (libjpeg-turbo) decodes into place.

Pillow decodes with the same library, but into four bytes a pixel, of which the picture is then copied:
12 megapixels take 54 ms and 48 MB more. Other files (CMYK, large ones) are left to it.
"""

import zlib
from concurrent.futures import ThreadPoolExecutor
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from engine.image.budget import Budget, check_long_enough
from engine.image.canvas import Allocate, Canvas, Decoded
from engine.image.faults import Refused, Unsupported
from engine.image.form import Form
from engine.image.jpeg import end_of_first_image, frame_of, with_surplus
from engine.image.jpeg_scan import is_complete
from engine.image.metadata import named_metadata, orientation_of_exif, orientation_of_xmp
from engine.image.pillow import frame_notes, opened_with_pillow, read_with_pillow

# Files up to this size are held while they are decoded, some a second time with surplus data.
_HELD_BYTES = 32 * 2**20


def read_jpeg(file: BinaryIO, budget: Budget, allocate: Allocate | None = None) -> Decoded:
    """Decode a JPEG, and prove that its data reaches its last row (see `jpeg_scan` and `jpeg`)."""
    frame = frame_of(file)
    if frame.unsupported:
        raise Unsupported(frame.unsupported)
    file_bytes = file.seek(0, 2)
    end = end_of_first_image(file) if file_bytes <= _HELD_BYTES else None
    if end is None:  # Pillow finds the words for a file without an end
        return read_with_pillow("JPEG", file, budget, allocate, frame)
    file.seek(0)
    with opened_with_pillow(file, "JPEG") as image:
        is_plain = image.mode in ("L", "RGB")
        width, height = image.size
        info, notes = image.info, frame_notes(image) if is_plain else ()
    if not is_plain:
        return read_with_pillow("JPEG", file, budget, allocate, frame)
    form = Form(height, width, 1 if image.mode == "L" else 3, False, np.dtype(np.uint8))
    # The file, with and without surplus data, and what the decoder collects until the last scan.
    budget.check(form, frame.coefficient_bytes + 2 * file_bytes)
    check_long_enough(form, file_bytes, frame.fewest_bytes)
    file.seek(0)
    data = file.read()
    exif, xmp = info.get("exif"), info.get("xmp")
    canvas = Canvas(form, orientation_of_exif(exif) or orientation_of_xmp(xmp), allocate)
    canvas.decode_into(lambda out: _decode_whole(data, end, out))
    metadata = named_metadata(exif=exif, dpi=float(info.get("dpi", (0,))[0]))
    return Decoded(canvas, info.get("icc_profile"), notes, metadata)


def _decode_whole(data: bytes, end: int, out: NDArray[np.uint8]) -> None:
    """Decode a file that is proven to reach its last row; raise Refused where it does not."""
    import imagecodecs

    with ThreadPoolExecutor(1, thread_name_prefix="jpeg-scan") as scanner:
        complete = scanner.submit(is_complete, data, end)
        imagecodecs.jpeg8_decode(data, out=out)
    if complete.result():
        return
    without = zlib.crc32(out.data)
    imagecodecs.jpeg8_decode(with_surplus(data, end), out=out)
    if zlib.crc32(out.data) != without:
        raise Refused("its data stops before its last row: the file was cut short or is damaged")
