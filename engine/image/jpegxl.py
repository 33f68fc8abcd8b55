"""JPEG XL, by imagecodecs (libjxl): 8 and 16 bit, half and float, upright.

libjxl decodes into an array of its own, whose form is known then only: the header is read for the size.
"""

from typing import BinaryIO

import imagecodecs
import numpy as np

from engine.image.budget import Budget
from engine.image.canvas import Allocate, Decoded, canvas_of
from engine.image.faults import Refused, Unsupported
from engine.image.form import Form
from engine.image.jpegxl_header import exif_box, has_xmp, read_jpegxl_header
from engine.image.left_out import XMP
from engine.image.metadata import metadata_of

# What libjxl holds beside the result, bytes per pixel: three colours as float32, and their coefficients.
_DECODER_BYTES = 32


def read_jpegxl(file: BinaryIO, budget: Budget, allocate: Allocate | None = None) -> Decoded:
    """Decode a JPEG XL; of an animation the first frame."""
    data = file.read()
    header = read_jpegxl_header(data)
    dtype = np.dtype(np.float32 if header.is_float else np.uint8 if header.bits <= 8 else np.uint16)
    # Grey or RGB, which only the whole header says: the larger is counted.
    form = Form(header.height, header.width, 3, header.extra_channels > 0, dtype)
    # Each further channel is decoded as float32, and becomes samples that are left out.
    further_bytes = max(0, header.extra_channels - 1) * (4 + dtype.itemsize)
    beside = form.decoded_bytes + (_DECODER_BYTES + further_bytes) * form.pixel_count + len(data)
    budget.check(form, beside)
    samples = imagecodecs.jpegxl_decode(data, index=0)
    further, sides = header.extra_channels, sorted((header.height, header.width))
    if further > 1 and samples.shape[0] == 1 + further and sorted(samples.shape[1:]) == sides:
        raise Unsupported(f"it is grey with {further} further channels")
    if sorted(samples.shape[:2]) != sides:
        raise Refused("it decodes to another size than its header says")
    notes = ["It is an animation; its first frame was opened."] if header.is_animation else []
    if samples.dtype == np.float16:
        samples = samples.astype(np.float32)
        notes.append("Its 16-bit float values were opened as 32-bit float.")
    if header.bits not in (8, 16) and not header.is_float:
        notes.append(f"Its {header.bits}-bit samples were scaled to {8 * samples.itemsize} bit.")
    if header.has_profile:
        notes.append("Its colour profile cannot be read: its colours are taken as sRGB.")
    metadata = metadata_of(exif_box(data), left_out=(XMP,) if has_xmp(data) else ())
    return Decoded(canvas_of(samples, 1, allocate), None, tuple(notes), metadata)
