"""NumPy's .npy: rows x columns, or rows x columns x 1 to 4 (grey or RGB, with or without alpha)."""

import io
import os
from tokenize import TokenError
from typing import Any, BinaryIO

import numpy as np

from engine.image.array_types import converted, sample_type
from engine.image.budget import Budget, check_long_enough
from engine.image.canvas import Allocate, Canvas, Decoded
from engine.image.faults import LIBRARY_ERRORS, Refused
from engine.image.form import Form
from engine.image.picture import Picture
from engine.image.scratch import bands

MAGIC = b"\x93NUMPY"
_MOST_CHANNELS = 4


def read_npy(file: BinaryIO, budget: Budget, allocate: Allocate | None = None) -> Decoded:
    """Read an array as a picture."""
    shape, is_by_columns, stored = read_array_header(file)
    if is_by_columns and len(shape) > 1:
        remedy = "Save numpy.ascontiguousarray of it."
        raise Refused("its values are stored column by column (Fortran order)", remedy)
    if len(shape) not in (2, 3) or (len(shape) == 3 and not 1 <= shape[2] <= _MOST_CHANNELS):
        raise Refused(
            f"its shape is {shape}; a picture is rows × columns, or rows × columns × 1 to {_MOST_CHANNELS}",
            "Put the channels last, and save one picture at a time.",
        )
    dtype, notes = sample_type(stored)
    height, width, samples = (*shape, 1)[:3]
    form = Form(height, width, 1 if samples < 3 else 3, samples in (2, 4), dtype)
    budget.check(form)
    begin, row_bytes = file.tell(), width * samples * stored.itemsize
    check_long_enough(form, os.fstat(file.fileno()).st_size, begin + height * row_bytes)
    canvas = Canvas(form, allocate=allocate)
    for rows in bands(height, row_bytes):
        values = np.fromfile(file, stored, (rows.stop - rows.start) * width * samples)
        canvas.put_samples(rows, converted(values.reshape(-1, width, samples), dtype))
    return Decoded(canvas, notes=notes)


def read_array_header(file: BinaryIO) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Return shape, order and type of an array; refuse a damaged header, and Python objects."""
    try:
        version = np.lib.format.read_magic(file)
        read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
        shape, is_by_columns, dtype = read.get(version, np.lib.format.read_array_header_2_0)(file)
    except (*LIBRARY_ERRORS, TokenError) as error:
        raise Refused("its header is damaged or cut short") from error
    if dtype.hasobject:
        raise Refused(
            "it holds Python objects, which are never loaded from a file", "Save its numbers alone."
        )
    return shape, is_by_columns, dtype


def encode_npy(picture: Picture, quality: int) -> bytes:
    """Write the samples as they are: grey as rows and columns, alpha as the last channel."""
    buffer = io.BytesIO()
    samples = picture.pixels if picture.alpha is None else np.dstack([picture.pixels, picture.alpha])
    np.lib.format.write_array(buffer, samples, allow_pickle=False)
    return buffer.getvalue()
