"""Keeps recorded runs among the results, for the problem that is set now, while they are to be shown."""

from collections.abc import Hashable
from typing import Any, NamedTuple

from PySide6.QtCore import QObject

from engine.errors import EngineError
from engine.geometry.border import Border
from engine.image.open import SAMPLES
from engine.mask.mask import Mask
from engine.mask.presets import presets
from engine.results.measurement import Measurement
from engine.tasks.messages import RecordedRequest, RecordedRuns
from gui.engine_link.engine_link import EngineLink, Newest
from gui.engine_link.engine_state import EngineState
from gui.explore.picture_job import comparable_of, problem_of
from gui.explore.results.results_model import ResultsModel
from gui.explore.state import PictureSource
from gui.explore.workspace import Workspace

_NO_FILTER = "Only convolutions were recorded."


class RecordedProblem(NamedTuple):
    """A problem that runs were recorded for, and that can be set: a preset, and border zero.

    `picture` is None where the present one is of its size and type.
    """

    picture: PictureSource | None
    title: str
    mask: Mask
    result_type: str

    def set_in(self, workspace: Workspace) -> None:
        """Set it, as one step that can be undone."""
        zero: dict[str, Any] = {"border": Border.ZERO, "cval": 0.0, "flip": False, "normalise": False}
        fields = zero | {"result_type": self.result_type}
        workspace.set_only_step(self.mask, f"Recorded: {self.title}", self.picture, **fields)


def recorded_problem(workspace: Workspace, run: Measurement[Any] | None) -> RecordedProblem:
    """Return the problem of a recorded run where its picture is here, else the nearest one that can be set.

    Of the first sample, which the window opens with, runs with every preset were recorded: it keeps the mask,
    or at least its size.
    """
    problem, picture = (run.problem if run else None), workspace.picture
    known = [preset.mask for preset in presets()]
    own = next((mask for mask in known if run and mask.weights_digest == run.weights_digest), None)
    mask = workspace.mask if workspace.mask in known else own
    mask = mask or next((mask for mask in known if mask.shape == workspace.mask.shape), known[0])
    source: PictureSource | None
    source, name = PictureSource(sample=SAMPLES[0].key), SAMPLES[0].title
    if picture is not None and problem is not None and own is not None:
        shape = problem.height, problem.width, problem.channels
        if (picture.pixels.shape, picture.pixels.dtype) == (shape, problem.dtype):
            source, name, mask = None, picture.title, own
    result_type = "same" if problem and problem.result_dtype == problem.dtype else "float32"
    return RecordedProblem(source, f"{name}, {mask.name}, border zero", mask, result_type)


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
            self._newest.ask(request, self._results.show_recorded, self._fail)

    def _fail(self, error: EngineError) -> None:
        # A host that was lost: its successor is asked again.
        self._asked = None
        self._results.show_recorded(RecordedRuns(note=str(error)))
