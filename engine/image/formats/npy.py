"""NumPy's .npy and .npz: rows x columns, or rows x columns x 1 to 4 (grey or RGB, with or without alpha).

In parts, rows are read on request, and written before the header: what is unfinished is no array.
"""

import io
import math
import os
import struct
import zipfile
from contextlib import suppress
from functools import partial
from tokenize import TokenError
from typing import Any, BinaryIO

import numpy as np

from engine.image.convert import bands, converted, sample_type, shape_refusal
from engine.image.faults import LIBRARY_ERRORS, SAVE_AGAIN, Refused
from engine.image.format import MOST_CHANNELS, Budget, Decoded, Form, Format, Scratch
from engine.image.large.result import LargeResult, PartFolder
from engine.image.large.source import BytesAt, PlainRows, Storage, ends_early
from engine.image.picture import Picture, with_alpha

MAGIC = b"\x93NUMPY"
ZIP_MAGIC = b"PK\x03\x04"

# The end of a ZIP, with a comment of up to 64 KB after it: how many entries, and the bytes of their list.
_ZIP_END, _ZIP_END_BYTES, _MOST_COMMENT_BYTES = b"PK\x05\x06", 22, 2**16
# Before it, where there are more entries or bytes than it can name.
_ZIP64_LOCATOR = b"PK\x06\x07"
_MOST_LIST_BYTES = 2**16


def read_npy(file: BinaryIO, budget: Budget) -> Decoded:
    """Read an array as a picture: of an .npy, or the only one of an .npz."""
    magic = file.read(len(ZIP_MAGIC))
    file.seek(0)
    if magic != ZIP_MAGIC:
        return _read_array(file, os.fstat(file.fileno()).st_size, budget)
    try:
        with _opened_zip(file) as archive:
            entries = archive.infolist()
            if len(entries) != 1 or not entries[0].filename.endswith(".npy"):
                why = f"it is a ZIP archive of {len(entries):,} files, and no .npz of one array"
                raise Refused(why, "Save the picture with numpy.save.")
            with archive.open(entries[0]) as array:
                decoded = _read_array(array, entries[0].file_size, budget)
                array.read(1)  # its checksum is compared at the end
                return decoded
    except (zipfile.BadZipFile, NotImplementedError) as error:
        raise Refused("it is a damaged ZIP archive") from error


def _opened_zip(file: BinaryIO) -> zipfile.ZipFile:
    """Open a ZIP whose list of entries, which is read at once, is short."""
    size = file.seek(0, 2)
    file.seek(max(0, size - _ZIP_END_BYTES - _MOST_COMMENT_BYTES))
    end = file.read()
    at = end.rfind(_ZIP_END)
    if at < 0 or at + _ZIP_END_BYTES > len(end):
        raise Refused("it is a ZIP archive that was cut short", SAVE_AGAIN)
    (list_bytes,) = struct.unpack_from("<I", end, at + 12)
    if list_bytes > _MOST_LIST_BYTES or _ZIP64_LOCATOR in end:
        raise Refused("it is a ZIP archive of very many files", "Save the picture with numpy.save.")
    return zipfile.ZipFile(file)


def _read_array(file: Any, file_bytes: int, budget: Budget) -> Decoded:
    (height, width, samples), is_by_columns, stored = _header(file)
    dtype, notes = sample_type(stored)
    form = Form.of_samples(height, width, samples, dtype)
    row_bytes = width * samples * stored.itemsize
    # Column by column (Fortran order), the first row is there when nearly all is.
    budget.check(form, height * row_bytes if is_by_columns else 0)
    form.check_long_enough(file_bytes, file.tell() + height * row_bytes)
    canvas = budget.canvas(form)
    if is_by_columns:
        scratch = Scratch((samples, width, height), stored)
        _fill(file, scratch.array)
        canvas.put_all(scratch.array.transpose(2, 1, 0), lambda values: converted(values, dtype))
    for rows in () if is_by_columns else bands(height, row_bytes):
        values = np.empty((rows.stop - rows.start, width, samples), stored)
        _fill(file, values)
        canvas.put_samples(rows, converted(values, dtype))
    return Decoded(canvas, notes=notes)


def _fill(file: Any, values: np.ndarray) -> None:
    """Fill an array from a file, whose reads may be short where it is compressed."""
    unfilled = values.reshape(-1).view(np.uint8).data
    while len(unfilled):
        count = file.readinto(unfilled)
        if not count:
            raise Refused("it ends before its last value: it was cut short")
        unfilled = unfilled[count:]


def _header(file: BinaryIO) -> tuple[tuple[int, int, int], bool, np.dtype]:
    """Return rows, columns and channels of an array, whether it lies column by column, and its type.

    Refuses a damaged header, Python objects, and what is no picture.
    """
    try:
        is_first = np.lib.format.read_magic(file) == (1, 0)
        read = np.lib.format.read_array_header_1_0 if is_first else np.lib.format.read_array_header_2_0
        shape, is_by_columns, dtype = read(file)
    except (*LIBRARY_ERRORS, TokenError) as error:
        raise Refused("its header is damaged or cut short") from error
    if dtype.hasobject:
        why = "it holds Python objects, which are never loaded from a file"
        raise Refused(why, "Save its numbers alone.")
    if len(shape) not in (2, 3) or not 1 <= (*shape, 1)[2] <= MOST_CHANNELS:
        raise Refused(*shape_refusal(shape))
    height, width, channels = (*shape, 1)[:3]
    return (height, width, channels), is_by_columns, dtype


def is_by_columns(path: str | os.PathLike[str]) -> bool:
    """Return whether an array lies in its file column by column; False where opening it will say why not."""
    with suppress(OSError, Refused), open(path, "rb") as file:
        return _header(file)[1]
    return False


def open_npy(file: BinaryIO) -> PlainRows:
    """Return what reads an array in parts, which closes its file; raises Refused."""
    shape, is_by_columns, stored = _header(file)
    begin, data = file.tell(), BytesAt(file)
    if is_by_columns:
        why = "its values are stored column by column (Fortran order), so no rows can be read"
        raise Refused(why, "Open it as a whole, or save numpy.ascontiguousarray of it.")
    if 0 in shape:
        raise Refused(f"an array of shape {shape} has no pixel", "Save one that has.")
    dtype, notes = sample_type(stored)
    if (end := begin + math.prod(shape) * stored.itemsize) > data.size:
        raise ends_early(end, data.size)
    interpret = None if stored == dtype else partial(converted, dtype=dtype)
    picture = PlainRows(data, "NumPy array", shape, dtype, stored, shape[2], (begin,), interpret)
    picture.storage, picture.notes = Storage("npy", (1, shape[1]), is_tiled=False), notes
    return picture


class NpyResult(LargeResult):
    """An array whose rows are written one after the other."""

    def _open(self, part: PartFolder) -> None:
        header, descr = io.BytesIO(), np.lib.format.dtype_to_descr(self.dtype)
        shape = self.levels[0] if self.channels == 1 else (*self.levels[0], self.channels)
        fields = {"descr": descr, "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(header, fields)
        self._header, self._file = header.getvalue(), part.file()
        if not self._file.byte_count:
            self._file.append(b"\0" * len(self._header))

    def write(self, level: int, top: int, rows: np.ndarray) -> None:
        """Write rows."""
        self._file.append(np.ascontiguousarray(rows).reshape(-1).view(np.uint8))

    def finish(self) -> None:
        """Write the header."""
        self._file.finish(self._header)


def encode_npy(picture: Picture, quality: int) -> bytes:
    """Write the samples as they are: grey as rows and columns, alpha as the last channel."""
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, with_alpha(picture), allow_pickle=False)
    return buffer.getvalue()


NUMPY = Format(
    "NumPy",
    suffixes=(".npy", ".npz"),
    signatures=(MAGIC, ZIP_MAGIC),
    decode=read_npy,
    encode=encode_npy,
    saved_suffixes=(".npy",),
    dtypes=(np.uint8, np.uint16, np.float32),
    keeps_profile=False,
    encoder_copies=1,
)
