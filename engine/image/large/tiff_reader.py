"""TIFF and BigTIFF, read strip by strip or tile by tile; OME-TIFF and pyramids as tifffile finds them."""

import os
from contextlib import AbstractContextManager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.image.bytes_at import BytesAt
from engine.image.faults import Refused, errors_in_words
from engine.image.formats.tiff import (
    TIFF,
    check_header,
    check_segments,
    lost_tags,
    metadata_of_page,
    orientation_of,
    picture_form,
    picture_page,
    profile_of,
    silence_libraries,
)
from engine.image.formats.tiff_pixels import to_picture_arrays
from engine.image.formats.tiff_segments import PageSegments, is_stored_plainly
from engine.image.large.plain_rows import PlainRows
from engine.image.large.segments import DEFAULT_CACHE_BYTES, SegmentedPicture
from engine.image.large.source import MOST_CHANNELS, LargePicture
from engine.image.large.storage import Storage
from engine.image.large.tiff_storage import stored_as

if TYPE_CHECKING:
    from tifffile import TiffFile, TiffPage

# Grey pages that are red, green and blue, ... of one picture: the axes that they are counted along.
_PLANES_OF = ("ome", "imagej")


class TiffPicture(SegmentedPicture):
    """A TIFF whose strips or tiles are decoded one by one.

    `pages` has those of each level: one page, or one for each channel.
    """

    def __init__(
        self,
        path: Path,
        tiff: "TiffFile",
        pages: "list[list[TiffPage]]",
        storage: Storage,
        threads: int | None,
        cache_bytes: int,
    ) -> None:
        super().__init__(threads, cache_bytes)
        first = pages[0][0]
        self.path, self._tiff = path, tiff
        self._found: dict[str, None] = {}
        self._bytes = BytesAt(path.open("rb", buffering=0))
        self._pages = [[PageSegments(page, self._bytes, self.note) for page in level] for level in pages]
        form = picture_form(first)
        self.dtype, self.channels = form.dtype, _channels(pages[0])
        self.levels = tuple((level[0].imagelength, level[0].imagewidth) for level in pages)
        self.chunk = self.segment_shape(0)
        self.format, self.storage = title_of(first), storage

    @property
    def notes(self) -> tuple[str, ...]:  # type: ignore[override]
        """What was special about the file, and about the parts of it that were read."""
        return tuple(self._found)

    def note(self, *sentences: str) -> None:
        """Add sentences for the person."""
        self._found |= dict.fromkeys(sentences)

    def segment_shape(self, level: int) -> tuple[int, int]:
        """Return rows and columns of the strips or tiles of a level."""
        return self._pages[level][0].shape

    def _decode(self, level: int, row: int, column: int) -> np.ndarray:
        found, pages = [], self._pages[level]
        for segments in pages:
            pixels, alpha, _ = to_picture_arrays(segments.samples(row, column), segments.page)
            pixels = pixels.reshape(*pixels.shape[:2], -1)
            found.append(pixels if alpha is None or len(pages) > 1 else np.dstack([pixels, alpha]))
        return found[0] if len(found) == 1 else np.concatenate(found, axis=2)

    def _errors_in_words(self) -> AbstractContextManager[None]:
        return errors_in_words(str(self.path), TIFF.title, TIFF.unsupported, doing="read")

    def close(self) -> None:
        """Close the file; nothing is read after that."""
        super().close()
        self._bytes.close()
        self._tiff.close()


def open_tiff(
    path: Path, *, threads: int | None = None, cache_bytes: int = DEFAULT_CACHE_BYTES
) -> LargePicture:
    """Open a TIFF for reading in parts; raises Refused, Unsupported, or what the libraries raise."""
    # 40 ms: loaded with the first TIFF.
    TiffFile = import_module("tifffile").TiffFile  # noqa: N806

    silence_libraries()
    tiff = TiffFile(path)
    try:
        pages, notes = _levels(tiff)
        first = pages[0][0]
        file_bytes = os.stat(path).st_size
        for level in pages:
            for page in level:
                notes += _checked(page, file_bytes)
        orientation = orientation_of(first)
        if 2 <= orientation <= 8:
            raise Refused(
                f"its rows are not stored from top to bottom, left to right (orientation {orientation}), and "
                "it is too large to be turned",
                "Save it upright in the program that made it.",
            )
        form, storage = picture_form(first), stored_as(tiff, pages)
        profile, metadata = profile_of(first), metadata_of_page(first)
        picture: PlainRows | TiffPicture
        if form.dtype == first.dtype and _is_plain(pages):
            picture = _plain(path, pages[0], storage, notes)
            tiff.close()
        else:
            picture = TiffPicture(path, tiff, pages, storage, threads, cache_bytes)
            picture.note(*notes)
        picture.has_alpha = form.has_alpha and len(pages[0]) == 1
        picture.icc_profile, picture.metadata = profile, metadata
        return picture
    except BaseException:
        tiff.close()
        raise


def title_of(page: "TiffPage") -> str:
    """Return the title of a kind of TIFF: "BigTIFF, tiled"."""
    kind = "BigTIFF" if page.parent.is_bigtiff else "TIFF"
    kind = f"OME-{kind}" if page.parent.is_ome else kind
    return f"{kind}, {'tiled' if page.is_tiled else 'in strips'}"


def _checked(page: "TiffPage", file_bytes: int) -> list[str]:
    check_header(page)
    notes = list(lost_tags(page))
    form = picture_form(page)
    samples = np.zeros((1, 1, page.samplesperpixel), page.dtype)
    return [*notes, *to_picture_arrays(samples, page)[2], *check_segments(page, form, file_bytes)]


def _levels(tiff: "TiffFile") -> "tuple[list[list[TiffPage]], list[str]]":
    """Return the pages of each level, those of all channels of the first of all times and depths."""
    page, page_notes = picture_page(tiff)
    if page.is_reduced or page is not tiff.pages.first:
        return [[page]], list(page_notes)
    series = tiff.series[0]
    notes = []
    levels = []
    for level in series.levels:
        counted = level.axes[: len(level.axes) - _axes_in_page(level)]
        sizes = level.shape[: len(counted)]
        channel = counted.find("C") if series.kind in _PLANES_OF else -1
        count = sizes[channel] if channel >= 0 else 1
        if count > MOST_CHANNELS:
            notes.append(f"It has {count} channels; the first was opened.")
            count = 1
        step = int(np.prod(sizes[channel + 1 :], dtype=np.int64)) if channel >= 0 else 1
        found = [level.pages[number * step] for number in range(count)]
        if any(page is None for page in found):
            raise Refused("one of its channels is missing")
        pages = [page.aspage() for page in found if page is not None]
        if len(pages) > 1 and any(page.samplesperpixel > 1 for page in pages):
            pages = pages[:1]
            notes.append("It has several channels of colours; the first was opened.")
        levels.append(pages)
    others = [
        (axis, size)
        for axis, size in zip(series.axes, series.shape, strict=True)
        if axis not in "YXSC" and size > 1
    ]
    if others:
        words = " and ".join(f"{size:,} {_AXES.get(axis, 'pages')}" for axis, size in others)
        notes.append(f"It has {words}; the first was opened.")
    elif len(tiff.series) > 1 and len(levels) == 1:
        levels += [[page] for page in _further_levels(tiff, levels[0][0])]
    return _smaller_ones(levels), notes


_AXES = {"T": "times", "Z": "depths"}


def _axes_in_page(series: Any) -> int:
    """Return how many axes of a series are those of each of its pages."""
    page = series.keyframe
    return len(page.axes) if len(page.shape) <= len(series.shape) else len(series.shape)


def _further_levels(tiff: "TiffFile", first: "TiffPage") -> "list[TiffPage]":
    """Return the pages after the first that show it smaller, as older programs store a pyramid."""
    found = []
    for series in tiff.series[1:]:
        page = series.keyframe
        is_alike = page.dtype == first.dtype and page.samplesperpixel == first.samplesperpixel
        if page.is_reduced and is_alike and page.photometric == first.photometric:
            found.append(page)
    return found


def _smaller_ones(levels: "list[list[TiffPage]]") -> "list[list[TiffPage]]":
    """Return the levels that are ever smaller, of the same channels and number type, and of the same view."""
    kept = levels[:1]
    first = levels[0][0]
    for level in levels[1:]:
        before, page = kept[-1][0], level[0]
        is_smaller = page.imagewidth < before.imagewidth and page.imagelength < before.imagelength
        scale = first.imagewidth / max(page.imagewidth, 1)
        is_same_view = abs(first.imagelength / scale - page.imagelength) <= 2 + page.imagelength / 50
        if is_smaller and is_same_view and len(level) == len(kept[0]) and page.dtype == first.dtype:
            kept.append(level)
    return kept


def _is_plain(pages: "list[list[TiffPage]]") -> bool:
    """Return whether rows can be read as they are stored: one level, in strips, without compression."""
    return len(pages) == 1 and all(is_stored_plainly(page) and _is_as_stored(page) for page in pages[0])


def _is_as_stored(page: "TiffPage") -> bool:
    """Return whether the values of a page are the pixels."""
    planes = page.shaped[0]
    probe = np.arange(1, 1 + page.samplesperpixel, dtype=page.dtype).reshape(1, 1, -1)
    pixels, alpha, notes = to_picture_arrays(probe, page)
    found = pixels.reshape(1, 1, -1) if alpha is None else np.dstack([pixels.reshape(1, 1, -1), alpha])
    is_premultiplied = 1 in [int(kind) for kind in page.extrasamples]
    return (
        planes * page.shaped[4] == found.shape[2]
        and not notes
        and np.array_equal(found, probe)
        and (not is_premultiplied)
    )


def _plain(path: Path, pages: "list[TiffPage]", storage: Storage, notes: list[str]) -> PlainRows:
    first = pages[0]
    stored = np.dtype(first.dtype).newbyteorder(first.parent.byteorder)
    plane_bytes = first.imagelength * first.imagewidth * stored.itemsize
    offsets = [page.dataoffsets[0] + plane * plane_bytes for page in pages for plane in range(page.shaped[0])]
    shape, dtype = (first.imagelength, first.imagewidth, _channels(pages)), np.dtype(first.dtype)
    return PlainRows(path, title_of(first), shape, dtype, stored, tuple(offsets), storage, tuple(notes))


def _channels(pages: "list[TiffPage]") -> int:
    """Return the channels of a level: those of its page, alpha counted, or one a page."""
    form = picture_form(pages[0])
    return len(pages) if len(pages) > 1 else form.channels + form.has_alpha
