"""Keeps recorded runs among the results, for the problem that is set now, while they are to be shown."""

from collections.abc import Hashable

from PySide6.QtCore import QObject

from engine.errors import EngineError
from engine.host.request import Describe
from engine.tasks.messages import RecordedRequest, RecordedRuns
from gui.engine_link.engine_link import EngineLink
from gui.engine_link.engine_state import EngineState
from gui.engine_link.newest import Newest
from gui.explore.picture_job import comparable_of, problem_of
from gui.explore.results.results_model import ResultsModel
from gui.explore.workspace import Workspace

_NO_FILTER = "Only convolutions were recorded."


class RecordedRows(QObject):
    """Asks the engine when the problem changes."""

    def __init__(
        self, workspace: Workspace, state: EngineState, link: EngineLink, results: ResultsModel
    ) -> None:
        super().__init__()
        self._workspace = workspace
        self._state = state
        self._results = results
        self._newest = Newest(link)
        self._asked: Hashable = None
        for changed in (workspace.job_changed, state.recorded_changed, state.ready_changed):
            changed.connect(self._follow)
        self._follow()

    def _follow(self) -> None:
        state, job = self._state, self._workspace.filter_job()
        if not state.shows_recorded or job is None or self._workspace.is_chain:
            self._asked = None
            self._newest.forget()
            note = _NO_FILTER if state.shows_recorded and self._workspace.picture is not None else ""
            self._results.show_recorded(RecordedRuns(note=note))
        elif state.is_ready and comparable_of(job) != self._asked:
            self._asked = comparable_of(job)
            request = RecordedRequest(problem_of(job), job.mask)
            self._newest.ask(Describe(request), self._results.show_recorded, self._fail)

    def _fail(self, error: EngineError) -> None:
        # A host that was lost: its successor is asked again.
        self._asked = None
        self._results.show_recorded(RecordedRuns(note=str(error)))
