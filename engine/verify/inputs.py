"""The picture that a result was computed from: how much its values vary near a result."""

from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from engine.verify.closeness import UNIT_ROUNDOFF, Near
from engine.verify.regions import Region


@dataclass(frozen=True)
class Inputs:
    """A picture (H, W, C), and which of its samples a result depends on.

    Parameters
    ----------
    before, after : (int, int)
        Rows and columns that a result reads above and left of its place, and below and right of it.
    ghost : float, optional
        Value of cells outside the picture, where it is none of the picture's.
    gain : float
        By how much a result changes, at most, where all samples that it reads change by 1.
    jump : float
        How high a jump of the results is, such as that of a threshold: both its ends may be right.
    has_sums : bool
        Whether the limits of results have the sums of magnitudes behind each.
    """

    samples: np.ndarray
    before: tuple[int, int] = (0, 0)
    after: tuple[int, int] = (0, 0)
    ghost: float | None = None
    gain: float = 1.0
    jump: float = 0.0
    has_sums: bool = True

    def near(self, region: Region) -> Near:
        """Return what bounds of the results of a region are held against."""
        return Near(
            samples=partial(self.samples_of, region), hidden=lambda: self.hidden, has_sums=self.has_sums
        )

    def samples_of(self, region: Region, rows: slice, columns: slice) -> tuple[float, float]:
        """Return range and largest magnitude of the samples that a part of a region of results depends on."""
        down, across = region.ranges[0][rows], region.ranges[1][columns]
        height, width = self.samples.shape[:2]
        top, bottom = down[0] - self.before[0], down[-1] + 1 + self.after[0]
        left, right = across[0] - self.before[1], across[-1] + 1 + self.after[1]
        values = self.samples[max(0, top) : bottom, max(0, left) : right].astype(np.float64)
        values = values[np.isfinite(values)]
        if self.ghost is not None and (top < 0 or left < 0 or bottom > height or right > width):
            values = np.append(values, self.ghost)
        if not values.size:
            return 0.0, self.jump
        return self.gain * float(np.ptp(values)), max(self.jump, self.gain * float(np.abs(values).max()))

    @cached_property
    def hidden(self) -> float:
        """What hides nothing of the picture, times the gain.

        That is u of a sample that is not 0, as half of these are no larger, and u^2 of the largest one: the
        far ends of a bell, at 1e-30.
        """
        sizes = np.abs(self.samples[np.isfinite(self.samples) & (self.samples != 0)]).astype(np.float64)
        if not sizes.size:
            return 0.0
        return self.gain * UNIT_ROUNDOFF * max(float(np.median(sizes)), UNIT_ROUNDOFF * float(sizes.max()))
