"""How a TIFF is stored, for a result like it: layout, compression, tags and OME metadata that are kept."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.image.exif import EXIF_TAG, GPS_TAG, TEXT_TAGS
from engine.image.formats.tiff_page import ICC_PROFILE_TAG, is_photo, left_out_of_tiff
from engine.image.formats.tiff_segments import is_stored_plainly
from engine.image.large.storage import Storage
from engine.image.large.tiff_writer import KNOWN_TYPES, Tag

if TYPE_CHECKING:
    from tifffile import TiffFile, TiffPage

# Compression -> its name where it is lossless and written too.
_COMPRESSIONS = {
    1: "none", 5: "lzw", 8: "deflate", 32946: "deflate", 32773: "packbits", 34925: "lzma", 34926: "zstd",
    50000: "zstd",
}  # fmt: skip
# Tags that a result takes over: resolution, GeoTIFF and what GDAL adds.
_KEPT_TAGS = (282, 283, 296, 33550, 33922, 34264, 34735, 34736, 34737, 42112, 42113)


def stored_as(tiff: "TiffFile", pages: "list[list[TiffPage]]") -> Storage:
    """Return how a file is laid out, for a result like it."""
    first = pages[0][0]
    chunk = (first.tilelength, first.tilewidth) if first.is_tiled else _strip(first)
    planes = "pages" if len(pages[0]) > 1 else "separate" if first.shaped[0] > 1 else "contiguous"
    tags = [
        Tag(code, int(tag.dtype), _values(tag.value))
        for code in _KEPT_TAGS
        if (tag := first.tags.get(code)) is not None and int(tag.dtype) in KNOWN_TYPES
    ]
    # Of an OME-TIFF the description is its metadata.
    texts = TEXT_TAGS[0 if is_photo(first) or tiff.is_ome else 1 :]
    kept = {tag.code for tag in tags} | {*texts, EXIF_TAG, GPS_TAG, ICC_PROFILE_TAG}
    last = pages[-1][0]
    return Storage(
        "tiff",
        chunk,
        is_tiled=first.is_tiled,
        compression=_COMPRESSIONS.get(
            int(first.compression), getattr(first.compression, "name", "") or "another"
        ),
        has_predictor=int(first.predictor) in (2, 3),
        planes=planes,
        smallest=(last.imagelength, last.imagewidth) if len(pages) > 1 else None,
        is_big=tiff.is_bigtiff,
        is_ome=tiff.is_ome,
        details={"tags": tags, "left_out": left_out_of_tiff(first, kept), "ome": _ome(tiff)},
    )


def _strip(page: "TiffPage") -> tuple[int, int]:
    """Return rows and columns of strips; those of one that is stored plainly may be cut at any row."""
    rows = min(page.rowsperstrip, page.imagelength)
    if is_stored_plainly(page):
        row_bytes = page.imagewidth * page.samplesperpixel * np.dtype(page.dtype).itemsize
        rows = min(rows, max(1, _MOST_PLAIN_STRIP_BYTES // row_bytes))
    return rows, page.imagewidth


_MOST_PLAIN_STRIP_BYTES = 1 << 20


def _values(value: object) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace")
    return value if isinstance(value, bytes) else list(np.atleast_1d(np.asarray(value)).reshape(-1).tolist())


def _ome(tiff: "TiffFile") -> dict[str, Any]:
    """Return what is kept of OME metadata: the name, physical sizes and the channels' names."""
    if not tiff.is_ome or not tiff.ome_metadata:
        return {}
    try:
        image = import_module("tifffile").xml2dict(tiff.ome_metadata)["OME"]["Image"]
        image = image[0] if isinstance(image, list) else image
        pixels = image["Pixels"]
    except (KeyError, TypeError, ValueError, SyntaxError):
        return {}
    names = "PhysicalSizeX", "PhysicalSizeXUnit", "PhysicalSizeY", "PhysicalSizeYUnit"
    kept = {name: pixels[name] for name in names if name in pixels}
    if "Name" in image:
        kept["Name"] = str(image["Name"])
    channels = pixels.get("Channel", [])
    channels = channels if isinstance(channels, list) else [channels]
    if channels and all("Name" in channel for channel in channels):
        kept["Channel"] = {"Name": [str(channel["Name"]) for channel in channels]}
    return kept
