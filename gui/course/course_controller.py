"""What the page Course does: count, measure and save a paper's tables."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject

from engine.course.messages import CountCourse, CourseCode, CourseRequest, MeasureCourse, SaveCourse
from engine.course.paper import CourseTable
from engine.course.recorded import RecordedCourse
from engine.device_info import AUTO
from engine.errors import EngineError
from engine.host.protocol import Saved
from engine.host.request import Request
from gui.course.course_model import CourseModel
from gui.engine_link.engine_link import Ask, EngineLink, needs_no_message
from gui.engine_link.engine_state import EngineState
from gui.page.jobs import Job, JobQueue
from gui.page.messages import Message, PageMessages, Severity

SOURCE = "course material"
SAVE_SOURCE = "course tables"


class CourseController(QObject):
    """Counts the tables of the paper that is shown; measures and saves on request."""

    def __init__(
        self,
        course: CourseModel,
        state: EngineState,
        link: EngineLink,
        jobs: JobQueue,
        messages: PageMessages,
    ) -> None:
        super().__init__()
        self._course = course
        self._state = state
        self._link = link
        self._jobs = jobs
        self._messages = messages
        # What is on its way, and the papers whose transactions are counted.
        self._asked: dict[Request, Ask] = {}
        self._counted: set[str] = set()
        course.paper_changed.connect(self.count)
        # A lost host does not reply; its successor gets the request again.
        link.ready.connect(self.count)
        state.ready_changed.connect(self._find_gpu)
        self._find_gpu()
        state.recorded_changed.connect(self._follow_recorded)
        self._follow_recorded()

    def _ask_once(
        self, request: Request, take: Callable[[Any], None], refuse: Callable[[EngineError], None]
    ) -> None:
        """Ask for something, unless it is on its way."""
        if request in self._asked:
            return

        def replied(reply: Any) -> None:
            del self._asked[request]
            take(reply)

        def failed(error: EngineError) -> None:
            del self._asked[request]
            if not needs_no_message(error):
                refuse(error)

        self._asked[request] = Ask(request, replied, failed)
        self._link.ask(self._asked[request])

    def count(self) -> None:
        """Have the tables of the paper that is shown counted, unless they are there."""
        self._find_recorded()
        if (shown := self._course.paper) is None:
            return
        paper = shown.key
        if self._course.known(paper).tables:
            self._count_transactions(paper)
            return

        def take(tables: tuple[CourseTable, ...]) -> None:
            self._course.set_counted(paper, tables)
            self._count_transactions(paper)

        self._ask_once(CourseRequest(paper), take, lambda error: self._course.set_problem(paper, str(error)))

    def _count_transactions(self, paper: str) -> None:
        """Have the cells filled that take longer; those of a paper that is left are given up."""
        for request, ask in list(self._asked.items()):
            if isinstance(request, CountCourse) and request.paper != paper:
                self._link.cancel(ask)
        if paper in self._counted or self._course.known(paper).is_measured:
            return

        def take(tables: tuple[CourseTable, ...]) -> None:
            self._counted.add(paper)
            self._course.set_counted(paper, tables)

        self._ask_once(CountCourse(paper), take, lambda error: self._course.set_problem(paper, str(error)))

    def look_up_code(self) -> None:
        """Have the code of the kernels of the paper that is shown looked up, unless it is there."""
        shown = self._course.paper
        if shown is not None and not self._course.known(shown.key).code:
            paper = shown.key
            self._ask_once(
                CourseCode(paper),
                lambda code: self._course.set_code(paper, code),
                lambda error: self._course.set_code(paper, (), str(error)),
            )

    def measure(self, paper: str) -> None:
        """Measure the tables of a paper on this machine; runs and previews wait meanwhile."""
        job = Job(
            f"Tables of {paper}",
            MeasureCourse(paper, self._device()),
            lambda measured: self._course.set_measured(paper, measured),
        )
        self._jobs.begin(SOURCE, [job], self._messages)

    def save(self, paper: str, around: Path) -> None:
        """Write the tables of a paper, as they are now, into a folder of their own in the folder `around`."""
        tables = self._course.tables(paper)
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

    def _follow_recorded(self) -> None:
        self._course.show_recorded(self._state.shows_recorded)
        self._find_recorded()

    def _find_recorded(self) -> None:
        """Have the recorded figures of the paper that is shown read, where they are shown."""
        shown = self._course.paper
        if shown is None or not self._state.shows_recorded or self._course.knows_recorded(shown.key):
            return
        paper = shown.key
        self._ask_once(
            RecordedCourse(paper),
            lambda recorded: self._course.set_recorded(paper, recorded),
            lambda error: self._messages.show_error(SOURCE, error),
        )

    def _find_gpu(self) -> None:
        """Have the worked examples computed for the GPU that would be measured, or say why there is none."""
        if not self._state.devices:
            return
        device = self._state.used_device(self._device())
        gpu = device.attributes if device is not None and device.is_usable_gpu else None
        devices = self._state.devices
        missing = next((str(one.reason) for one in devices if one.kind == "cuda" and one.reason), "")
        self._course.set_gpu(gpu or f"There is no GPU here. {missing}".rstrip())

    def _device(self) -> str:
        """Return the device to measure: never the simulator, which has no times."""
        chosen = self._state.chosen_device
        return chosen if chosen.startswith("cuda") else AUTO
