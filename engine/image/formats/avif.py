"""AVIF: Pillow reads what belongs to the picture, imagecodecs (libavif) decodes 8, 10 and 12 bit.

libavif decodes a picture in its coded size and then scales it, without a word, to what the boxes say. No
library tells the coded size: it is read here, of ISO/IEC 14496-12 and 23008-12 and of AV1 (5.5.1).
"""

import itertools
import re
import struct
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import BinaryIO

import imagecodecs
import numpy as np

from engine.image.faults import Refused
from engine.image.format import Budget, Decoded, Form, Format
from engine.image.formats import pillow
from engine.image.metadata import loaded_exif, orientation_in
from engine.image.picture import Picture

# The box that says how the pixels are coded; in its third byte, how deep they are.
_CODING, _DEEP, _TWELVE = re.compile(rb"av1C..(.)", re.DOTALL), 0x40, 0x20
_FULL = 4  # version and flags of a box
_SEQUENCE_HEADER = 1
# A size is within the first bytes.
_READ_BYTES = 256
# A tile has one of its own, and its alpha.
_MOST_PICTURES = 10_000

# Of 0 to 10: 6, libavif's own, takes three times as long for files of 0.89 of the size.
_SPEED = 8


def read_avif(file: BinaryIO, budget: Budget) -> Decoded:
    """Decode an AVIF."""
    data = file.read()
    declared, coded = sizes(data)
    flags = match[1][0] if (match := _CODING.search(data)) else 0
    bits = 8 if not flags & _DEEP else 12 if flags & _TWELVE else 10
    file.seek(0)
    with pillow.opened_with_pillow(file, "AVIF") as image:
        (width, height), info, has_alpha = image.size, image.info, image.mode == "RGBA"
    form = Form(height, width, 3, has_alpha, np.dtype(np.uint8 if bits == 8 else np.uint16))
    coded_pixels = max((across * down for across, down in coded), default=0)
    # Planes of brightness and colours, and the samples before they are a picture.
    larger = max(0, coded_pixels - form.pixel_count) * 4 * form.dtype.itemsize
    budget.check(form, 2 * form.decoded_bytes + larger + len(data))
    scaled, why = sorted(coded - declared)[-1:], "its header says another size"
    notes = [f"It was scaled from {one[0]:,} × {one[1]:,} pixels: {why}." for one in scaled]
    samples = imagecodecs.avif_decode(data)
    if samples.shape[:2] != (height, width):
        raise Refused("it decodes to another size than its header says")
    if samples.dtype == np.uint16:
        # The highest bits once more, so that full scale becomes full scale.
        samples = samples << (16 - bits) | samples >> (2 * bits - 16)
        notes.append(f"Its {bits}-bit samples were scaled to 16 bit.")
    exif = info.get("exif")
    canvas = budget.canvas_of(samples, orientation_in(lambda: loaded_exif(exif)) if exif else 0)
    return Decoded(canvas, info.get("icc_profile"), tuple(notes), pillow.metadata_of_info(info))


def sizes(data: bytes) -> tuple[set[tuple[int, int]], set[tuple[int, int]]]:
    """Return the sizes that the boxes declare, and those of coded pictures; what of them can be read."""
    declared: set[tuple[int, int]] = set()
    coded: set[tuple[int, int]] = set()
    with suppress(struct.error, LookupError):  # what is damaged is for libavif to say
        begins = _items(pillow.first_boxes(data).get(b"meta", b"")[_FULL:], declared)
        for begin in itertools.islice(begins, _MOST_PICTURES):
            coded.update(_coded_sizes(data[begin : begin + _READ_BYTES]))
    return declared, coded


def _items(meta: bytes, declared: set[tuple[int, int]]) -> Iterator[int]:
    """Yield where each item that lies in the file itself begins (iloc); add the sizes of pictures."""
    inner = pillow.first_boxes(meta)
    if b"iloc" not in inner:
        return
    properties = pillow.boxes(pillow.first_boxes(inner[b"iprp"])[b"ipco"])
    declared |= {struct.unpack_from(">II", content, _FULL) for kind, content in properties if kind == b"ispe"}
    take = _taker(inner[b"iloc"])
    version, _ = take(8), take(24)
    offset_bits, length_bits, base_bits, index_bits = (8 * take(4) for _ in range(4))
    name_bits = 32 if version == 2 else 16
    for _ in range(take(name_bits)):
        take(name_bits)
        method = take(16) & 15 if version else 0
        take(16)
        base, begins = take(base_bits), []
        for _ in range(take(16)):
            take(index_bits if version else 0)
            begins.append(base + take(offset_bits))
            take(length_bits)
        if begins and method == 0:
            yield begins[0]


def _taker(data: bytes) -> Callable[[int], int]:
    """Return what takes the next bits of data as a number, and raises IndexError where there are too few."""
    at = 0

    def take(count: int) -> int:
        nonlocal at
        begin, at = at, at + count
        if at > 8 * len(data):
            raise IndexError
        return int.from_bytes(data[begin >> 3 : -(-at >> 3)], "big") >> -at % 8 & (1 << count) - 1

    return take


def _coded_sizes(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield the size in the sequence header of AV1 data, where there is one."""
    at = 0
    while at + 2 <= len(data):
        kind, has_extension, has_size = data[at] >> 3 & 15, data[at] >> 2 & 1, data[at] >> 1 & 1
        at += 1 + has_extension
        size, shift = (0, 0) if has_size else (len(data) - at, 0)
        while has_size:
            size |= (data[at] & 0x7F) << shift
            shift, at, has_size = shift + 7, at + 1, data[at] >> 7
        if kind == _SEQUENCE_HEADER:
            yield _size_of_header(_taker(data[at : at + size]))
            return
        at += size


def _size_of_header(take: Callable[[int], int]) -> tuple[int, int]:
    take(4)  # profile, and whether it is one picture
    if take(1):  # a short header
        take(5)
    else:
        delay_bits = 0
        if take(1):  # times
            take(64)
            if take(1):
                zeros = 0
                while not take(1):
                    zeros += 1
                take(zeros)
            if take(1):  # of a decoder
                delay_bits = take(5) + 1
                take(42)
        has_delays = take(1)
        for _ in range(take(5) + 1):
            take(12)
            if take(5) > 7:
                take(1)
            if delay_bits and take(1):
                take(2 * delay_bits + 1)
            if has_delays and take(1):
                take(4)
    across, down = take(4) + 1, take(4) + 1
    return take(across) + 1, take(down) + 1


def encode_avif(picture: Picture, quality: int) -> bytes:
    """Encode RGB with its alpha, 8 bit."""
    return pillow.encode_with_pillow("AVIF", picture, quality, speed=_SPEED)


AVIF = Format(
    "AVIF",
    suffixes=(".avif",),
    signatures=(b"????ftypavif",),
    decode=read_avif,
    encode=encode_avif,
    saved_suffixes=(".avif",),
    dtypes=(np.uint8,),
    has_quality=True,
    keeps_grey=False,
    most_exif_bytes=2**31 - 1,
    max_side=32_768,
    encoder_bytes=64,  # measured: 46
)
