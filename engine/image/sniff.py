"""What a file is, by its first bytes. The extension is only a hint to people."""

from engine.image.faults import Refused

# Enough for every signature below (DICOM's lies at 128) and to tell text from other data.
HEAD_BYTES = 512

_PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"

_OURS: tuple[tuple[bytes, str], ...] = (
    (_PNG_SIGNATURE, "PNG"),
    (b"\xff\xd8\xff", "JPEG"),
    (b"II*\x00", "TIFF"),
    (b"MM\x00*", "TIFF"),
    (b"II+\x00", "TIFF"),
    (b"MM\x00+", "TIFF"),
    (b"GIF87a", "GIF"),
    (b"GIF89a", "GIF"),
    (b"BM", "BMP"),
)

# Offset, bytes, what it looks like. Only what people are likely to try.
_OTHERS: tuple[tuple[int, bytes, str], ...] = (
    (0, b"%PDF", "a PDF document"),
    (0, b"8BPS", "a Photoshop document"),
    (0, b"\x00\x00\x00\x0cjP  ", "a JPEG 2000 picture"),
    (0, b"\x00\x00\x00\x0cJXL ", "a JPEG XL picture"),
    (0, b"\xff\x0a", "a JPEG XL picture"),
    (0, b"\x76\x2f\x31\x01", "an OpenEXR picture"),
    (0, b"#?RADIANCE", "a Radiance HDR picture"),
    (0, b"qoif", "a QOI picture"),
    (0, b"\x00\x00\x01\x00", "an icon (ICO)"),
    (0, b"SIMPLE  =", "a FITS file"),
    (128, b"DICM", "a DICOM file"),
    (0, b"\x89HDF", "an HDF5 file"),
    (0, b"\x93NUMPY", "a NumPy array"),
    (0, b"PK\x03\x04", "a ZIP archive or an office document"),
    (0, b"\x1f\x8b", "a gzip archive"),
    (0, b"7z\xbc\xaf", "a 7-Zip archive"),
    (0, b"\x7fELF", "a program"),
    (0, b"MZ", "a program"),
    (0, b"ID3", "a sound file"),
    (0, b"OggS", "a sound or video file"),
    (0, b"\x1aE\xdf\xa3", "a video"),
    *((0, b"P%d" % kind, "a PNM picture") for kind in range(1, 8)),
)

# Brands of the "ftyp" box (ISO base media): the same container for pictures and films.
_BRANDS: dict[bytes, str] = {
    b"avif": "an AVIF picture",
    b"avis": "an AVIF picture",
    b"heic": "a HEIC picture",
    b"heix": "a HEIC picture",
    b"mif1": "a HEIC picture",
    b"msf1": "a HEIC picture",
}

_REMEDY = "Save it as PNG, JPEG, TIFF, BMP, WebP or GIF, and open that."


def format_of(head: bytes) -> str:
    """Name of the picture format that a file begins with.

    Parameters
    ----------
    head : bytes
        The first `HEAD_BYTES` bytes of the file, or all of them where it is shorter.

    Returns
    -------
    str
        "PNG", "JPEG", "TIFF", "BMP", "WebP" or "GIF".

    Raises
    ------
    Refused
        None of them; the reason says what the file looks like.
    """
    if not head:
        raise Refused("it holds zero bytes", "Get the file again: nothing of it arrived.")
    for signature, name in _OURS:
        if head.startswith(signature):
            return name
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "WebP"
    if any(head.startswith(signature[: len(head)]) for signature, _ in _OURS):
        raise Refused(f"it ends after {len(head)} bytes, before the picture begins")
    if b"PNG" in head[:5] or head[12:16] == b"IHDR":
        raise Refused(
            "it looks like a PNG whose first bytes are damaged, as by a transfer in text mode",
            "Transfer the file again in binary mode.",
        )
    raise Refused(f"it is not a picture that this program reads; it looks like {_looks_like(head)}", _REMEDY)


def _looks_like(head: bytes) -> str:
    for offset, signature, name in _OTHERS:
        if head[offset:].startswith(signature):
            return name
    if head[4:8] == b"ftyp":
        return _BRANDS.get(head[8:12], "a video")
    if head[:4] == b"RIFF":
        return "a sound or video file"
    text = head.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if text.startswith((b"<svg", b"<?xml")):
        return "an SVG drawing" if b"<svg" in text else "an XML document"
    if text.startswith((b"<!doctype html", b"<html")):
        return "a web page"
    return "text" if _is_text(head) else "unknown data"


def _is_text(head: bytes) -> bool:
    # "ignore" because a character may be cut in two where the head ends.
    decoded = head.decode("utf-8", errors="ignore")
    whole = len(head) - len(decoded.encode()) < 4
    return whole and all(character.isprintable() or character in "\t\r\n\f" for character in decoded)
