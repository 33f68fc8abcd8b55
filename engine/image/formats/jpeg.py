"""JPEG: Pillow reads the header, simplejpeg (libjpeg) the pixels, with the proof that all of them are there.

A JPEG has no checksum. Where its data stops early but an end marker follows, libjpeg fills the rest, and
warns. simplejpeg passes the first warning on; Pillow and imagecodecs pass none. It decodes into place:
Pillow, with the same library, decodes into four bytes per pixel (12 megapixels take 54 ms and 48 MB more).

A decoder that has all it needs skips surplus bytes before the end marker, and one that has not takes them for
data: so the same pixels with and without surplus prove that nothing was missing.
"""

import hashlib
import io
import itertools
import mmap
import re
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import BinaryIO

import imagecodecs
import numpy as np
from numpy.typing import NDArray

from engine.image.convert import cmyk_to_rgb
from engine.image.faults import Refused, Unsupported
from engine.image.format import Budget, Decoded, Form, Format, Scratch
from engine.image.formats.pillow import (
    FULL_CHROMA_QUALITY,
    encode_with_pillow,
    metadata_of_info,
    opened_with_pillow,
)
from engine.image.metadata import EXIF_MARK, nearest_quality, note_of_first, orientation_in
from engine.image.picture import Picture

# The length counts itself.
MOST_JPEG_EXIF_BYTES = 65_533 - len(EXIF_MARK)
_PROFILE_MARK = b"ICC_PROFILE\0"
NO_END = "The mark of its end is missing; all of its rows are there."


def read_jpeg(file: BinaryIO, budget: Budget) -> Decoded:
    """Decode a JPEG whose data reaches its last row; refuse any other."""
    with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        return decoded_jpeg(data, budget)


def decoded_jpeg(data: mmap.mmap | bytes, budget: Budget) -> Decoded:
    """Decode the bytes of a file as `read_jpeg` does."""
    frame = frame_of(data)
    if frame.unsupported:
        raise Unsupported(frame.unsupported)
    frame.check_scans()
    if frame.end is None and (not frame.missing or any(frame.missing.values())):
        raise Refused(CUT_SHORT)
    with opened_with_pillow(io.BytesIO(frame.head), "JPEG") as image:
        info, mode, (width, height) = image.info, image.mode, image.size
        orientation = orientation_in(image.getexif)
        notes = [*note_of_first(getattr(image, "n_frames", 1), "frame")]
        # The steps of quantisation of its brightness.
        steps = next(iter(getattr(image, "quantization", {}).values()), ())
    is_cmyk = mode == "CMYK"
    form = Form(height, width, 1 if mode == "L" else 3, False, np.dtype(np.uint8))
    inks_bytes = 4 * form.pixel_count if is_cmyk else 0
    budget.check(form, frame.coefficient_bytes + inks_bytes)
    form.check_long_enough(len(data), frame.fewest_bytes)
    source: mmap.mmap | bytes = data
    if frame.end is None:
        source, frame.end = b"".join((data, b"\xff\xd9")), len(data)
        notes.append(NO_END)
    if _PROFILE_MARK in frame.head and not info.get("icc_profile"):
        notes.append("Its colour profile is damaged and was left out.")

    def decode(out: NDArray[np.uint8]) -> None:
        try:
            import_module("simplejpeg").decode_jpeg(source, {"L": "GRAY"}.get(mode, mode), buffer=out)
        except ValueError as error:  # what libjpeg warns of first, else what simplejpeg does not know
            # What is decoded a second time, and a copy of the file.
            budget.check(form, frame.coefficient_bytes + inks_bytes + out.nbytes + len(data))
            out[...], damage_notes = decoded_whole(source, frame, str(error), imagecodecs.jpeg8_decode)
            notes.extend(damage_notes)

    canvas = budget.canvas(form, orientation)
    if is_cmyk:
        inks = Scratch((height, width, 4), np.uint8)
        decode(inks.array)
        notes.append("It was converted from CMYK to RGB without its colour profile.")
        # Adobe's programs, and all others after them, store paper, not ink.
        canvas.put_all(inks.array, lambda paper: cmyk_to_rgb(~paper))
    else:
        canvas.decode_into(decode)
    quality = nearest_quality(steps) if steps else 0
    metadata = replace(metadata_of_info(info), quality=quality)
    return Decoded(canvas, info.get("icc_profile"), tuple(notes), metadata)


def encode_jpeg(picture: Picture, quality: int) -> bytes:
    """Encode grey or RGB at 8 bit, without the alpha; Pillow writes what stands before the tables.

    imagecodecs encodes the rest as Pillow would, which keeps Python's lock meanwhile: a batch of 100 photos
    took 2.1 instead of 1.9 s on two cores.
    """
    exif, dpi = picture.metadata.exif, picture.metadata.dpi or (0, 0)
    corner = replace(picture, pixels=picture.pixels[:1, :1])
    head = encode_with_pillow("JPEG", corner, quality, EXIF_MARK + exif if exif else b"", dpi=dpi)
    # NumPy keeps the strides of what a single row or column was taken of, and imagecodecs refuses those.
    pixels = picture.pixels.reshape(-1).reshape(picture.pixels.shape)
    subsampling = "444" if quality >= FULL_CHROMA_QUALITY else "420"
    data = bytes(imagecodecs.jpeg8_encode(pixels, level=int(quality), subsampling=subsampling))
    return head[: _tables_at(head)] + memoryview(data)[_tables_at(data) :]


def _tables_at(data: bytes) -> int:
    return next(position for marker, position in markers(data) if marker == _QUANTISATION)


JPEG = Format(
    "JPEG",
    suffixes=(".jpg", ".jpeg", ".jpe", ".jfif", ".mpo"),
    signatures=(b"\xff\xd8\xff",),
    decode=read_jpeg,
    encode=encode_jpeg,
    saved_suffixes=(".jpg", ".jpeg"),
    dtypes=(np.uint8,),
    has_quality=True,
    keeps_alpha=False,
    most_exif_bytes=MOST_JPEG_EXIF_BYTES,
    max_side=65_500,
    encoder_bytes=4,  # libjpeg's buffer, of up to twice the file
)


END_OF_IMAGE = 0xD9
_START_OF_SCAN, _QUANTISATION = 0xDA, 0xDB

# Within compressed data FF is followed by 00 (a plain FF), D0 to D7 (a restart) or FF (fill); else a marker.
_MARKER = re.compile(rb"\xff[^\x00\xff\xd0-\xd7]")
# Between segments libjpeg passes over what is no marker, and over FF that fills up.
_NEXT_MARKER = re.compile(rb"\xff[^\x00\xff]")
_START_OF_IMAGE, _START = 0xD8, b"\xff\xd8"
# Photographs have some dozens, scans counted; with a large profile or preview some hundreds.
MOST_MARKERS = 2**16

# Restart markers, fill bytes and the temporary marker stand alone; all others are followed by a length.
_ALONE = frozenset((0x01, *range(0xD0, 0xD9)))

# What Pillow reads of a head: more than the profile, EXIF data and previews of any program.
_MOST_HEAD_BYTES = 16 * 2**20

CUT_SHORT = "its data stops before its last row: the file was cut short or is damaged"
DAMAGED = "Its compressed pixels are damaged: some of its pixels may be wrong."
# What libjpeg says of damaged pixels; it also warns of a damaged colour profile, and of odd headers.
_DAMAGE = re.compile("corrupt jpeg data(?!: bad icc)|inconsistent progression", re.IGNORECASE)
_STOPS_EARLY = re.compile("premature end", re.IGNORECASE)

_SURPLUS = bytes.fromhex("a5 5a 96 69 3c c3 e1 1e") * 512

# Start of frame -> the fewest bits that a block of 8 x 8 samples can have: a code for its mean, and in one
# scan (sequential) one for its end. Arithmetic coding (C9 on) takes less than a bit for what it expects.
_FEWEST_BITS = {0xC0: 2, 0xC1: 2, 0xC2: 1}
FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_PROGRESSIVE = (0xC2, 0xCA)
_COEFFICIENT_BYTES = 128  # per block: 64 coefficients of two bytes
# Differential frames of a hierarchical file, and lossless ones with arithmetic coding.
_OTHER_DEPTHS = frozenset(range(2, 17)) - {8}
_HIERARCHICAL = {0xC5, 0xC6, 0xC7, 0xCB, 0xCD, 0xCE, 0xCF}
# A scan that says nothing takes 8 ns per block, so these take a second. Ten scans, as programs write them, go
# over a block four to six times; only of more than a gigapixel are those more.
MAX_SCANNED_BLOCKS = 2**27
_USUAL_ROUNDS = 8
# Of the header of a scan: a count of one byte.
_MOST_SCAN_BYTES = 4 + 2 * 255


@dataclass(slots=True)
class JpegFrame:
    """What the header of a JPEG says of its compressed data, and where that ends.

    `blocks` has the blocks of 8 x 8 samples of each component. No legal file of that size is shorter than
    `fewest_bytes`. The decoder holds `coefficient_bytes` until the last scan, and goes over `scanned_blocks`
    in all `scans`; `missing` has the coefficients of each component that no scan has had with their lowest
    bit. `unsupported` is what no decoder here reads, in words; else empty. `end` is the offset of the end
    marker of the first picture; None where there is none.

    `head` is the segments up to the first scan, within a bound, the frame header last: Pillow adds up EXIF
    data of any number of segments, and loses a profile that stands after that header.
    """

    width: int = 0
    height: int = 0
    blocks: dict[int, int] = field(default_factory=dict)
    missing: dict[int, set[int]] = field(default_factory=dict)
    fewest_bytes: int = 0
    coefficient_bytes: int = 0
    unsupported: str = ""
    scanned_blocks: int = 0
    scans: int = 0
    end: int | None = None
    head: bytes = b""

    def begin(self, marker: int, content: bytes) -> None:
        """Read the header of the frame, unless it is damaged, which Pillow refuses.

        Raises Refused where it names another size than one before.
        """
        before = (self.width, self.height) if self.blocks else None
        self.width = self.height = self.fewest_bytes = self.coefficient_bytes = 0
        self.unsupported, self.blocks = "", {}
        bits, height, width, count = struct.unpack(">BHHB", content[:6].ljust(6, b"\0"))
        components = content[6 : 6 + 3 * count]
        sides = [(side >> 4, side & 15) for side in components[1::3]]
        if sides and all(map(all, sides)) and len(components) == 3 * count:
            most_across, most_down = map(max, zip(*sides, strict=True))
            self.width, self.height = width, height
            self.blocks = {
                name: -(-width * across // (8 * most_across)) * -(-height * down // (8 * most_down))
                for name, (across, down) in zip(components[::3], sides, strict=True)
            }
            total = sum(self.blocks.values())
            self.fewest_bytes = total * _FEWEST_BITS.get(marker, 0) // 8
            self.coefficient_bytes = _COEFFICIENT_BYTES * total * (marker in _PROGRESSIVE)
            self.unsupported = f"it has {bits} bits per sample" if bits in _OTHER_DEPTHS else ""
            if marker in _HIERARCHICAL:
                self.unsupported = "it is hierarchical"
        if before not in (None, (self.width, self.height)):
            raise Refused("it has two headers, of different sizes")
        self.missing = {name: set(range(64)) for name in self.blocks}

    def scan(self, content: bytes) -> None:
        """Count in a scan."""
        count = content[0] if content else 0
        # The number of each component, and its tables; the first and the last coefficient, and the bits.
        names, ends = content[1 : 1 + 2 * count : 2], content[1 + 2 * count : 4 + 2 * count]
        if len(ends) == 3 and not ends[2] & 15:
            for name in names:
                self.missing.get(name, set()).difference_update(range(ends[0], ends[1] + 1))
        self.scanned_blocks += sum(self.blocks.get(name, 0) for name in names)
        self.scans += 1
        if self.scans == 1 and count < len(self.blocks):
            # With a scan for each colour, all is held until the last.
            self.coefficient_bytes = _COEFFICIENT_BYTES * sum(self.blocks.values())

    def check_scans(self) -> None:
        """Raise Refused for scans without end: a few bytes make the decoder go over the picture once more."""
        limit = max(MAX_SCANNED_BLOCKS, _USUAL_ROUNDS * sum(self.blocks.values()))
        if self.scanned_blocks > limit:
            why = f"its {self.scans:,} scans go over {self.scanned_blocks:,} blocks of pixels"
            remedy = "Save it again as a baseline JPEG, which has one scan, and open that."
            raise Refused(f"{why}, the limit is {limit:,}", remedy)


def frame_of(data: mmap.mmap | bytes) -> JpegFrame:
    """Read the markers of a JPEG up to its end; without a frame header, which Pillow refuses, an empty frame.

    Raises Refused where a second frame header names another size than the first.
    """
    frame, left = JpegFrame(), _MOST_HEAD_BYTES
    # Those of the head: others, headers of frames, and the first scan.
    parts: list[list[bytes]] = [[_START], [], []]
    for marker, position in markers(data):
        end = position + 2 + int.from_bytes(data[position + 2 : position + 4], "big")
        if not frame.scans:
            left -= end - position
            rank = 1 if marker in FRAMES else 2 if marker == _START_OF_SCAN else 0
            parts[rank] += [data[position:end]] if rank or left >= 0 else []
        if marker in FRAMES:
            frame.begin(marker, data[position + 4 : end])
        elif marker == _START_OF_SCAN:
            frame.scan(data[position + 4 : position + 4 + _MOST_SCAN_BYTES])
        elif marker == END_OF_IMAGE:
            frame.end = position
            break
    frame.head = b"".join(itertools.chain(*parts))
    return frame


def markers(data: mmap.mmap | bytes) -> Iterator[tuple[int, int]]:
    """Yield each marker after the first with its offset, until none follows.

    Raises Refused for a second beginning, and for segments without end.
    """
    position, last, count = 2, len(data) - 2, 0
    while match := _NEXT_MARKER.search(data, position):
        position = match.start()
        marker, count = data[position + 1], count + 1
        if marker == _START_OF_IMAGE:
            raise Refused("it begins a second time before it ends")
        if count > MOST_MARKERS:
            raise Refused(f"it has more than {MOST_MARKERS:,} segments")
        yield marker, position
        position += 2
        if marker not in _ALONE:
            if position > last:
                return
            position += data[position] << 8 | data[position + 1]
        if marker == _START_OF_SCAN:
            match = _MARKER.search(data, position)
            if match is None:
                return
            position = match.start()


def decoded_whole(
    data: mmap.mmap | bytes, frame: JpegFrame, warning: str, decode: Callable[[mmap.mmap | bytes], np.ndarray]
) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return what a decoder that does not warn makes of a JPEG, and notes on the `warning` of simplejpeg.

    Raises Refused where rows are missing: then libjpeg warns of it, or surplus data changes pixels.
    """
    if _STOPS_EARLY.search(warning):
        raise Refused(CUT_SHORT)
    notes = (DAMAGED,) if _DAMAGE.search(warning) else ()
    longer = b"".join((memoryview(data)[: frame.end], _SURPLUS, b"\xff\xd9"))
    # One after the other: of a TIFF a strip may be as large as the picture.
    expected = hashlib.blake2b(np.ascontiguousarray(decode(longer)).data).digest()
    pixels = decode(data)
    if not frame.unsupported and hashlib.blake2b(np.ascontiguousarray(pixels).data).digest() != expected:
        raise Refused(CUT_SHORT)
    return pixels, notes
