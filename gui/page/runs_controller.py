"""What the controllers of all pages with a `RunsState` do: list what can run, and run it on request."""

from collections.abc import Iterable
from typing import Any, Generic, TypeVar

from PySide6.QtCore import QObject

from engine.course.paper import CourseKernel
from engine.errors import EngineError
from engine.host.request import Request
from gui.engine_link.engine_link import EngineLink, needs_no_message
from gui.engine_link.newest import Newest
from gui.page.jobs import Job, JobQueue
from gui.page.messages import Message, PageMessages, Severity
from gui.runs.state import RunsState

State = TypeVar("State", bound=RunsState[Any])


class RunsController(QObject, Generic[State]):
    """Lists the variants again whenever the settings change, from when the page is first shown."""

    source = ""
    """That of its tasks and messages."""
    looking = ""
    """What it does before it runs everything, such as "Checking what can run here"."""

    def __init__(self, state: State, link: EngineLink, jobs: JobQueue, messages: PageMessages) -> None:
        super().__init__()
        self._runs = state
        self._jobs = jobs
        self._messages = messages
        self._lists = Newest(link)
        self._was_shown = False
        state.shown.connect(self._shown)
        state.settings_changed.connect(self._settings_changed)
        # A lost host does not reply; its successor gets the requests again.
        link.ready.connect(self._begin)

    def _list_request(self) -> Request:
        """Return the request for what can run with these settings; its reply is listed in the state."""
        raise NotImplementedError

    def _run_of(self, variant: Any) -> Job:
        """Return the job of one of the state's `runnable`."""
        raise NotImplementedError

    def run_all(self) -> None:
        """Run everything that can run, one after the other, after listing it for these settings."""
        if not self._runs.settle():
            return

        def listed(found: tuple[Any, ...]) -> None:
            self._runs.set_listed(found)
            self._jobs.add(map(self._run_of, self._runs.runnable))

        self._begin_jobs([Job(self.looking, self._list_request(), listed, is_counted=False)])

    def load(self, kernel: CourseKernel) -> None:
        """Show a paper's kernel; what is being run stays."""
        if self._runs.running:
            what, why = f"{kernel.variant} was not loaded", "the settings stay as they are during a run"
            remedy = "Load it again when the run is over, or press Esc."
            self._messages.show(Message(self.source, Severity.WARNING, what, why, remedy))
        else:
            self._load(kernel)

    def _load(self, kernel: CourseKernel) -> None:
        raise NotImplementedError

    def _begin_jobs(self, jobs: Iterable[Job]) -> None:
        if self._jobs.begin(self.source, jobs, self._messages, lambda: self._runs.set_running(False)):
            self._runs.set_running(True)

    def _shown(self) -> None:
        self._was_shown = True
        self._begin()

    def _begin(self) -> None:
        """Ask for all that is missing."""
        self._list()

    def _settings_changed(self) -> None:
        self._messages.clear(self.source)
        self._list()

    def _list(self) -> None:
        def failed(error: EngineError) -> None:
            if not needs_no_message(error):
                self._messages.show_error(self.source, error)

        if self._was_shown:
            self._lists.ask(self._list_request(), self._runs.set_listed, failed)
