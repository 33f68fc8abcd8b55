"""What is asked of a picture and its result in numbers: a histogram, and mean, deviation and ends of a part.

No Numba in here.
"""

from dataclasses import dataclass
from typing import ClassVar

from engine.host.protocol import PictureHandle
from engine.host.request import QueuePolicy, Request
from engine.host.shared_array import Computed, SharedArray
from engine.verify.regions import Region

BINS = 256


@dataclass(frozen=True, slots=True)
class ChannelNumbers:
    """One channel of a picture, or of a part of it."""

    counts: tuple[int, ...]  # by brightness, from black to white; what lies outside is not in it
    below: int  # samples under black, and above white
    above: int
    not_finite: int  # NaN and infinity, which no other number counts
    mean: float
    deviation: float
    least: float
    most: float

    @property
    def total(self) -> int:
        """All samples."""
        return sum(self.counts) + self.below + self.above + self.not_finite


@dataclass(frozen=True, slots=True)
class PictureNumbers:
    """A picture, and its result if there is one, channel by channel."""

    before: tuple[ChannelNumbers, ...]
    after: tuple[ChannelNumbers, ...] = ()


@dataclass(frozen=True, slots=True)
class MeasurePicture(Request):
    """Count the samples of a picture in memory and of a result of it, or of a region of both.

    Reply: PictureNumbers.
    """

    picture: PictureHandle
    values: SharedArray | Computed | None = None
    region: Region | None = None
    handler: ClassVar[str] = "engine.host.measuring:measure_picture"

    @property
    def queue(self) -> QueuePolicy:
        """Beside a run, but for values that are computed for it."""
        return QueuePolicy.IN_ORDER if isinstance(self.values, Computed) else QueuePolicy.BESIDE
