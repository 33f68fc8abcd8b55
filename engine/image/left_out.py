"""What a file says beside its pixels that no saved picture keeps, in words, so that a note can name it."""

import mmap
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from engine.image.jpeg import markers

if TYPE_CHECKING:
    from tifffile import TiffPage

XMP, IPTC, COMMENT, OME = "XMP", "IPTC data", "comment", "OME metadata"
# Keywords, and tags without a name, that are listed; of more their number is said.
_MOST_LISTED = 4

_SCAN, _APP1, _APP13, _COMMENT_MARKER = 0xDA, 0xE1, 0xED, 0xFE
_ADOBE_XMP = (b"http://ns.adobe.com/xap/1.0/\0", b"http://ns.adobe.com/xmp/extension/\0")
_PHOTOSHOP, _IPTC_RESOURCE = b"Photoshop 3.0\0", b"8BIM\x04\x04"

# Chunks of a PNG. A colour profile says more than those of `_BELOW_PROFILE`, which then count for nothing.
_BELOW_PROFILE = {b"gAMA": "gamma (gAMA)", b"cHRM": "primaries (cHRM)", b"sRGB": "sRGB mark (sRGB)"}
_CHUNKS = {
    b"cICP": "colour space (cICP)", b"mDCV": "colours of the screen (mDCV)", b"cLLI": "brightness (cLLI)",
    b"sBIT": "significant bits (sBIT)", b"bKGD": "background colour (bKGD)", b"sPLT": "palette (sPLT)",
    b"oFFs": "position (oFFs)", b"pCAL": "scale (pCAL)", b"sCAL": "scale (sCAL)",
    b"caBX": "credentials (caBX)",
}  # fmt: skip
NAMED_CHUNKS = frozenset((*_BELOW_PROFILE, *_CHUNKS))
_KEYWORDS = {
    b"XML:com.adobe.xmp": XMP, b"Raw profile type xmp": XMP, b"Raw profile type iptc": IPTC,
    b"Raw profile type 8bim": IPTC,
    # Kept as EXIF data, and what the writer of a file is called.
    b"Raw profile type exif": "", b"Raw profile type APP1": "", b"Software": "",
}  # fmt: skip

_DESCRIPTION, _RESOLUTION, _UNIT, _GEOTIFF = 270, (282, 283), 296, "GeoTIFF tags"
_TAGS = {
    269: "document name", _DESCRIPTION: "description", 282: "resolution (pixel size)", 283: "",
    285: "page name", 286: "position", 287: "", 301: "transfer function", 318: "white point",
    319: "primaries", 700: XMP,
    33550: _GEOTIFF, 33922: _GEOTIFF, 34264: _GEOTIFF, 34735: _GEOTIFF, 34736: _GEOTIFF, 34737: _GEOTIFF,
    33723: IPTC, 34377: "Photoshop data", 37724: "Photoshop layers", 42112: "GDAL metadata",
    42113: "no-data value", 50838: "ImageJ metadata", 50839: "ImageJ metadata",
}  # fmt: skip
# Those of TIFF 6.0 end with 532, and say how pixels are stored, or little. Later ones on the pixels: the old
# alpha, the number type, slices and tiles, and how LERC is compressed.
_LAST_OF_TIFF_6 = 532
_OF_PIXELS = frozenset((32995, 32996, 32997, 32998, 50674))


def left_out_of_jpeg(data: mmap.mmap | bytes) -> tuple[str, ...]:
    """Return the names for the segments of a JPEG before its pixels."""
    found = []
    for marker, position in markers(data):
        if marker == _SCAN:
            break
        size = int.from_bytes(data[position + 2 : position + 4], "big")
        content = data[position + 4 : position + 2 + size] if marker in (_APP1, _APP13) else b""
        if marker == _COMMENT_MARKER:
            found.append(COMMENT)
        elif marker == _APP1 and content.startswith(_ADOBE_XMP):
            found.append(XMP)
        elif marker == _APP13 and content.startswith(_PHOTOSHOP):
            found.append(IPTC if _IPTC_RESOURCE in content else "Photoshop data")
    return unique(found)


def left_out_of_png(chunks: Iterable[bytes], keywords: Iterable[bytes], has_profile: bool) -> tuple[str, ...]:
    """Return the names for kinds of chunks of a PNG, and for the keywords of its texts."""
    names = _CHUNKS if has_profile else _CHUNKS | _BELOW_PROFILE
    found = [names[kind] for kind in chunks if kind in names]
    texts = []
    for keyword in keywords:
        if keyword in _KEYWORDS:
            found.append(_KEYWORDS[keyword])
        else:
            texts.append("".join(filter(str.isprintable, keyword.decode("latin-1"))))
    return unique([*found, *([f"texts ({_listed(unique(texts))})"] if texts else [])])


def left_out_of_info(info: Mapping[Any, Any]) -> tuple[str, ...]:
    """Return the names for what Pillow has found in a file."""
    found = [name for key, name in (("xmp", XMP), ("comment", COMMENT)) if info.get(key)]
    photoshop = info.get("photoshop")
    if photoshop:
        # The number of IPTC data among its resources.
        found.append(IPTC if 0x0404 in photoshop else "Photoshop data")
    return tuple(found)


def left_out_of_tiff(page: "TiffPage", kept: Iterable[int]) -> tuple[str, ...]:
    """Return the names for the tags of a page, without those that are kept."""
    found, numbers = [], []
    kept = frozenset(kept)
    for tag in page.tags:
        code = tag.code
        # tifffile's own note of the shape of an array says nothing of the picture.
        if code in kept or (code == _DESCRIPTION and page.is_shaped):
            continue
        if code in _RESOLUTION and page.tags.valueof(_UNIT, 1) == 1 and _is_one(tag.value):
            continue
        if code == _DESCRIPTION and page.parent.is_ome:
            found.append(OME)
        elif code in _TAGS:
            found.append(_TAGS[code])
        elif code > _LAST_OF_TIFF_6 and code not in _OF_PIXELS:
            numbers.append(str(code))
    return unique([*found, *([f"tags {_listed(numbers)}"] if numbers else [])])


def _is_one(ratio: Any) -> bool:
    """Return whether a resolution is 1 to 1, which without a unit says nothing."""
    return isinstance(ratio, tuple) and len(ratio) == 2 and ratio[0] == ratio[1]


def sentence_on(names: Iterable[str]) -> tuple[str, ...]:
    """Return a note that names what is not saved; none where there is nothing."""
    listed = ", ".join(names)
    return (f"Not saved of what the opened file says: {listed}.",) if listed else ()


def unique(names: Iterable[str]) -> tuple[str, ...]:
    """Return names, each once; empty ones are of what needs no word."""
    return tuple(dict.fromkeys(filter(None, names)))


def _listed(names: Iterable[str]) -> str:
    listed = list(names)
    more = len(listed) - _MOST_LISTED
    return ", ".join(listed[:_MOST_LISTED]) + (f" and {more} more" if more > 0 else "")
