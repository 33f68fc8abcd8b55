"""What is asked of a picture and its result: a histogram, mean, deviation and ends of a part, a window.

No Numba in here.
"""

from typing import ClassVar

from engine.host.protocol import OfValues, PictureHandle, ScreenLevels
from engine.host.shared_array import Computed, SharedArray
from engine.message import Message
from engine.verify.regions import Region

BINS = 256


class ChannelNumbers(Message, frozen=True):
    """One channel of a picture, or of a part of it."""

    counts: tuple[int, ...]  # by brightness, of all that is finite
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
        return sum(self.counts) + self.not_finite


class PictureNumbers(Message, frozen=True):
    """A picture, and its result if there is one, channel by channel.

    The ends are where the first bin begins and the last one ends: black and white of 8 bit, else the least
    and the most of the values.
    """

    before: tuple[ChannelNumbers, ...]
    before_ends: tuple[float, float] = (0.0, 255.0)
    after: tuple[ChannelNumbers, ...] = ()
    after_ends: tuple[float, float] = (0.0, 255.0)


class MeasurePicture(Message, OfValues, frozen=True):
    """Count the samples of a picture in memory and of a result of it, or of a region of both.

    Reply: PictureNumbers.
    """

    picture: PictureHandle
    values: SharedArray | Computed | None = None
    region: Region | None = None
    handler: ClassVar[str] = "engine.host.measuring:measure_picture"


class ShowWindow(Message, OfValues, frozen=True):
    """Make a picture in memory, or a result of it, ready for the screen, with other values black and white.

    Reply: Windowed.
    """

    picture: PictureHandle
    values: SharedArray | Computed | None  # a result; None: the picture itself
    # What is black and what is white; None: the `PERCENTILES`.
    ends: tuple[float, float] | None
    handler: ClassVar[str] = "engine.host.window:show_window"


class Windowed(Message, frozen=True):
    """What is painted, and the values that are black and white in it."""

    screen: ScreenLevels
    ends: tuple[float, float]


PERCENTILES = 0.5, 99.5
"""Those between which most of the values lie."""
