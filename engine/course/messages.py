"""What the engine's process is asked about the course."""

from dataclasses import dataclass
from typing import ClassVar

from engine.course.paper import CourseTable
from engine.host.request import Request


@dataclass(frozen=True, slots=True)
class CourseRequest:
    """The tables of a paper. Reply: tuple of CourseTable.

    Describe counts what can be counted: 1 to 20 ms. Run measures on this machine, which may take minutes.
    """

    answers: ClassVar[str] = "engine.course.answers"
    paper: str
    device: str = "auto"


@dataclass(frozen=True, slots=True)
class SaveCourse(Request):
    """Write a paper's tables, as the command `course PAPER --out FOLDER` does. Reply: Saved.

    The folder is created if its parent exists. `device` is the measured one, for the lines about the machine.
    """

    paper: str
    tables: tuple[CourseTable, ...]
    folder: str
    device: str = "auto"
    path_field: ClassVar[str] = "folder"
    handler: ClassVar[str] = "engine.course.answers:save_course"
