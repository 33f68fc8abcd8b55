"""What a file is, by its first bytes. The extension is only a hint to people."""

import re

from engine.image import formats
from engine.image.faults import Refused
from engine.image.format import Format

# Enough for every signature below (DICOM's lies at 128) and to tell text from other data.
HEAD_BYTES = 512

# Offset, bytes, what it looks like. Only what people are likely to try.
_OTHERS: tuple[tuple[int, bytes, str], ...] = (
    (0, b"%PDF", "a PDF document"),
    (0, b"8BPS", "a Photoshop document"),
    (0, b"\x00\x00\x00\x0cjP  ", "a JPEG 2000 picture"),
    (0, b"\x76\x2f\x31\x01", "an OpenEXR picture"),
    (0, b"#?RADIANCE", "a Radiance HDR picture"),
    (0, b"qoif", "a QOI picture"),
    (0, b"\x00\x00\x01\x00", "an icon (ICO)"),
    (0, b"SIMPLE  =", "a FITS file"),
    (128, b"DICM", "a DICOM file"),
    (0, b"\x89HDF", "an HDF5 file"),
    (0, b"\x1f\x8b", "a gzip archive"),
    (0, b"7z\xbc\xaf", "a 7-Zip archive"),
    (0, b"\x7fELF", "a program"),
    (0, b"MZ", "a program"),
    (0, b"ID3", "a sound file"),
    (0, b"OggS", "a sound or video file"),
    (0, b"RIFF", "a sound or video file"),
    (0, b"\x1aE\xdf\xa3", "a video"),
    # The "ftyp" box (ISO base media) is the same container for pictures and films.
    *((4, b"ftyp" + brand, "a HEIC picture") for brand in (b"heic", b"heix", b"mif1", b"msf1")),
    (4, b"ftyp", "a video"),
)


def format_of(head: bytes) -> Format:
    """Return the format of a file that begins with `head`, its first `HEAD_BYTES` bytes or fewer.

    Raises Refused where it is none of `FORMATS`; the reason says what the file looks like.
    """
    if not head:
        raise Refused("it holds zero bytes", "Get the file again: nothing of it arrived.")
    begun = False
    for known in formats.FORMATS:
        for signature in known.signatures:
            if _fits(signature, head):
                if len(head) >= len(signature):
                    return known
                # "?" fits whatever is there.
                begun |= len(head) > len(signature) - len(signature.lstrip(b"?"))
    if begun:
        raise Refused(f"it ends after {len(head)} bytes, before the picture begins")
    for known in formats.FORMATS:
        if known.damaged and re.match(known.damaged, head, re.DOTALL):
            raise Refused(
                f"it looks like a {known.title} whose first bytes are damaged, as by a transfer in text mode",
                "Transfer the file again in binary mode.",
            )
    raise Refused(
        f"it is not a picture that this program reads; it looks like {_looks_like(head)}",
        f"Save it as {formats.titles()}, and open that.",
    )


def _fits(signature: bytes, head: bytes) -> bool:
    """Return whether a file begins with a signature, as far as both reach."""
    return all(wanted in (found, ord("?")) for wanted, found in zip(signature, head, strict=False))


def _looks_like(head: bytes) -> str:
    for offset, signature, name in _OTHERS:
        if head[offset:].startswith(signature):
            return name
    text = head.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if text.startswith((b"<svg", b"<?xml")):
        return "an SVG drawing" if b"<svg" in text else "an XML document"
    if text.startswith((b"<!doctype html", b"<html")):
        return "a web page"
    return "text" if _is_text(head) else "unknown data"


def _is_text(head: bytes) -> bool:
    # "ignore" because a character may be cut in two where the head ends.
    decoded = head.decode("utf-8", errors="ignore")
    is_whole = len(head) - len(decoded.encode()) < 4
    return is_whole and all(character.isprintable() or character in "\t\r\n\f" for character in decoded)
