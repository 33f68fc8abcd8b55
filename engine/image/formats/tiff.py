"""TIFF: tifffile reads the tags, `tiff_segments` the samples, `tiff_page` makes them a picture.

Pillow cuts 16-bit RGB to 8 bit and OpenCV garbles planar files; tifffile decoded 46 of 46 test files exactly.
How a file is stored is kept for a result like it: layout, compression, some tags, OME metadata.

In parts, strips or tiles are written first, the lists of tags (IFDs) and the header last. Until then the
first bytes of the file are zero, so what is unfinished is no TIFF.
"""

import itertools
import math
import re
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from fractions import Fraction
from importlib import import_module
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, BinaryIO

import imagecodecs
import numpy as np

from engine.image.faults import Refused
from engine.image.format import MOST_CHANNELS, Budget, Decoded, Form, Format
from engine.image.formats import tiff_page, tiff_segments
from engine.image.formats.tiff_segments import LONG, LONG8, RATIONAL, SHORT, TEXT, UNDEFINED, Tags
from engine.image.large.result import CheckedFile, LargeResult, PartFolder
from engine.image.large.source import BytesAt, LargePicture, PlainRows, SegmentedPicture, Storage
from engine.image.metadata import INCH, TEXT_TAGS, Metadata, TiffTag, inner_lists, loaded_exif, note_of_axes
from engine.image.picture import Picture, with_alpha
from engine.process import cores

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
    rows, columns = tiff_segments.segment_shape(first)
    if tiff_segments.is_stored_plainly(first) and not first.is_tiled:
        # It may be cut at any row.
        row_bytes = tiff_segments.segment_bytes(first) // rows
        rows = min(rows, max(1, _MOST_PLAIN_STRIP_BYTES // row_bytes))
    page_tags = [tag for tag in map(first.tags.get, _KEPT_TAGS) if tag is not None]
    known = [tag for tag in page_tags if int(tag.dtype) in tiff_segments.KNOWN_TYPES]
    tags = {tag.code: (int(tag.dtype), _values(tag.value)) for tag in known}
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
        segments = tiff_segments.PageSegments
        self._pages = [[segments(page, data, self.note) for page in level] for level in pages]
        self._is_as_stored = all(tiff_page.is_as_stored(page) for level in pages for page in level)
        self.dtype, self.channels = dtype, channels
        self.levels = tuple((level[0].imagelength, level[0].imagewidth) for level in pages)
        self.segments = tuple(level[0].shape for level in self._pages)
        self.chunk = self.segments[0]

    def _decode(self, level: int, row: int, column: int) -> np.ndarray:
        pages, picture = self._pages[level], tiff_page.picture_samples
        planes = [page.samples(row, column) for page in pages]
        if not self._is_as_stored:
            planes = [picture(stored, one.page)[0] for stored, one in zip(planes, pages, strict=True)]
        # Each of several pages is one channel.
        return planes[0] if len(planes) == 1 else np.concatenate([one[..., :1] for one in planes], axis=2)


def in_parts(data: BytesAt, pages: "list[list[TiffPage]]", form: Form, notes: Sequence[str]) -> LargePicture:
    """Return what reads pages (of each level: one, or one for each channel), whose first has a form."""
    first, is_one = pages[0][0], len(pages[0]) == 1
    # Those of its page, alpha counted, or one a page.
    channels = form.channels + form.has_alpha if is_one else len(pages[0])
    is_plain = all(map(tiff_segments.is_stored_plainly, pages[0]))
    if len(pages) == 1 and is_plain and (is_one or all(map(tiff_page.is_as_stored, pages[0]))):
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
    picture.notes = tuple(dict.fromkeys(notes))
    picture.icc_profile, picture.metadata = tiff_page.profile_and_metadata(first)
    return picture


def open_tiff(file: BinaryIO) -> LargePicture:
    """Return what reads a TIFF in parts, which closes its file.

    Raises Refused, Unsupported, or what the libraries raise.
    """
    tiff, data = import_module("tifffile").TiffFile(file), BytesAt(file)
    pages, notes = _levels(tiff)
    checked = [tiff_page.checked_page(page, data.size) for page in itertools.chain(*pages)]
    orientation = tiff_page.orientation_of(pages[0][0])
    if 2 <= orientation <= 8:
        how = f"from top to bottom, left to right (orientation {orientation})"
        why = f"its rows are not stored {how}, and it is too large to be turned"
        raise Refused(why, "Save it upright in the program that made it.")
    form = checked[0][0]
    picture = in_parts(data, pages, form, (*notes, *(note for _, of_page in checked for note in of_page)))
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
        channels = [level.pages[number * step] for number in range(count)]
        if any(page is None or page.parent is not tiff for page in channels):
            raise Refused("one of its channels is missing, or lies in another file")
        pages = [page.aspage() for page in channels if page is not None]
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


def read_tiff(file: BinaryIO, budget: Budget) -> Decoded:
    """Decode the picture of a TIFF or BigTIFF: its first page, unless that is a reduced version."""
    data = BytesAt(file)
    with import_module("tifffile").TiffFile(file) as tiff:  # 40 ms: loaded with the first TIFF
        page, others = tiff_page.picture_page(tiff)
        form, notes = tiff_page.checked_page(page, data.size, budget)
        canvas = budget.canvas(form, tiff_page.orientation_of(page))
        with in_parts(data, [[page]], form, notes) as picture:
            picture.decode_onto(canvas)
            return Decoded(canvas, picture.icc_profile, (*picture.notes, *others), picture.metadata)


# Largest offset of a classic TIFF.
_CLASSIC_BYTES = 2**32 - 1
# Of deflate and zstd the fastest level: level 6 of deflate took seven times as long for an eighth less.
# Compression -> its number, and what encodes the samples of a strip or tile.
_ENCODERS: dict[str, tuple[int, Callable[[Any], bytes | memoryview]]] = {
    "none": (1, lambda samples: samples.reshape(-1).view(np.uint8).data),
    "deflate": (8, lambda samples: bytes(imagecodecs.deflate_encode(samples, level=1))),
    "zstd": (50000, lambda samples: bytes(imagecodecs.zstd_encode(samples, level=1))),
}
_HEADER_BYTES = 16
_MOST_TAG_BYTES = 64 << 20


class TiffResult(LargeResult):
    """A TIFF under way: its strips or tiles are appended to `file`; another file says where each is."""

    def _open(self, part: PartFolder) -> None:
        self._predictor = 1 if self.storage.compression == "none" else 3 if self.dtype.kind == "f" else 2
        self._pool = ThreadPoolExecutor(cores(), thread_name_prefix="encode")
        self.file, self._index = part.file(), part.file("result-segments")
        if not self.file.byte_count:
            self.file.append(b"\0" * _HEADER_BYTES)

    def write(self, level: int, top: int, rows: np.ndarray) -> None:
        """Encode strips or tiles on several threads, and append them."""
        (down, across), width = self.storage.chunk, self.levels[level][1]
        step = across if self.storage.is_tiled else width
        corners = [(first, left) for first in range(0, len(rows), down) for left in range(0, width, step)]
        parts = [rows[first : first + down, left : left + step] for first, left in corners]
        places = np.empty((len(parts), 3), np.uint64)
        # A few at a time: encoded ones wait in memory.
        batch = 4 * cores()
        for begin in range(0, len(parts), batch):
            encoded = self._pool.map(self._encode, parts[begin : begin + batch])
            for number, data in enumerate(encoded, begin):
                places[number] = level, self.file.byte_count, len(data)
                self.file.append(data)
        self._index.append(places)

    def _encode(self, part: np.ndarray) -> bytes | memoryview:
        down, across = self.storage.chunk
        if self.storage.is_tiled and part.shape[:2] != (down, across):
            margins = (0, down - part.shape[0]), (0, across - part.shape[1]), (0, 0)
            part = np.pad(part, margins, mode="edge")
        samples = np.ascontiguousarray(part)
        if self._predictor == 2:
            samples = imagecodecs.delta_encode(samples, axis=-2)
        elif self._predictor == 3:
            samples = imagecodecs.floatpred_encode(samples, axis=-2)
        return _ENCODERS[self.storage.compression][1](samples)

    def finish(self) -> None:
        """Append the lists of tags, and write the header."""
        self._is_big = self.file.byte_count + _MOST_TAG_BYTES > _CLASSIC_BYTES
        self._offset = LONG8 if self._is_big else LONG
        # Each list says where others are, which come before it: within EXIF data, of smaller levels.
        tags = self._append_exif()
        if smaller := [self._append_list(self._tags(level)) for level in range(1, len(self.levels))]:
            tags[TiffTag.BELOW] = self._offset, smaller
        begin = self._append_list(self._tags(0) | tags)
        self.file.finish(tiff_segments.header(begin, is_big=self._is_big))

    def _append_list(self, tags: Tags) -> int:
        data, begin = tiff_segments.list_of_tags(tags, self.file.byte_count, is_big=self._is_big)
        self.file.append(data)
        return begin

    def _tags(self, level: int) -> Tags:
        storage, (height, width), samples = self.storage, self.levels[level], self.channels
        known = np.frombuffer(self._index.content(), np.uint64).reshape(-1, 3)
        begins, counts = known[known[:, 0] == level][:, 1:].T.tolist()
        has_alpha, profile = map(storage.details.get, ("has_alpha", "icc_profile"))
        colours, extra = (samples - 1, [2]) if has_alpha else (samples, [])
        if colours not in (1, 3):  # further channels, of no colour
            extra, colours = [0] * (samples - 1), 1
        down, across = storage.chunk
        tags: Tags = {
            TiffTag.SUBFILE_TYPE: (LONG, [1 if level else 0]),
            TiffTag.WIDTH: (LONG, [width]),
            TiffTag.HEIGHT: (LONG, [height]),
            TiffTag.BITS: (SHORT, [8 * self.dtype.itemsize] * samples),
            TiffTag.COMPRESSION: (SHORT, [_ENCODERS[storage.compression][0]]),
            TiffTag.PHOTOMETRIC: (SHORT, [2 if colours == 3 else 1]),
            TiffTag.SAMPLES: (SHORT, [samples]),
            TiffTag.PLANES: (SHORT, [1]),
            TiffTag.SOFTWARE: (TEXT, b"Haloscope"),
            TiffTag.SAMPLE_FORMAT: (SHORT, [3 if self.dtype.kind == "f" else 1] * samples),
        }
        if storage.is_tiled:
            tags |= {TiffTag.TILE_WIDTH: (LONG, [across]), TiffTag.TILE_HEIGHT: (LONG, [down])}
            places = TiffTag.TILE_OFFSETS, TiffTag.TILE_BYTES
        else:
            tags[TiffTag.ROWS_PER_STRIP] = LONG, [min(down, height)]
            places = TiffTag.STRIP_OFFSETS, TiffTag.STRIP_BYTES
        tags |= {places[0]: (self._offset, begins), places[1]: (self._offset, counts)}
        if self._predictor > 1:
            tags[TiffTag.PREDICTOR] = SHORT, [self._predictor]
        if extra:
            tags[TiffTag.EXTRA_SAMPLES] = SHORT, extra
        if level == 0:
            tags |= storage.details.get("tags", {})
            if profile:
                tags[TiffTag.ICC_PROFILE] = UNDEFINED, profile
            if storage.is_ome:
                tags[TiffTag.DESCRIPTION] = TEXT, self._ome_xml()
        return tags

    def _append_exif(self) -> Tags:
        """Append the lists of tags within EXIF data; return the tags of the first page for all of it."""
        metadata: Metadata = self.storage.details.get("metadata", Metadata())
        if not metadata.exif:
            return {}
        exif = loaded_exif(metadata.exif)
        # The description of an OME-TIFF is its OME metadata.
        texts = TEXT_TAGS[1:] if self.storage.is_ome else TEXT_TAGS
        encoded = {code: str(exif[code]).encode("latin-1", "replace") for code in texts if code in exif}
        tags: Tags = {code: (TEXT, text) for code, text in encoded.items()}
        # Loaded with the EXIF data.
        directory = import_module("PIL.TiffImagePlugin").ImageFileDirectory_v2
        for code, inner in inner_lists(exif).items():
            made = directory(tiff_segments.header(0, is_big=self._is_big), group=code)
            made.update(inner)
            self.file.append(b"\0" * (self.file.byte_count % 2))
            tags[code] = self._offset, [self.file.byte_count]
            self.file.append(made.tobytes(self.file.byte_count))
        return tags

    def _ome_xml(self) -> bytes:
        height, width = self.levels[0]
        # 40 ms, and the source was read with it.
        document = import_module("tifffile").OmeXml()
        stored = (1, 1, 1, height, width, self.channels)
        shape, axes = (stored[3:5], "YX") if self.channels == 1 else (stored[3:], "YXS")
        document.addimage(self.dtype, shape, stored, axes=axes, **self.storage.details.get("ome", {}))
        text: bytes = document.tostring(declaration=True).encode("utf-8")
        return text

    def close(self) -> None:
        """Stop its threads."""
        self._pool.shutdown(cancel_futures=True)


_STRIP_BYTES = 1 << 18
_MOST_DIVISOR = 10_000


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
