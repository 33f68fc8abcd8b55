"""What the window asks about the course material. Plain data, no Numba."""

from dataclasses import dataclass
from typing import ClassVar

from engine.course.paper import CourseTable
from engine.host.queue_policy import QueuePolicy
from engine.host.request import Request


@dataclass(frozen=True, slots=True)
class CountCourse(Request):
    """Ask for a paper's tables as far as they need no clock, at once. Reply: tuple of CourseTable.

    It takes 1 to 20 ms, so it need not wait for a run.
    """

    paper: str
    queue: ClassVar[QueuePolicy] = QueuePolicy.AT_ONCE


@dataclass(frozen=True, slots=True)
class MeasureCourse(Request):
    """Measure a paper's tables on this machine, which may take minutes. Reply: tuple of CourseTable.

    Parameters
    ----------
    paper : str
        Key of `engine.course.papers`.
    device : str
        "cuda:0", ..., or "auto": CUDA if there is one that works.
    """

    paper: str
    device: str = "auto"


@dataclass(frozen=True, slots=True)
class SaveCourse(Request):
    """Write a paper's tables, as the command `course PAPER --out FOLDER` does. Reply: Saved.

    Parameters
    ----------
    paper : str
    tables : tuple of CourseTable
    folder : str
        Made if it is not there; the folder around it must be.
    device : str
        That was measured, for the lines about the machine.
    """

    paper: str
    tables: tuple[CourseTable, ...]
    folder: str
    device: str = "auto"

    @property
    def written_path(self) -> str:
        """The folder."""
        return self.folder
