"""The course material: has tables counted and measured, and loads a paper's kernel with one click."""

from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from engine.course.paper import CourseKernel, CourseTable
from engine.errors import Cancelled, EngineError, HostLost
from engine.geometry.border import Border
from engine.geometry.layout import Layout
from engine.host.course_requests import CountCourse, MeasureCourse, SaveCourse
from engine.host.protocol import Saved
from engine.mask.resolve import resolve_mask
from gui.course.course_loading import EXPLORE, page_of, why_not_loadable
from gui.course.course_model import CourseModel, Measuring
from gui.engine_link.engine_link import Ask, EngineLink, is_told_by_the_link
from gui.engine_link.engine_state import EngineState
from gui.explore.workspace import Workspace
from gui.page.messages import Message, Messages, Severity

SOURCE = "course"
SAVE_SOURCE = "course tables"


class CourseController(QObject):
    """Does what the page Course asks for.

    Signals
    -------
    page_wanted(str)
        The page of this key is to be shown: what was loaded is there.
    product_wanted(object)
        The Configuration of a matrix product was loaded.
    """

    page_wanted = Signal(str)
    product_wanted = Signal(object)

    def __init__(
        self,
        course: CourseModel,
        workspace: Workspace,
        state: EngineState,
        link: EngineLink,
        messages: Messages,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._course = course
        self._workspace = workspace
        self._state = state
        self._link = link
        self._messages = messages
        self._counting: set[str] = set()
        self._measure: Ask | None = None
        course.count_wanted.connect(self.count)
        course.measure_wanted.connect(self.measure)
        course.cancel_wanted.connect(self.cancel)
        course.load_wanted.connect(self.load)
        # A host that was lost took the question along; its successor is asked again.
        link.ready.connect(course.ask_for_counts)

    def load(self, kernel: CourseKernel) -> None:
        """Take a kernel's configuration over and show its page."""
        here = kernel.here
        variants = [variant.key for variant in self._state.variants]
        reason = why_not_loadable(here, variants, self._course.pages)
        if reason:
            self._messages.show(Message(SOURCE, Severity.WARNING, f"{kernel.name} cannot be loaded", reason))
            return
        self._messages.clear(SOURCE)
        page = page_of(here)
        if page == EXPLORE:
            self._workspace.load(
                resolve_mask(here.mask),
                f"Load {kernel.name}",
                variant=here.variant,
                block=here.block,
                border=Border(here.border),
                layout=Layout(here.layout),
                result_type="float32",
                # The papers neither turn the mask nor divide it by its sum.
                flip=False,
                normalise=False,
            )
        else:
            self.product_wanted.emit(here)
        self.page_wanted.emit(page)

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
            if not (isinstance(error, Cancelled) or is_told_by_the_link(error)):
                self._course.set_problem(paper, str(error))

        self._link.ask(Ask(CountCourse(paper), replied, failed))

    def measure(self, paper: str) -> None:
        """Measure the tables of a paper on this machine; runs and previews wait meanwhile."""
        if self._state.running:
            return
        self._messages.clear(SOURCE)
        self._state.set_running(True)
        self._tell(Measuring(paper, "waiting for the engine"))
        self._measure = self._link.ask(
            Ask(
                MeasureCourse(paper, self._device()),
                lambda tables: self._measured(paper, tables),
                self._failed,
                lambda step: self._progressed(paper, step.stage, step.fraction),
            )
        )

    def cancel(self) -> None:
        """Stop the measurement that goes on."""
        measuring = self._course.measuring
        if self._measure is not None and measuring is not None:
            self._state.set_running(True, cancelling=True)
            self._course.set_measuring(replace(measuring, cancelling=True))
            self._link.cancel(self._measure)

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
        chosen = self._workspace.settings.device
        return chosen if chosen.startswith("cuda") else "auto"

    def _progressed(self, paper: str, stage: str, fraction: float) -> None:
        if not self._state.cancelling:
            self._tell(Measuring(paper, stage, fraction))

    def _tell(self, measuring: Measuring) -> None:
        self._course.set_measuring(measuring)
        self._state.set_task(SOURCE, f"Course material: {measuring.stage}", measuring.fraction)

    def _measured(self, paper: str, tables: tuple[CourseTable, ...]) -> None:
        self._course.set_measured(paper, tables)
        self._finish()

    def _failed(self, error: EngineError) -> None:
        # That the host was lost is told once, by the link's message.
        if not isinstance(error, Cancelled | HostLost):
            self._messages.show_error(SOURCE, error)
        self._finish()

    def _finish(self) -> None:
        self._measure = None
        self._course.set_measuring(None)
        self._state.end_task(SOURCE)
        self._state.set_running(False)
