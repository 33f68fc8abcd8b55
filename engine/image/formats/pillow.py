"""Headers and metadata by Pillow, and the pixels of BMP and GIF; boxes, as AVIF and JPEG XL have them."""

import io
import struct
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from engine.image.convert import bands
from engine.image.faults import Refused, Unsupported
from engine.image.format import Budget, Decoded, Form, Format
from engine.image.metadata import COMMENT, IPTC, XMP, Metadata, exif_with_resolution, metadata_of, unique
from engine.image.picture import Picture, with_alpha

if TYPE_CHECKING:
    from PIL import ImageFile

# Mode in Pillow -> mode that we take over. What is missing has no 8-bit picture.
_TARGET_MODES = {"1": "L", "L": "L", "LA": "LA", "P": "RGB", "RGB": "RGB", "RGBA": "RGBA"}
# Bytes per pixel in Pillow's memory; 4 in all other modes.
_STORED_BYTES = {"1": 1, "L": 1, "P": 1}

_PLUGINS = {"AVIF": "Avif", "BMP": "Bmp", "GIF": "Gif", "JPEG": "Jpeg", "PNG": "Png", "WEBP": "WebP"}

_limit_lock = threading.Lock()


def read_with_pillow(kind: str, file: BinaryIO, budget: Budget) -> Decoded:
    """Decode a file of the format that Pillow calls `kind`, which has one frame."""
    with opened_with_pillow(file, kind) as image:
        if kind == "BMP" and image.info.get("compression") in _RUNS:
            raise Unsupported("its pixels are packed in runs (RLE)")
        if image.mode not in _TARGET_MODES:
            raise Unsupported(f"its pixels are of the kind {image.mode}")
        mode, (width, height) = _TARGET_MODES[image.mode], image.size
        mode += "A" * ("transparency" in image.info and mode[-1] != "A")
        form = Form.of_samples(height, width, len(mode), np.dtype(np.uint8))
        stored_bytes = form.pixel_count * _STORED_BYTES.get(image.mode, 4)
        budget.check(form, stored_bytes)
        image.load()
        if image.size != (width, height):
            decoded = f"it decodes to {image.width} × {image.height}"
            raise Refused(f"{decoded}, its header promised {width} × {height}")
        canvas = budget.canvas(form)
        for rows in bands(height, max(stored_bytes, form.decoded_bytes) // height):
            # `crop` refuses what it takes for a decompression bomb.
            part = image._new(image.im.crop((0, rows.start, width, rows.stop)))
            canvas.put_samples(rows, np.asarray(part if part.mode == mode else part.convert(mode)))
        return Decoded(canvas, metadata=metadata_of_info(image.info))


def opened_with_pillow(file: BinaryIO, kind: str, most_text: int = 0) -> "ImageFile.ImageFile":
    """Read the header without Pillow's own limit on pixels: the budget is checked here.

    `most_text` is the most bytes that the texts of a PNG inflate to.
    """
    image, plugin = _with_plugin(kind)
    of_text = dict.fromkeys(("MAX_TEXT_CHUNK", "MAX_TEXT_MEMORY") if most_text else (), most_text)
    with _limit_lock, ExitStack() as before:
        for owner, values in ((image, {"MAX_IMAGE_PIXELS": None}), (plugin, of_text)):
            before.callback(vars(owner).update, {name: getattr(owner, name) for name in values})
            vars(owner).update(values)
        opened: ImageFile.ImageFile = image.open(file, formats=[kind])
        return opened


def _with_plugin(kind: str) -> tuple[Any, Any]:
    """Return Pillow's module for images, and that of one format; by itself it loads all: 16 ms."""
    plugin, image = import_module(f"PIL.{_PLUGINS[kind]}ImagePlugin"), import_module("PIL.Image")
    # Or five, before it opens or saves any: 7 ms. It is as if they were there; it finds others all the same.
    vars(image)["_initialized"] = max(1, vars(image).get("_initialized", 1))
    return image, plugin


def metadata_of_info(info: Mapping[Any, Any]) -> Metadata:
    """Return the metadata of a file from Pillow's `info` on it."""
    photoshop = info.get("photoshop")
    # The number of IPTC data among its resources.
    of_photoshop = "" if not photoshop else IPTC if 0x0404 in photoshop else "Photoshop data"
    left_out = XMP if info.get("xmp") else "", of_photoshop, COMMENT if info.get("comment") else ""
    return metadata_of(info.get("exif"), info.get("dpi"), unique(left_out))


# From this quality on, colours keep the resolution of the brightness, where the format asks for one.
FULL_CHROMA_QUALITY = 90


def encode_with_pillow(
    kind: str, picture: Picture, quality: int, exif: bytes | None = None, **how: object
) -> bytes:
    """Encode a picture with its profile by the encoder that Pillow calls `kind`; `exif` None: its own."""
    buffer, image = io.BytesIO(), _with_plugin(kind)[0].fromarray(with_alpha(picture))
    how["exif"] = exif_with_resolution(picture.metadata) if exif is None else exif
    how["subsampling"] = "4:4:4" if quality >= FULL_CHROMA_QUALITY else "4:2:0"
    image.save(buffer, kind, quality=int(quality), icc_profile=picture.icc_profile or b"", **how)
    return buffer.getvalue()


_MOST_BOXES = 2**16
_HEADER_BYTES, _PIXELS = 128, (b"mdat", b"jxlc", b"jxlp", b"jp2c")


def boxes(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield kind and content of each box, until one is damaged; Refused for more than a picture has."""
    at = count = 0
    while at + 8 <= len(data):
        count += 1
        if count > _MOST_BOXES:
            raise Refused(f"it has more than {_MOST_BOXES:,} boxes")
        size, kind = struct.unpack_from(">I4s", data, at)
        head = 8
        if size == 1:
            (size,), head = struct.unpack_from(">Q", data, at + head), 16
        size = size or len(data) - at  # to the end
        if size < head:
            return
        # Of pixels the header is enough; those of an AVIF are looked up by their place.
        end = at + (min(size, _HEADER_BYTES) if kind in _PIXELS else size)
        yield kind, data[at + head : end]
        at += size


def first_boxes(data: bytes) -> dict[bytes, bytes]:
    """Return the content of the first box of each kind."""
    return dict(reversed(list(boxes(data))))


# Numbers of compressions. Pillow cuts a run that passes the end of its row, and counts an empty row as none.
_RUNS = (1, 2)

BMP = Format(
    "BMP",
    suffixes=(".bmp", ".dib"),
    signatures=(b"BM",),
    decode=partial(read_with_pillow, "BMP"),
    unsupported=(
        (r"BMP compression \(4\)|BMP pixel depth \(0\)", "it holds a JPEG or a PNG"),
        (r"BMP compression \(5\)", "it holds a PNG"),
        (r"BMP compression \(6\)", "its channels and its alpha are named by masks"),
        (r"BMP bitfields layout", "its channels are named by masks of an unusual layout"),
        (r"BMP header type \((16|64)\)", "it is one of OS/2 (a header of {1} bytes)"),
        (r"BMP pixel depth \((2|64)\)", "it has {1} bits per pixel"),
    ),
)
