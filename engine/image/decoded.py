"""What each decoder hands over: an upright picture in our form, and facts of the file still needed."""

from dataclasses import dataclass

from engine.image.canvas import Canvas


@dataclass(frozen=True, eq=False, slots=True)
class Decoded:
    """A decoded picture.

    Parameters
    ----------
    canvas : Canvas
        Its pixels and alpha, upright, in one of our dtypes.
    icc_profile : bytes, optional
    notes : tuple of str
        Sentences for the person.
    metadata : tuple of str
        What else the file holds that no picture here carries: "EXIF data", "resolution (DPI)".
    """

    canvas: Canvas
    icc_profile: bytes | None = None
    notes: tuple[str, ...] = ()
    metadata: tuple[str, ...] = ()
