"""EXIF as Pillow reads it: of its many fields, only the orientation matters here."""

from engine.image.orientation import EXIF_ORIENTATION_TAG


def orientation_of_exif(block: bytes | None) -> int:
    """Orientation in a block of EXIF data, 1 where there is none or it cannot be read.

    Parameters
    ----------
    block : bytes or None
        TIFF structure with or without the leading "Exif" marker.
    """
    if not block:
        return 1
    from PIL import Image

    exif = Image.Exif()
    try:
        exif.load(block)
        return int(exif.get(EXIF_ORIENTATION_TAG, 1))
    except (SyntaxError, ValueError, TypeError, OSError, LookupError, ArithmeticError):
        # Damaged metadata is no reason to refuse whole pixels.
        return 1
