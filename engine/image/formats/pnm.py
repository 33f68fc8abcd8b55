"""PNM: PGM and PPM, as numbers or as bytes, and PAM, with up to 16 bit (netpbm.sourceforge.net/doc)."""

import math
import re
from typing import BinaryIO

import numpy as np

from engine.image.convert import scaled
from engine.image.faults import Refused, Unsupported
from engine.image.format import Budget, Decoded, Form, Format
from engine.image.large.source import BytesAt, PlainRows
from engine.image.picture import Picture, with_alpha

SIGNATURES = tuple(b"P%d%c" % (kind, blank) for kind in range(1, 8) for blank in b"\n \r\t#")
# A header is a line or some; what is longer is none.
_MOST_HEADER_BYTES = 64 * 2**10
# Each blank and comment fits in one way only: in several, a header of comments would take for ever.
_NUMBER = rb"(?:#[^\n]*\n|\s)*(\d{1,9})(?!\d)"
_COMMENT = re.compile(rb"#[^\n]*")
_PAM_LINE = re.compile(rb"^[ \t]*(\w+)[ \t]+(\S+)", re.M)
_PAM_END = re.compile(rb"^[ \t]*ENDHDR\b[^\n]*\n?", re.M)
# A number that is read takes an object, a text and a place in a list.
_READING_BYTES = 60
_DEPTHS = {b"GRAYSCALE": 1, b"BLACKANDWHITE": 1, b"RGB": 3, b"GRAYSCALE_ALPHA": 2, b"BLACKANDWHITE_ALPHA": 2,
           b"RGB_ALPHA": 4}  # fmt: skip


def read_pnm(file: BinaryIO, budget: Budget) -> Decoded:
    """Decode the first picture of a file."""
    (shape, most, begin, is_text), data = _header(file.read(_MOST_HEADER_BYTES)), BytesAt(file)
    if not 1 <= most < 2**16:
        raise Refused(f"its header says that full scale is {most:,}, which PNM does not have")
    dtype, stored = (np.dtype(kind) for kind in ((np.uint8, np.uint8) if most < 256 else (np.uint16, ">u2")))
    form, full, count = Form.of_samples(*shape, dtype), int(np.iinfo(dtype).max), math.prod(shape)
    budget.check(form, (_READING_BYTES // 2 * data.size) if is_text else 0)
    form.check_long_enough(data.size, begin + count * (1 if is_text else stored.itemsize))

    def to_full_scale(values: np.ndarray) -> np.ndarray:
        return scaled(np.minimum(values, most), most, dtype)

    canvas = budget.canvas(form)
    if is_text:
        file.seek(begin)
        numbers = np.array(_COMMENT.sub(b"", file.read()).split(None, count)[:count], np.int64)
        if len(numbers) < count or (len(numbers) and int(numbers.min()) < 0):
            why = f"it has {len(numbers):,} of {count:,} numbers, or one below 0: it was cut short"
            raise Refused(why)
        canvas.put_all(to_full_scale(numbers.reshape(shape)))
    else:
        interpret = None if most == full else to_full_scale
        PlainRows(data, "PNM", shape, dtype, stored, shape[2], (begin,), interpret).decode_onto(canvas)
    scaling = () if most in (1, full) else (f"Its values of up to {most:,} were scaled to {full:,}.",)
    return Decoded(canvas, notes=scaling)


def _header(head: bytes) -> tuple[tuple[int, int, int], int, int, bool]:
    """Return the shape, the value of full scale, where the pixels begin, and whether they are text."""
    kind = head[1] - ord("0")
    if kind in (1, 4):
        raise Unsupported("its pixels are black or white (PBM)")
    if kind < 7:
        if (match := re.match(rb"P\d" + _NUMBER * 3, head)) is None:
            raise Refused("its header is damaged or cut short")
        width, height, most = map(int, match.groups())
        return (height, width, 3 if kind in (3, 6) else 1), most, match.end() + 1, kind < 4
    if (end := _PAM_END.search(head)) is None:
        raise Refused("its header has no end")
    lines = dict(_PAM_LINE.findall(head, 0, end.start()))
    try:
        width, height, samples, most = (int(lines[key]) for key in (b"WIDTH", b"HEIGHT", b"DEPTH", b"MAXVAL"))
    except (KeyError, ValueError) as error:
        raise Refused("its header is damaged: size, depth or full scale is missing") from error
    name = lines.get(b"TUPLTYPE", b"")
    if not 1 <= samples <= 4 or _DEPTHS.get(name, samples) != samples:
        words = name.decode("latin-1") or "without a name"
        raise Unsupported(f"its pixels have {samples:,} values ({words})")
    return (height, width, samples), most, end.end(), False


def encode_pnm(picture: Picture, quality: int) -> bytes:
    """Write bytes as PGM or PPM, and with alpha as PAM; 16 bit has the higher byte first."""
    pixels, size, most = with_alpha(picture), (picture.width, picture.height), np.iinfo(picture.dtype).max
    if picture.alpha is None:
        head = b"P%d\n%d %d\n%d\n" % (5 if picture.channels == 1 else 6, *size, most)
    else:
        kind = b"GRAYSCALE_ALPHA" if picture.channels == 1 else b"RGB_ALPHA"
        facts = (*size, picture.channels + 1, most, kind)
        head = b"P7\nWIDTH %d\nHEIGHT %d\nDEPTH %d\nMAXVAL %d\nTUPLTYPE %s\nENDHDR\n" % facts
    return head + pixels.astype(picture.dtype.newbyteorder(">"), copy=False).tobytes()


PNM = Format(
    "PNM",
    suffixes=(".pnm", ".pgm", ".ppm", ".pbm", ".pam"),
    signatures=SIGNATURES,
    decode=read_pnm,
    encode=encode_pnm,
    saved_suffixes=(".pnm", ".pgm", ".ppm", ".pam"),
    dtypes=(np.uint8, np.uint16),
    keeps_profile=False,
    encoder_copies=1,
)
