"""What a picture will be once it is decoded: known from the header, before anything is allocated."""

from dataclasses import dataclass
from typing import Self

import numpy as np


@dataclass(frozen=True, slots=True)
class Form:
    """Size and type of the samples of a picture.

    `height` and `width` are rows and columns as the file stores them, `channels` is 1 (grey) or 3 (RGB),
    `dtype` uint8, uint16 or float32.
    """

    height: int
    width: int
    channels: int
    has_alpha: bool
    dtype: np.dtype

    @classmethod
    def of_samples(cls, height: int, width: int, samples: int, dtype: np.dtype) -> Self:
        """Return the form of a picture of 1 to 4 samples per pixel: grey or RGB, with or without alpha."""
        return cls(height, width, 1 if samples < 3 else 3, samples in (2, 4), dtype)

    @property
    def plane_shape(self) -> tuple[int, int]:
        """Shape of one channel, and of the alpha."""
        return self.height, self.width

    @property
    def colour_shape(self) -> tuple[int, ...]:
        """Shape of the pixels without alpha: grey has no third axis."""
        return self.plane_shape if self.channels == 1 else (*self.plane_shape, self.channels)

    @property
    def pixel_count(self) -> int:
        """Rows times columns."""
        return self.height * self.width

    @property
    def values(self) -> int:
        """Number of samples of all channels, alpha counted."""
        return self.pixel_count * (self.channels + self.has_alpha)

    @property
    def decoded_bytes(self) -> int:
        """Memory of the decoded picture, bytes."""
        return self.values * self.dtype.itemsize
