"""The course material: has tables counted and measured, and loads a paper's kernel with one click."""

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject

from engine.course.paper import CourseKernel, CourseTable
from engine.device_info import AUTO
from engine.errors import Cancelled, EngineError
from engine.host.protocol import CountCourse, MeasureCourse, SaveCourse, Saved
from gui.course.course_loading import why_not_loadable
from gui.course.course_model import CourseModel
from gui.engine_link.engine_link import Ask, EngineLink, is_reported_by_link
from gui.engine_link.engine_state import EngineState
from gui.page.intents import Intent, LoadKernel
from gui.page.jobs import Job, JobQueue
from gui.page.messages import Message, Severity, Speaker

SOURCE = "course material"
SAVE_SOURCE = "course tables"


class CourseController(QObject):
    """Does what the page Course asks for.

    Parameters
    ----------
    offer : callable
        Gives an intent to the page that takes it.
    """

    def __init__(
        self,
        course: CourseModel,
        state: EngineState,
        link: EngineLink,
        jobs: JobQueue,
        messages: Speaker,
        offer: Callable[[Intent], bool],
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._course = course
        self._state = state
        self._link = link
        self._jobs = jobs
        self._messages = messages
        self._offer = offer
        self._counting: set[str] = set()
        course.count_wanted.connect(self.count)
        course.measure_wanted.connect(self.measure)
        course.load_wanted.connect(self.load)
        # A host that was lost took the question along; its successor is asked again.
        link.ready.connect(course.ask_for_counts)

    def load(self, kernel: CourseKernel) -> None:
        """Have a kernel's configuration shown by the page that runs it."""
        reason = why_not_loadable(kernel.here, [variant.key for variant in self._state.variants])
        if not reason and not self._offer(LoadKernel(kernel.name, kernel.here)):
            reason = f"This version of Haloscope has no page for {kernel.here.variant}."
        if reason:
            self._messages.show(Message(SOURCE, Severity.WARNING, f"{kernel.name} cannot be loaded", reason))
        else:
            self._messages.clear(SOURCE)

    def count(self, paper: str) -> None:
        """Have the tables of a paper counted."""
        if paper in self._counting:
            return
        self._counting.add(paper)

        def replied(tables: tuple[CourseTable, ...]) -> None:
            self._counting.discard(paper)
            self._course.set_counted(paper, tables)

        def failed(error: EngineError) -> None:
            self._counting.discard(paper)
            if not (isinstance(error, Cancelled) or is_reported_by_link(error)):
                self._course.set_problem(paper, str(error))

        self._link.ask(Ask(CountCourse(paper), replied, failed))

    def measure(self, paper: str) -> None:
        """Measure the tables of a paper on this machine; runs and previews wait meanwhile."""
        job = Job(
            f"Tables of {paper}",
            MeasureCourse(paper, self._device()),
            lambda tables: self._course.set_measured(paper, tables),
        )
        self._jobs.begin(SOURCE, [job], self._messages)

    def save(self, paper: str, around: Path) -> None:
        """Write the tables of a paper, as they are now, into a folder of their own in the folder `around`."""
        tables = self._course.known(paper).tables
        folder = around / f"{paper}-tables"
        self._state.set_task(SAVE_SOURCE, f"saving {folder.name}")

        def replied(saved: Saved) -> None:
            self._state.end_task(SAVE_SOURCE)
            why = " ".join(saved.notes)
            self._messages.show(Message(SAVE_SOURCE, Severity.INFO, f"Tables saved in {saved.path}", why))

        def failed(error: EngineError) -> None:
            self._state.end_task(SAVE_SOURCE)
            self._messages.show_error(SAVE_SOURCE, error)

        self._link.ask(Ask(SaveCourse(paper, tables, str(folder), self._device()), replied, failed))

    def _device(self) -> str:
        """Return the device that is measured: never the simulator, which has no times."""
        chosen = self._state.chosen_device
        return chosen if chosen.startswith("cuda") else AUTO
