"""The page of a TIFF that shows its picture: which one it is, whether it can be read, what its tags say.

From the samples as they are stored to grey or RGB, in one of our dtypes, with straight alpha.
"""

import logging
import math
import struct
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.image import metadata
from engine.image.convert import cmyk_to_rgb, converted, sample_type, scaled, unpremultiplied, ycbcr_to_rgb
from engine.image.faults import LIBRARY_ERRORS, Refused, Unsupported
from engine.image.format import Budget, Form
from engine.image.formats.tiff_segments import bytes_beside
from engine.image.large.source import ends_early
from engine.image.metadata import TEXT_TAGS, TiffTag

if TYPE_CHECKING:
    from tifffile import TiffFile, TiffPage

# They say nothing on their repairs: what counts is checked here.
for _library in ("tifffile", "imagecodecs"):
    logging.getLogger(_library).addHandler(logging.NullHandler())

# The tags of TIFF 6.0 end with 532, nearly all of them on the pixels. Later ones on the pixels: the number
# type, slices of pictures and tiles, and how LERC is compressed.
_LAST_OF_PIXELS = 532
# Those up to there that say nothing of the pixels as opened: names and texts, resolution and place on
# paper, how to print, what is free, and curves and colours of inks and screens.
_OF_OTHERS = {
    263, 264, 265, *range(269, 273), *range(280, 284), *range(285, 292), 296, 297, 301, 305, 306, 315, 316,
    318, 319, 333, 336, 337,
}  # fmt: skip
_MORE_OF_PIXELS = frozenset((32996, 32997, 32998, 50674))
_INCHES = {2: 1.0, 3: 2.54}

# In place of what cannot be read, so that a note says it when the picture is saved.
_DAMAGED = b"damaged"
# Of a file without end no more pages are looked at for the full picture.
_MOST_PAGES_SEEN = 64

# Compressions that are read: none, faxes, LZW, JPEG, deflate, PackBits, JPEG 2000, LZMA, Zstandard.
_READ_COMPRESSIONS = {
    1, 2, 3, 4, 5, 6, 7, 8, 32773, 32946, 33003, 33004, 33005, 33007, 34712, 34892, 34925, 34926, 50000,
}  # fmt: skip

# Compression (none, LZW, two numbers of deflate, PackBits) -> the most bytes that one compressed byte
# becomes: of LZW 4,096 for 9 bits, of deflate 258 for 2 bits, of PackBits 128 for 2 bytes.
_MOST_EXPANDED = {1: 1, 5: 4096, 8: 1032, 32946: 1032, 32773: 64}

# Those up to `_LAST_OF_PIXELS` whose loss is worth a word, and how many names a sentence has at most.
_NOT_KEPT, _MOST_NAMES = frozenset((269, 270, 282, 285, 286, 301, 318, 319)), 16
# What tifffile and imagecodecs say of intact files that they do not decode, as of `Format`.
TIFF_UNSUPPORTED: tuple[tuple[str, str], ...] = (
    (r"chroma subsampling", "its colours have less resolution than its brightness, and it is not a JPEG"),
    (r"sample formats do not match", "its channels are of different number types"),
    (r"^<?PREDICTOR\.?(\w*).* not supported", "its predictor is {1}"),
)


def picture_page(tiff: "TiffFile") -> tuple["TiffPage", tuple[str, ...]]:
    """Return the page of the picture, and a note on other pages.

    It is the first, unless that is a reduced version, as cameras (DNG, NEF) and scanners write it before the
    picture. Raises Refused where there is none.
    """
    try:
        first = tiff.pages.first.aspage()
    except IndexError as error:
        raise Refused("it has no page: its first list of tags is missing or damaged") from error
    if not first.is_reduced:
        return first, _page_notes(tiff, first)
    pages, readable = [first], []
    # After an error the others are damaged.
    with suppress(*LIBRARY_ERRORS):
        for number in range(min(len(tiff.pages), _MOST_PAGES_SEEN)):
            page = tiff.pages[number].aspage()
            # Those below it (SubIFDs) too.
            pages += [page] * (number > 0)
            pages += [below.aspage() for below in (page.pages or ())[:_MOST_PAGES_SEEN]]
    for page in pages:
        # Those against whose picture nothing is known.
        with suppress(Refused, Unsupported):
            _picture_form(page)
            readable.append(page)
    # Not reduced before reduced, the largest first.
    page = min(readable or [first], key=lambda page: (page.is_reduced, -page.imagewidth * page.imagelength))
    if page is first and len(readable) == len(pages):
        return first, _page_notes(tiff, first)
    what = f"the first is a reduced version of {first.imagewidth} × {first.imagelength}"
    others = ", and not all are of a kind that is read" * (len(readable) < len(pages))
    opened = f"that of {page.imagewidth} × {page.imagelength} was opened"
    return page, (f"It has {len(pages):,} pages: {what}{others}; {opened}.",)


def _lost_tags(page: "TiffPage") -> tuple[str, ...]:
    """Return a note on tags that cannot be read, which tifffile leaves out; refuse those of the pixels."""
    file, layout = page.parent.filehandle, page.parent.tiff
    file.seek(page.offset)
    (count,) = struct.unpack(layout.tagnoformat, file.read(layout.tagnosize))
    listed = file.read(count * layout.tagsize + layout.offsetsize)
    if len(listed) < count * layout.tagsize + layout.offsetsize:
        raise Refused("it ends within its first list of tags: it was cut short")
    if count == len(page.tags):
        return ()
    numbers = np.frombuffer(listed[: count * layout.tagsize], f"{page.parent.byteorder}u2")
    codes = numbers[:: layout.tagsize // 2].tolist()
    lost = sorted((Counter(codes) - Counter(tag.code for tag in page.tags)).elements())
    for code in lost:
        if code in _MORE_OF_PIXELS or (code <= _LAST_OF_PIXELS and code not in _OF_OTHERS):
            why = f"the value of its tag {code} lies past its end or is damaged"
            raise Refused(f"{why}: the file was cut short")
    names = ", ".join(map(str, lost))
    return (f"Its {'tag' if len(lost) == 1 else 'tags'} {names} cannot be read: the file is damaged.",)


def _dpi(page: "TiffPage") -> tuple[float, float] | None:
    """Pixels per inch, across and down; None where the file does not say."""
    inches = _INCHES.get(page.tags.valueof(TiffTag.RESOLUTION_UNIT, 1))
    across = page.tags.valueof(TiffTag.X_RESOLUTION)
    down = page.tags.valueof(TiffTag.Y_RESOLUTION, across)
    are_ratios = all(isinstance(one, tuple) and len(one) == 2 and one[1] for one in (across, down))
    if inches is None or not are_ratios:
        return None
    return inches * float(across[0]) / float(across[1]), inches * float(down[0]) / float(down[1])


def profile_and_metadata(page: "TiffPage") -> tuple[bytes | None, metadata.Metadata]:
    """Return the colour profile of a page, and EXIF data and resolution, and what else it says.

    Cameras write what they say of the picture to the first page, whichever shows it.
    """
    first = page.parent.pages.first.aspage()
    details = metadata.metadata_of(_exif(page) or (_exif(first) if first is not page else b""), _dpi(page))
    kept = {TiffTag.EXIF, TiffTag.GPS, *TEXT_TAGS[not is_photo(page) :], TiffTag.ICC_PROFILE}
    if details.dpi is not None:
        kept |= {TiffTag.X_RESOLUTION, TiffTag.Y_RESOLUTION}
    profile = page.tags.valueof(TiffTag.ICC_PROFILE)
    details = replace(details, left_out=left_out_of_tiff(page, kept))
    return profile if isinstance(profile, bytes) else None, details


def orientation_of(page: "TiffPage") -> int:
    """Return the EXIF orientation of a page; a reduced version before it may say it."""
    before = page.parent.pages.first.aspage().tags.valueof(TiffTag.ORIENTATION, 1)
    return int(page.tags.valueof(TiffTag.ORIENTATION, before))


def is_photo(page: "TiffPage") -> bool:
    """Return whether a page has the tags of a camera."""
    return TiffTag.EXIF in page.tags or TiffTag.GPS in page.tags


def _exif(page: "TiffPage") -> bytes:
    """Return as EXIF data what the tags say of a photograph or of who made it.

    Without those of a camera the description is left out: microscopes' programs describe axes in it.
    """
    if not is_photo(page) and not any(tag in page.tags for tag in TEXT_TAGS[1:]):
        return b""
    exif, kept, file = metadata.loaded_exif(), metadata.loaded_exif(), page.parent.filehandle
    exif.endian, exif.bigtiff = page.parent.byteorder, page.parent.is_bigtiff
    left = 16 * metadata.MOST_EXIF_BYTES

    def read(size: int) -> bytes:
        # No more than EXIF data may have, whatever its tags say.
        nonlocal left
        left -= size
        if left < 0:
            raise OSError("its EXIF data is larger than any")
        return file.read(size)

    with suppress(*LIBRARY_ERRORS):
        bounded: Any = SimpleNamespace(read=read, seek=file.seek, tell=file.tell)
        exif.load_from_fp(bounded, page.offset)
        texts = {tag: exif[tag] for tag in TEXT_TAGS[not is_photo(page) :] if tag in exif}
        kept.update(texts | metadata.inner_lists(exif))
        if len(kept) or not exif.keys() & {TiffTag.EXIF, TiffTag.GPS}:
            return kept.tobytes() if len(kept) else b""
    return _DAMAGED


def _picture_form(page: "TiffPage", budget: Budget | None = None) -> tuple[Form, list[str]]:
    """Return the form of the picture, and notes on it, by interpreting a single pixel; refuse others."""
    if page.imagewidth < 1 or page.imagelength < 1:
        raise Refused(f"its tags say {page.imagewidth} × {page.imagelength} pixels")
    if page.imagedepth > 1:
        raise Refused(f"it is a volume of {page.imagedepth} slices, not a picture", "Save one slice of it.")
    if page.samplesperpixel < 1:
        raise Refused("its tags say that a pixel has no values")
    if page.dtype is None:
        what = f"its values of {page.bitspersample} bits (sample format {page.sampleformat})"
        remedy = "Save it with 8 or 16 bits per value, or as 32-bit float."
        raise Refused(f"{what} are no number type", remedy)
    if int(page.compression) not in _READ_COMPRESSIONS:
        name = getattr(page.compression, "name", f"of number {page.compression}")
        raise Unsupported(f"its compression is {name}")
    if page.is_tiled and min(page.tilewidth, page.tilelength) < 1:
        raise Refused("its tiles have no size")
    pixel = np.zeros((1, 1, page.samplesperpixel), page.dtype)
    if budget is not None:
        budget.check(Form(page.imagelength, page.imagewidth, page.samplesperpixel, False, pixel.dtype))
    samples, notes = picture_samples(pixel, page)
    return Form.of_samples(page.imagelength, page.imagewidth, samples.shape[2], samples.dtype), notes


def checked_page(page: "TiffPage", file_bytes: int, budget: Budget | None = None) -> tuple[Form, list[str]]:
    """Return the form of a page's picture, and notes on what was lost or is changed of it.

    Raises Refused or Unsupported for one that is no picture, was cut short, or passes the budget of reading
    it as a whole.
    """
    notes = _lost_tags(page)
    form, changes = _picture_form(page, budget)
    if budget is not None:
        budget.check(form, bytes_beside(page, form.decoded_bytes))
    return form, [*notes, *_check_segments(page, form, file_bytes), *changes]


def _check_segments(page: "TiffPage", form: Form, file_bytes: int) -> tuple[str, ...]:
    """Every strip or tile must lie whole within the file: tifffile would fill what is missing."""
    expected = math.prod(page.chunked)
    segments = list(zip(page.dataoffsets, page.databytecounts, strict=False))
    if len(segments) < expected and not page.is_contiguous:
        raise Refused(f"it lists {len(segments)} of the {expected} strips or tiles that its size needs")
    stored = [segment for segment in segments if segment != (0, 0)]
    for offset, byte_count in stored:
        if byte_count == 0:
            raise Refused("one of its strips or tiles has zero bytes")
        if offset + byte_count > file_bytes:
            raise ends_early(offset + byte_count, file_bytes)
    if not stored:
        raise Refused("it holds no pixels")
    if empty := len(segments) - len(stored):
        return (f"{empty:,} of its {expected:,} tiles hold no data and are filled with 0.",)
    most = _MOST_EXPANDED.get(int(page.compression))
    if most is not None and not page.is_subsampled:
        least = form.pixel_count * page.samplesperpixel * int(page.bitspersample) // 8 // most
        held = sum(byte_count for _, byte_count in stored)
        form.check_long_enough(held, least, "its strips or tiles have")
    return ()


def _page_notes(tiff: "TiffFile", first: "TiffPage") -> tuple[str, ...]:
    try:
        count = len(tiff.pages)
        if count == 1 and (first.is_imagej or first.is_shaped):
            # Further pages may follow the first without tags of their own.
            count = tiff.series[0].size // first.size
        return metadata.note_of_first(count, "page")
    except (ValueError, LookupError, OSError, RuntimeError):
        return metadata.note_of_first(-1, "page")


def left_out_of_tiff(page: "TiffPage", kept: Iterable[int]) -> tuple[str, ...]:
    """Return the names of the tags of a page that say more than its pixels, without those that are kept."""
    kept = {*kept, *_MORE_OF_PIXELS, TiffTag.OLD_ALPHA}
    if page.is_shaped:
        # tifffile's own note of the shape of an array says nothing of the picture.
        kept.add(TiffTag.DESCRIPTION)
    ratio = page.tags.valueof(TiffTag.X_RESOLUTION)
    if page.tags.valueof(TiffTag.RESOLUTION_UNIT, 1) == 1 and isinstance(ratio, tuple) and len({*ratio}) == 1:
        # 1 to 1, which without a unit says nothing.
        kept.add(TiffTag.X_RESOLUTION)
    names = [
        metadata.OME if tag.code == TiffTag.DESCRIPTION and page.parent.is_ome else f"{tag.name} ({tag.code})"
        for tag in page.tags
        if tag.code not in kept and (tag.code in _NOT_KEPT or tag.code > _LAST_OF_PIXELS)
    ]
    return metadata.unique(names[:_MOST_NAMES])


_MIN_IS_WHITE, _MIN_IS_BLACK, _RGB, _PALETTE, _MASK, _SEPARATED, _YCBCR = range(7)
_PREMULTIPLIED, _STRAIGHT = 1, 2

# Photometric interpretation -> samples that carry colour. Others (raw sensor data, LogLuv) are refused.
_COLOUR_SAMPLES = {
    _MIN_IS_WHITE: 1, _MIN_IS_BLACK: 1, _PALETTE: 1, _MASK: 1, _RGB: 3, _YCBCR: 3, _SEPARATED: 4,
}  # fmt: skip

_RAW = "raw sensor data"
_PHOTOMETRIC_WORDS = {"LOGL": "LogL", "LOGLUV": "LogLuv", "CFA": _RAW, "LINEAR_RAW": _RAW}


def picture_samples(samples: np.ndarray, page: "TiffPage") -> tuple[np.ndarray, list[str]]:
    """Interpret samples of shape (H, W, S) as the tags of their page say.

    Returns the picture's, (H, W, grey or RGB and then alpha) as uint8, uint16 or float32, and notes on what
    was changed. Raises Refused or Unsupported for a colour model or number type without a picture here.
    """
    photometric = int(page.photometric)
    if photometric not in _COLOUR_SAMPLES:
        name = getattr(page.photometric, "name", str(photometric))
        raise Unsupported(f"its pixels are {_PHOTOMETRIC_WORDS.get(name, f'of colour model {name}')}")
    if photometric == _SEPARATED and page.tags.valueof(TiffTag.INKS, 1) != 1:
        raise Unsupported("its inks are not cyan, magenta, yellow and black")
    colour_count = _COLOUR_SAMPLES[photometric]
    if samples.shape[2] < colour_count:
        raise Refused(f"it has {samples.shape[2]} samples per pixel, its colour model needs {colour_count}")

    notes: list[str] = []
    stored, extra = samples[..., :colour_count], samples[..., colour_count:]
    kinds = [int(kind) for kind in page.extrasamples][: extra.shape[2]]
    alpha_at = next((at for at, kind in enumerate(kinds) if kind in (_PREMULTIPLIED, _STRAIGHT)), None)
    alpha = None if alpha_at is None else _our_dtype(extra[..., alpha_at], page, [])
    if unknown := extra.shape[2] - (alpha is not None):
        values = "value" if unknown == 1 else "values"
        notes.append(f"{unknown} more {values} per pixel, of unknown meaning, left out.")
    if photometric == _PALETTE:
        indices, colormap = stored[..., 0], page.colormap
        if colormap is None or indices.dtype.kind not in "bu":
            raise Refused("it has a palette picture without its palette")
        if int(indices.max()) >= colormap.shape[1]:
            raise Refused(f"it names colour {int(indices.max())} of a palette of {colormap.shape[1]}")
        # It has 16 bits per value; writers fill them from 8 as v x 256 or v x 257, and some forget to.
        palette = colormap if colormap.max() < 256 else colormap >> 8
        colours: np.ndarray = palette.astype(np.uint8).T[indices.astype(np.intp)]
        alpha = None if alpha is None else alpha.astype(np.uint8)
    else:
        colours = _our_dtype(stored, page, notes)
        if alpha is not None and kinds[alpha_at or 0] == _PREMULTIPLIED:
            colours = unpremultiplied(colours, alpha)
        if photometric == _MIN_IS_WHITE and colours.dtype == np.float32:
            # Float values have no full scale to turn about.
            notes.append("Its values count darkness (white is the smallest); they were kept as they are.")
        elif photometric == _MIN_IS_WHITE:
            colours = np.iinfo(colours.dtype).max - colours
        elif photometric == _SEPARATED:
            notes.append("It was converted from CMYK to RGB without its colour profile.")
            colours = cmyk_to_rgb(colours)
        elif photometric == _YCBCR and int(page.compression) not in (6, 7):  # a JPEG decoder converts
            colours = ycbcr_to_rgb(colours)
    return (colours if alpha is None else np.dstack([colours, alpha])), notes


def _our_dtype(samples: np.ndarray, page: "TiffPage", notes: list[str]) -> np.ndarray:
    """Values as uint8, uint16 or float32; packed depths are scaled to the full range of the next one."""
    bits = int(page.bitspersample)
    if samples.dtype.kind == "u" and bits < 8 * samples.itemsize <= 16:
        notes.append(f"Its {bits}-bit values were scaled to {8 * samples.itemsize} bit.")
        return scaled(samples, 2**bits - 1, samples.dtype)
    dtype, type_notes = sample_type(samples.dtype)
    # A mask of ones and zeros is a picture of two greys.
    notes += type_notes if samples.dtype != np.bool_ else ()
    return converted(samples, dtype)


def is_as_stored(page: "TiffPage") -> bool:
    """Return whether the samples of a page are its pixels."""
    probe = np.arange(1, 1 + page.samplesperpixel, dtype=page.dtype).reshape(1, 1, -1)
    pixels, _ = picture_samples(probe, page)
    is_premultiplied = _PREMULTIPLIED in [int(kind) for kind in page.extrasamples]
    return pixels.dtype == probe.dtype and np.array_equal(pixels, probe) and not is_premultiplied
