"""Layout: how the rows of a picture lie in a device's memory."""

import math
from enum import StrEnum

from engine.errors import UnknownName

ROW_BYTES = 128
"""Bytes of one burst of device memory, and of one transaction of a warp: where pitched rows begin."""


class Layout(StrEnum):
    """Whether each row begins on a 128-byte boundary (pitched), or where the row before ends (packed).

    Source: CENG443, "2D Image with Padding", "Row-Major Layout with Pitch".
    """

    PITCHED = "pitched"
    PACKED = "packed"

    @classmethod
    def named(cls, name: "Layout | str") -> "Layout":
        """Return the layout of that name.

        Raises
        ------
        UnknownName
        """
        try:
            return cls(name)
        except ValueError:
            raise UnknownName(
                f"layout '{name}'", "no layout is called that", f"Choose one of {', '.join(cls)}."
            ) from None

    def row_pixels(self, width: int, channels: int, itemsize: int) -> int:
        """Return the pixels from the begin of one row to the begin of the next.

        Parameters
        ----------
        width, channels : int
            Of the picture.
        itemsize : int
            Bytes of one sample.

        Returns
        -------
        int
            `width` when packed; when pitched, the least number of whole pixels from there on that fills whole
            stretches of 128 bytes.
        """
        if self is Layout.PACKED:
            return width
        step = ROW_BYTES // math.gcd(ROW_BYTES, channels * itemsize)
        return -(-width // step) * step
