"""What is asked for to see how picture and result differ. No Numba in here."""

from dataclasses import dataclass
from typing import ClassVar

from engine.host.protocol import PictureHandle, ScreenLevels
from engine.host.request import QueuePolicy, Request
from engine.host.shared_array import Computed, SharedArray
from engine.verify.regions import Region
from engine.work.messages import PictureJob


@dataclass(frozen=True, slots=True)
class ComparePictures(Request):
    """Make a picture of result less original, or of the error against the float64 reference.

    Reply: Compared.
    """

    picture: PictureHandle
    values: SharedArray | Computed  # the result
    job: PictureJob | None  # of the error; None for the difference
    variant: str  # that ran
    seen: Region  # of an error that is not affordable as a whole, this part is computed
    handler: ClassVar[str] = "engine.work.comparing:compare"

    @property
    def queue(self) -> QueuePolicy:
        """Beside a run, but for values that are computed for it."""
        return QueuePolicy.IN_ORDER if isinstance(self.values, Computed) else QueuePolicy.BESIDE


@dataclass(frozen=True, slots=True)
class Compared:
    """The picture for the screen, and what black, grey and white mean."""

    screen: ScreenLevels
    words: str
    is_whole: bool = True
