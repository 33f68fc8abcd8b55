"""Layouts: how the rows of a picture are arranged in a device's memory."""

import math
from enum import StrEnum

from engine.errors import UnknownName

ROW_BYTES = 128
"""Bytes of one burst of device memory, and of one transaction of a warp: where pitched rows begin."""

FLOAT_BYTES = 4
"""Bytes of a float32."""


class Layout(StrEnum):
    """Whether each row begins on a 128-byte boundary (pitched), or where the row before ends (packed).

    Source: CENG443, "2D Image with Padding", "Row-Major Layout with Pitch".
    """

    PITCHED = "pitched"
    PACKED = "packed"

    @classmethod
    def named(cls, name: "Layout | str") -> "Layout":
        """Return the layout of that name; raises UnknownName."""
        try:
            return cls(name)
        except ValueError:
            remedy = f"Choose one of {', '.join(cls)}."
            raise UnknownName(f"layout '{name}'", "there is no such layout", remedy) from None

    def row_pixels(self, width: int, channels: int, itemsize: int) -> int:
        """Return the pixels from the beginning of one row to the beginning of the next.

        If packed, `width`; if pitched, the least number of pixels from there on that fills whole units of 128
        bytes, with samples of `itemsize` bytes.
        """
        if self is Layout.PACKED:
            return width
        step = ROW_BYTES // math.gcd(ROW_BYTES, channels * itemsize)
        return -(-width // step) * step
