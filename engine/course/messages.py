"""What the engine's process is asked about the course."""

from typing import ClassVar

from engine.course.paper import CourseTable
from engine.host.request import QueuePolicy, Request
from engine.message import Message
from engine.results.measurement import AnyResult


class CourseRequest(Message, Request, frozen=True):
    """The tables of a paper, counted by the models of work, 1 to 300 ms. Reply: tuple of CourseTable."""

    paper: str
    handler: ClassVar[str] = "engine.course.answers:describe"
    policy: ClassVar[QueuePolicy] = QueuePolicy.AT_ONCE


class MeasureCourse(Message, Request, frozen=True):
    """Measure a paper's tables on this machine, which may take minutes. Reply: MeasuredPaper."""

    paper: str
    device: str = "auto"
    handler: ClassVar[str] = "engine.course.answers:measure_course"


class MeasuredPaper(Message, frozen=True):
    """A paper's tables with this machine's figures, and the results that they were made from."""

    tables: tuple[CourseTable, ...]
    results: tuple[AnyResult, ...] = ()


class CountCourse(Message, Request, frozen=True):
    """Count the transactions of a paper's kernels, too: up to 3 s. Reply: tuple of CourseTable."""

    paper: str
    handler: ClassVar[str] = "engine.course.answers:count_course"


class CourseCode(Message, Request, frozen=True):
    """The code of a paper's kernels, at once. Reply: for each kernel a tuple of Excerpt."""

    paper: str
    policy: ClassVar[QueuePolicy] = QueuePolicy.AT_ONCE
    handler: ClassVar[str] = "engine.course.answers:course_code"


class SaveCourse(Message, Request, frozen=True):
    """Write a paper's tables, as the command `course PAPER --out FOLDER` does. Reply: Saved.

    The folder is created if its parent exists. `device` is the measured one, for the lines about the machine.
    """

    paper: str
    tables: tuple[CourseTable, ...]
    folder: str
    device: str = "auto"
    path_field: ClassVar[str] = "folder"
    handler: ClassVar[str] = "engine.course.answers:save_course"
