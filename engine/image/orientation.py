"""EXIF orientation: which way a camera was held, applied once so that the picture stands upright."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

EXIF_ORIENTATION_TAG = 274


def is_turned(orientation: int) -> bool:
    """Whether rows of the file are columns of the upright picture."""
    return orientation in (5, 6, 7, 8)


def turned_upright(image: NDArray[Any], orientation: int) -> NDArray[Any]:
    """Image with an EXIF orientation applied.

    Parameters
    ----------
    image : ndarray of shape (H, W) or (H, W, C)
        As the file stores it.
    orientation : int
        1 to 8 as in the EXIF standard; anything else leaves the image as it is.

    Returns
    -------
    ndarray
        A view; rows and columns are exchanged for 5 to 8.
    """
    if is_turned(orientation):
        image = image.swapaxes(0, 1)
    # The standard names the edges where row 0 and column 0 belong; after the exchange only mirrors are left.
    return _mirrored(image, orientation)


def as_stored(image: NDArray[Any], orientation: int) -> NDArray[Any]:
    """Upright image as a file of that orientation stores it: the inverse of `turned_upright`, a view too."""
    image = _mirrored(image, orientation)
    return image.swapaxes(0, 1) if is_turned(orientation) else image


def _mirrored(image: NDArray[Any], orientation: int) -> NDArray[Any]:
    if orientation in (3, 4, 7, 8):
        image = np.flip(image, 0)
    if orientation in (2, 3, 6, 7):
        image = np.flip(image, 1)
    return image
