"""What the options of `filter` make of a picture: the channels to filter, and the depth to save the result in."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.errors import BadValue
from engine.image.picture import Picture
from engine.image.save import DEPTH_DTYPES

DEPTHS: tuple[str, ...] = ("keep", *DEPTH_DTYPES)


def depth_of_result(
    picture: Picture, depth: str, range_mode: str, result_type: str = "float32"
) -> np.dtype[Any]:
    """Return the sample type that the result will be saved in.

    Raises
    ------
    BadValue
        A range is asked for where float32 values are kept as they are, or where the kernel has already clipped them.
    """
    target = picture.dtype if depth == "keep" else np.dtype(DEPTH_DTYPES[depth])
    if target == np.float32 and range_mode != "clip":
        raise BadValue(
            f"--range {range_mode}",
            "a float32 result keeps its values as they are, whatever their range",
            "Leave --range out, or choose --depth 8 or --depth 16.",
        )
    if result_type == "same" and range_mode != "clip":
        raise BadValue(
            f"--range {range_mode} with --result-type same",
            "results of the picture's type are clipped where they are computed",
            "Leave one of the two out.",
        )
    return target


def channels_to_filter(picture: Picture, with_alpha: bool) -> NDArray[Any]:
    """Return the pixels, with the alpha as one more channel where it is to be filtered.

    Returns
    -------
    ndarray of shape (H, W) or (H, W, C), the picture's dtype
    """
    if with_alpha and picture.alpha is not None:
        return np.dstack([picture.pixels, picture.alpha])
    return picture.pixels
