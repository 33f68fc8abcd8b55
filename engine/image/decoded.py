"""What each decoder hands over: pixels in our form, and the facts of the file that are still to be used."""

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray


@dataclass(frozen=True, eq=False, slots=True)
class Decoded:
    """Pixels as the file stores them (not yet turned by `orientation`), in one of our dtypes.

    Parameters
    ----------
    pixels : ndarray of shape (H, W) or (H, W, 3), uint8, uint16 or float32
    alpha : ndarray of shape (H, W), dtype of `pixels`, optional
        Straight opacity.
    icc_profile : bytes, optional
    orientation : int
        EXIF orientation, 1 to 8; any other number counts as 1.
    notes : tuple of str
        Sentences for the person.
    """

    pixels: NDArray[Any]
    alpha: NDArray[Any] | None = None
    icc_profile: bytes | None = None
    orientation: int = 1
    notes: tuple[str, ...] = ()
