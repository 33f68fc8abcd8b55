"""What a JPEG's quality, 1 to 100, means: the steps of quantisation of brightness, as libjpeg scales them.

The table is that of ITU-T T.81, Annex K.1.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

BRIGHTNESS_TABLE = np.array(
    [
        [16, 11, 10, 16, 24, 40, 51, 61],
        [12, 12, 14, 19, 26, 58, 60, 55],
        [14, 13, 16, 24, 40, 57, 69, 56],
        [14, 17, 22, 29, 51, 87, 80, 62],
        [18, 22, 37, 56, 68, 109, 103, 77],
        [24, 35, 55, 64, 81, 104, 113, 92],
        [49, 64, 78, 87, 103, 121, 120, 101],
        [72, 92, 95, 98, 112, 100, 103, 99],
    ]
)


def brightness_steps(quality: int) -> NDArray[np.int64]:
    """Return the steps of a quality, (8, 8)."""
    scale = 5000 // quality if quality < 50 else 200 - 2 * quality
    steps: NDArray[np.int64] = np.clip((BRIGHTNESS_TABLE * scale + 50) // 100, 1, 255)
    return steps


def nearest_quality(steps: Sequence[int]) -> int:
    """Return the quality whose steps add up to nearly the same as these of a file, in any order."""
    wanted = sum(steps)
    return min(range(1, 101), key=lambda quality: abs(int(brightness_steps(quality).sum()) - wanted))
