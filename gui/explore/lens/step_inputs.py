"""What a step of a chain reads, square by square: the results of the steps before it, computed when asked."""

from collections.abc import Sequence

from PySide6.QtCore import QObject, Signal

from engine.host.tiles import TiledScreen
from engine.work.filtering.one_pixel import Samples
from engine.work.messages import PictureJob
from gui.engine_link.engine_link import EngineLink
from gui.explore.picture.tiled_values import TiledValues


class StepInputs(QObject):
    """The results that are read now; the squares of others are dropped."""

    arrived = Signal()

    def __init__(self, link: EngineLink) -> None:
        super().__init__()
        self._link = link
        self._read: list[tuple[PictureJob, TiledValues]] = []

    def of(self, job: PictureJob) -> Samples:
        """Return the result of a job of those that are kept to; reading it raises `NotYet`."""
        values = next(values for one, values in self._read if one == job)
        assert values.result is not None
        return values.result

    def keep_to(self, jobs: Sequence[PictureJob]) -> None:
        """Read the results of these jobs, and no others."""
        before, self._read = self._read, []
        for job in jobs:
            values = next((values for one, values in (*self._read, *before) if one == job), None)
            self._read.append((job, values or self._made(job)))
        kept = [values for _, values in self._read]
        for _, values in before:
            if values not in kept:
                values.updated.disconnect(self.arrived)

    def _made(self, job: PictureJob) -> TiledValues:
        picture = job.picture
        screen = TiledScreen("", ((picture.height, picture.width),))
        values = TiledValues(picture, screen, self._link)
        values.set_result(job, screen)
        values.updated.connect(self.arrived)
        return values
