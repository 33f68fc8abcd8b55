"""TIFF: tifffile reads the tags, `tiff_segments` the samples, `tiff_page` makes them a picture.

Pillow cuts 16-bit RGB to 8 bit and OpenCV garbles planar files; tifffile decoded 46 of 46 test files exactly.
How a file is stored is kept for a result like it: layout, compression, some tags, OME metadata.
"""

import itertools
import math
import re
from collections.abc import Sequence
from contextlib import closing, suppress
from fractions import Fraction
from importlib import import_module
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from engine.image.faults import Refused
from engine.image.format import Budget, Decoded, Form, Format
from engine.image.formats import tiff_page
from engine.image.formats.tiff_segments import PageSegments, is_stored_plainly, segment_bytes, segment_shape
from engine.image.large.result import CheckedFile
from engine.image.large.source import (
    MOST_CHANNELS,
    BytesAt,
    LargePicture,
    PlainRows,
    SegmentedPicture,
    Storage,
    note_of_axes,
)
from engine.image.large.tiff_writer import KNOWN_TYPES, RATIONAL, SHORT, Tags, TiffResult
from engine.image.metadata import INCH, TEXT_TAGS, TiffTag, unique
from engine.image.picture import Picture, with_alpha

if TYPE_CHECKING:
    from tifffile import TiffFile, TiffPage


# Compression -> that of a result; of all others it is deflate.
_COMPRESSIONS = {1: "none", 34926: "zstd", 50000: "zstd"}
# Tags that a result takes over: resolution, GeoTIFF and what GDAL adds.
_KEPT_TAGS = (282, 283, 296, 33550, 33922, 34264, 34735, 34736, 34737, 42112, 42113)
_MOST_PLAIN_STRIP_BYTES = 1 << 20


def stored_as(tiff: "TiffFile", pages: "list[list[TiffPage]]") -> Storage:
    """Return how a file is laid out, for a result like it."""
    first = pages[0][0]
    rows, columns = segment_shape(first)
    if is_stored_plainly(first) and not first.is_tiled:
        # It may be cut at any row.
        row_bytes = segment_bytes(first) // rows
        rows = min(rows, max(1, _MOST_PLAIN_STRIP_BYTES // row_bytes))
    tags = {
        code: (int(tag.dtype), _values(tag.value))
        for code in _KEPT_TAGS
        if (tag := first.tags.get(code)) is not None and int(tag.dtype) in KNOWN_TYPES
    }
    # Of an OME-TIFF the description is its metadata.
    texts = TEXT_TAGS[not (tiff_page.is_photo(first) or tiff.is_ome) :]
    kept, last = {*tags, *texts, TiffTag.EXIF, TiffTag.GPS, TiffTag.ICC_PROFILE}, pages[-1][0]
    return Storage(
        "tiff",
        (rows, columns),
        is_tiled=first.is_tiled,
        compression=_COMPRESSIONS.get(int(first.compression), "deflate"),
        smallest=(last.imagelength, last.imagewidth) if len(pages) > 1 else None,
        is_ome=tiff.is_ome,
        details={"tags": tags, "left_out": tiff_page.left_out_of_tiff(first, kept), "ome": _ome(tiff)},
    )


def _values(value: object) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace")
    return value if isinstance(value, bytes) else list(np.atleast_1d(np.asarray(value)).reshape(-1).tolist())


def _ome(tiff: "TiffFile") -> dict[str, object]:
    """Return what is kept of OME metadata: the name and physical sizes."""
    if not tiff.is_ome or not tiff.ome_metadata:
        return {}
    with suppress(KeyError, TypeError, ValueError, SyntaxError):
        image = import_module("tifffile").xml2dict(tiff.ome_metadata)["OME"]["Image"]
        image = image[0] if isinstance(image, list) else image
        pixels, name = image["Pixels"], {"Name": str(image["Name"])} if "Name" in image else {}
        sizes = [f"PhysicalSize{axis}{unit}" for axis in "XY" for unit in ("", "Unit")]
        return {size: pixels[size] for size in sizes if size in pixels} | name
    return {}


_MOST_PLANES = 10_000_000
# Grey pages that are red, green and blue, ... of one picture: the axes that they are counted along.
_PLANES_OF = ("ome", "imagej")


class TiffPicture(SegmentedPicture):
    """A TIFF whose strips or tiles are decoded one by one.

    `pages` has those of each level: one page, or one for each channel.
    """

    words = "TIFF", tiff_page.TIFF_UNSUPPORTED

    def __init__(self, data: BytesAt, pages: "list[list[TiffPage]]", dtype: np.dtype, channels: int) -> None:
        super().__init__()
        self.path, self._bytes, self.format = data.path, data, _title_of(pages[0][0])
        self._pages = [[PageSegments(page, data, self.note) for page in level] for level in pages]
        self._is_as_stored = all(tiff_page.is_as_stored(page) for level in pages for page in level)
        self.dtype, self.channels = dtype, channels
        self.levels = tuple((level[0].imagelength, level[0].imagewidth) for level in pages)
        self.segments = tuple(level[0].shape for level in self._pages)
        self.chunk = self.segments[0]

    def _decode(self, level: int, row: int, column: int) -> np.ndarray:
        found = []
        for segments in self._pages[level]:
            samples = segments.samples(row, column)
            found.append(
                samples if self._is_as_stored else tiff_page.picture_samples(samples, segments.page)[0]
            )
        # Each of several pages is one channel.
        return found[0] if len(found) == 1 else np.concatenate([one[..., :1] for one in found], axis=2)


def in_parts(data: BytesAt, pages: "list[list[TiffPage]]", form: Form, notes: Sequence[str]) -> LargePicture:
    """Return what reads pages (of each level: one, or one for each channel), whose first has a form."""
    first, is_one = pages[0][0], len(pages[0]) == 1
    # Those of its page, alpha counted, or one a page.
    channels = form.channels + form.has_alpha if is_one else len(pages[0])
    if len(pages) == 1 and all(
        is_stored_plainly(page) and (is_one or tiff_page.is_as_stored(page)) for page in pages[0]
    ):
        stored = np.dtype(first.dtype).newbyteorder(first.parent.byteorder)
        plane_bytes = first.imagelength * first.imagewidth * first.shaped[4] * stored.itemsize
        planes = [
            page.dataoffsets[0] + plane * plane_bytes for page in pages[0] for plane in range(page.shaped[0])
        ]
        shape = form.height, form.width, channels

        def interpret(samples: np.ndarray) -> np.ndarray:
            return tiff_page.picture_samples(samples.astype(first.dtype, copy=False), first)[0]

        pixels, title = None if tiff_page.is_as_stored(first) else interpret, _title_of(first)
        per_plane = first.shaped[4]
        picture: LargePicture = PlainRows(data, title, shape, form.dtype, stored, per_plane, planes, pixels)
    else:
        picture = TiffPicture(data, pages, form.dtype, channels)
    picture.notes = unique(notes)
    picture.icc_profile, picture.metadata = tiff_page.profile_and_metadata(first)
    return picture


def open_tiff(file: BinaryIO) -> LargePicture:
    """Return what reads a TIFF in parts, which closes its file.

    Raises Refused, Unsupported, or what the libraries raise.
    """
    tiff, data = tiff_page.opened_tiff(file), BytesAt(file)
    pages, notes = _levels(tiff)
    checked = [tiff_page.checked_page(page, data.size) for page in itertools.chain(*pages)]
    orientation = tiff_page.orientation_of(pages[0][0])
    if 2 <= orientation <= 8:
        how = f"from top to bottom, left to right (orientation {orientation})"
        why = f"its rows are not stored {how}, and it is too large to be turned"
        raise Refused(why, "Save it upright in the program that made it.")
    form = checked[0][0]
    picture = in_parts(data, pages, form, (*notes, *(note for _, found in checked for note in found)))
    picture.storage = stored_as(tiff, pages)
    picture.has_alpha = form.has_alpha and len(pages[0]) == 1
    return picture


def _title_of(page: "TiffPage") -> str:
    """Return the title of a kind of TIFF: "BigTIFF, tiled"."""
    kind = "OME-" * page.parent.is_ome + "Big" * page.parent.is_bigtiff
    return f"{kind}TIFF, {'tiled' if page.is_tiled else 'in strips'}"


def _levels(tiff: "TiffFile") -> "tuple[list[list[TiffPage]], list[str]]":
    """Return the pages of each level, those of all channels of the first of all times and depths."""
    page, page_notes = tiff_page.picture_page(tiff)
    if page.is_reduced or page is not tiff.pages.first:
        return [[page]], list(page_notes)
    # tifffile makes a list of all planes, whatever the file holds.
    for pixels in re.findall(r"<(?:\w+:)?Pixels\b[^>]*>", tiff.ome_metadata or ""):
        if (planes := math.prod(map(int, re.findall(r"Size[CTZ]=.(\d+)", pixels)))) > _MOST_PLANES:
            raise Refused(f"its OME metadata names {planes:,} planes")
    series, notes, levels = tiff.series[0], [], []
    for level in series.levels:
        # The last axes are those of each of its pages.
        page = level.keyframe
        in_page = len(page.axes) if len(page.shape) <= len(level.shape) else len(level.shape)
        counted = level.axes[: len(level.axes) - in_page]
        sizes = level.shape[: len(counted)]
        channel = counted.find("C") if series.kind in _PLANES_OF else -1
        count, step = (sizes[channel], math.prod(sizes[channel + 1 :])) if channel >= 0 else (1, 1)
        if count > MOST_CHANNELS:
            notes.append(f"It has {count} channels; the first was opened.")
            count = 1
        found = [level.pages[number * step] for number in range(count)]
        if any(page is None or page.parent is not tiff for page in found):
            raise Refused("one of its channels is missing, or lies in another file")
        pages = [page.aspage() for page in found if page is not None]
        if len(pages) > 1 and any(page.samplesperpixel > 1 for page in pages):
            pages = pages[:1]
            notes.append("It has several channels of colours; the first was opened.")
        levels.append(pages)
    others = note_of_axes(zip(series.axes, series.shape, strict=True), "YXSC", "pages")
    notes += others
    if not others and len(tiff.series) > 1 and len(levels) == 1:
        # Pages after the first that show it smaller, as older programs store a pyramid.
        further = (other.keyframe for other in tiff.series[1:])
        photometric = levels[0][0].photometric
        levels += [[page] for page in further if page.is_reduced and page.photometric == photometric]
    # Those that are ever smaller, of the same channels and number type, and of the same view.
    kept, first = levels[:1], levels[0][0]
    samples = len(levels[0]), first.samplesperpixel, first.dtype
    for pages in levels[1:]:
        before, page = kept[-1][0], pages[0]
        is_smaller = page.imagewidth < before.imagewidth and page.imagelength < before.imagelength
        scale = first.imagewidth / max(page.imagewidth, 1)
        is_same_view = abs(first.imagelength / scale - page.imagelength) <= 2 + page.imagelength / 50
        if is_smaller and is_same_view and (len(pages), page.samplesperpixel, page.dtype) == samples:
            kept.append(pages)
    return kept, notes


_STRIP_BYTES = 1 << 18
_MOST_DIVISOR = 10_000


def read_tiff(file: BinaryIO, budget: Budget) -> Decoded:
    """Decode the picture of a TIFF or BigTIFF: its first page, unless that is a reduced version."""
    data = BytesAt(file)
    with tiff_page.opened_tiff(file) as tiff:
        page, others = tiff_page.picture_page(tiff)
        form, notes = tiff_page.checked_page(page, data.size, budget)
        canvas = budget.canvas(form, tiff_page.orientation_of(page))
        with in_parts(data, [[page]], form, notes) as picture:
            picture.decode_onto(canvas)
            return Decoded(canvas, picture.icc_profile, (*picture.notes, *others), picture.metadata)


def encode_tiff(picture: Picture, quality: int) -> bytes:
    """Encode any of our depths, deflated (exact) with a predictor, as a result in bands is."""
    samples, metadata = with_alpha(picture).reshape(picture.height, picture.width, -1), picture.metadata
    tags: Tags = {TiffTag.RESOLUTION_UNIT: (SHORT, [INCH])} if metadata.dpi else {}
    for code, value in zip((TiffTag.X_RESOLUTION, TiffTag.Y_RESOLUTION), metadata.dpi or (), strict=False):
        tags[code] = RATIONAL, Fraction(value).limit_denominator(_MOST_DIVISOR).as_integer_ratio()
    strip = max(1, _STRIP_BYTES // samples[0].nbytes), picture.width
    details = {"tags": tags, "metadata": metadata}
    details |= {"has_alpha": picture.alpha is not None, "icc_profile": picture.icc_profile}
    storage = Storage("tiff", strip, is_tiled=False, compression="deflate", details=details)
    in_memory: Any = SimpleNamespace(file=lambda name="": CheckedFile())
    with closing(TiffResult(in_memory, storage, samples.shape, samples.dtype)) as result:
        result.write(0, 0, samples)
        result.finish()
        return result.file.content()


TIFF = Format(
    "TIFF",
    suffixes=(".tif", ".tiff"),
    signatures=(b"II*\x00", b"MM\x00*", b"II+\x00", b"MM\x00+"),
    decode=read_tiff,
    unsupported=tiff_page.TIFF_UNSUPPORTED,
    encode=encode_tiff,
    saved_suffixes=(".tif", ".tiff"),
    dtypes=(np.uint8, np.uint16, np.float32),
    most_exif_bytes=2**31 - 1,
)
