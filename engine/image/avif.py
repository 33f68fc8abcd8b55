"""AVIF: Pillow reads what belongs to the picture, imagecodecs (libavif) decodes 8, 10 and 12 bit."""

from typing import BinaryIO

import imagecodecs
import numpy as np

from engine.image.avif_sizes import coded_sizes
from engine.image.budget import Budget
from engine.image.canvas import Allocate, Decoded, canvas_of
from engine.image.faults import Refused
from engine.image.form import Form
from engine.image.left_out import left_out_of_info
from engine.image.metadata import metadata_of, orientation_of_exif
from engine.image.pillow import frame_notes, opened_with_pillow, read_with_pillow

# The box that says how the pixels are coded; in its third byte, how deep they are.
_CODING, _DEEP, _TWELVE = b"av1C", 0x40, 0x20


def read_avif(file: BinaryIO, budget: Budget, allocate: Allocate | None = None) -> Decoded:
    """Decode an AVIF; of a sequence the first picture."""
    data = file.read()
    bits = _bits(data)
    coded = coded_sizes(data)
    file.seek(0)
    with opened_with_pillow(file, "AVIF") as image:
        (width, height), info, has_alpha = image.size, image.info, image.mode == "RGBA"
        count, notes = getattr(image, "n_frames", 1), list(frame_notes(image))
    form = Form(height, width, 3, has_alpha, np.dtype(np.uint8 if bits == 8 else np.uint16))
    coded_pixels = max((one.width * one.height for one in coded), default=0)
    # Planes of brightness and colours, and the samples before they are a picture: of all pictures, where
    # there are several (with an index, imagecodecs takes memory for one and writes all).
    larger = max(0, coded_pixels - form.pixel_count) * 4 * form.dtype.itemsize
    is_sequence_of_8_bit = bits == 8 and count > 1
    decoded_pictures = 1 if is_sequence_of_8_bit else count
    budget.check(form, (1 + decoded_pictures) * form.decoded_bytes + larger + len(data))
    notes += [
        f"It was scaled from {one.width:,} × {one.height:,} pixels: its header says {one.said[0]:,} × "
        f"{one.said[1]:,}."
        for one in coded
        if (one.width, one.height) != one.said
    ][:1]
    if is_sequence_of_8_bit:
        decoded = read_with_pillow("AVIF", file, budget, allocate)
        return decoded._replace(notes=tuple(notes))
    samples = imagecodecs.avif_decode(data)
    if count > 1:
        samples = samples[0]
    if samples.shape[:2] != (height, width):
        raise Refused("it decodes to another size than its header says")
    if samples.dtype == np.uint16:
        # The highest bits once more, so that full scale becomes full scale.
        samples = samples << (16 - bits) | samples >> (2 * bits - 16)
        notes.append(f"Its {bits}-bit samples were scaled to 16 bit.")
    exif = info.get("exif")
    canvas = canvas_of(samples, orientation_of_exif(exif), allocate)
    return Decoded(
        canvas, info.get("icc_profile"), tuple(notes), metadata_of(exif, left_out=left_out_of_info(info))
    )


def _bits(data: bytes) -> int:
    at = data.find(_CODING)
    flags = data[at + len(_CODING) + 2] if 0 <= at < len(data) - len(_CODING) - 2 else 0
    return 8 if not flags & _DEEP else 12 if flags & _TWELVE else 10
