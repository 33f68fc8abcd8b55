"""The results of all operations, a row per run, failed ones and recorded ones too; which one is selected."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any, NamedTuple

from PySide6.QtCore import QModelIndex, QObject, Signal

from engine.device_info import RECORDED
from engine.errors import EngineError
from engine.geometry.border import Border
from engine.image.open import SAMPLES
from engine.mask.mask import Mask
from engine.mask.presets import presets
from engine.results.columns import KERNEL, SPEED_UP
from engine.results.measurement import ExplainedTime, Measurement
from engine.results.metrics import Compared, comparable, compared
from engine.tasks.messages import RecordedRequest, RecordedRuns
from engine.work.messages import PictureJob
from engine.work.problem import ChainProblem, OperationProblem, Problem
from gui.engine_link.engine_link import EngineLink, Newest
from gui.engine_link.engine_state import EngineState
from gui.explore.jobs import comparable_of, problem_of
from gui.explore.state import EditedStep, PictureSource
from gui.explore.workspace import Workspace
from gui.runs.bars import Kept, Run
from gui.runs.model import RUN_ROLE, RunsModel
from gui.style.metrics import follow

# The order of a glance at a narrow window: who, how fast, is it right; what was done comes after. Layouts
# have a column only where they differ.
_FIRST = ("variant", KERNEL, SPEED_UP, "proof", "block", "layout", "picture", "mask", "operation", "chain")


@dataclass(slots=True)
class RunWithJob(Kept):
    """A run and its job; a session keeps step and picture, and there is no job until that picture is here."""

    job: PictureJob | None = None
    step: EditedStep | None = None
    source: PictureSource | None = None


class ResultsModel(RunsModel):
    """The runs of the page Explore."""

    described_changed = Signal()  # `described` is another run, is compared with another one, or there is none
    selected_changed = Signal()  # `selected`

    def __init__(self, teaching: Callable[[], Sequence[str]] = tuple) -> None:
        super().__init__([Problem, OperationProblem, ChainProblem], "cpu-serial", _FIRST, teaching)
        # The last of the rows: recorded runs for the problem that is set now.
        self._recorded: tuple[Run, ...] = ()
        self.recorded_note = ""
        """What recorded runs do not share with the problem that is set, or why there are none."""
        self.modelReset.connect(self._describe_newest)
        self.selection.selectionChanged.connect(self.selected_changed)
        self.selection.currentRowChanged.connect(self.described_changed)
        for comparison in (self.dataChanged, self.present_changed):
            comparison.connect(self.described_changed)

    def follow(self, problem: Hashable) -> None:
        """Note which problem is set now; None leaves it as it was."""
        if problem not in (None, self.present):
            known = {kept.problem for kept in self._kept}
            # Before there was a problem, no run was for an earlier one.
            touches = self.present is None or not {problem, self.present}.isdisjoint(known)
            self.present = problem
            if touches:
                self.present_changed.emit()

    @property
    def own_runs(self) -> tuple[RunWithJob, ...]:
        """The runs of this machine, oldest first."""
        return tuple(run for run in self._kept if isinstance(run, RunWithJob))

    def results(self) -> tuple[Run, ...]:
        """All results of this machine, oldest first."""
        return tuple(kept.result for kept in self._kept)

    @property
    def recorded(self) -> tuple[Compared, ...]:
        """The recorded runs for the problem that is set now."""
        return tuple(self._runs[len(self._kept) :])

    @property
    def current(self) -> Compared | None:
        """The newest run for the problem that is set now; where there is none, the newest of all."""
        runs = self._runs[: len(self._kept)]
        own = next((run for run in reversed(runs) if not self.is_earlier(run.result)), None)
        return own or (runs[-1] if runs else None)

    def present_runs(self, device: str) -> list[Compared]:
        """Return this machine's runs for the problem that is set: those on a device, where there are some."""
        present = [run for run in self._runs[: len(self._kept)] if not self.is_earlier(run.result)]
        return [run for run in present if run.result.device == device] or present

    @property
    def described(self) -> Compared | None:
        """The run that panels describe: the one selected last, or the newest."""
        current = self.selection.currentIndex()
        return current.data(RUN_ROLE) if current.isValid() else None

    def describe(self, *results: Run) -> None:
        """Select runs, in all views at once."""
        self.select(lambda run: any(run is one for one in results), alone=True)

    def _describe_newest(self) -> None:
        if self._kept:
            self.describe(self._kept[-1].result)
        else:
            self.selection.clear()
        # A reset says nothing of what was selected.
        self.selected_changed.emit()
        self.described_changed.emit()

    @property
    def are_simulated(self) -> bool:
        current = self.current
        return current is not None and current.result.no_speed == "simulated"

    def drawn_runs(self) -> list[Compared]:
        """Return the runs for the problem that is set; where it has none, those of the newest one's."""
        drawn = [run for run in self._runs if not self.is_earlier(run.result)]
        current = self.current
        if drawn or current is None:
            return drawn
        problem = self.problem_of(current.result)
        return [run for run in self._runs if self.problem_of(run.result) == problem]

    def problem_of(self, result: Run) -> Hashable:
        """Return what a run shares with those that are for the same problem."""
        return self._kept_of[id(result)].problem

    def job_of(self, result: Run) -> PictureJob | None:
        """Return the job that a run did; None where it is not known, as of recorded runs."""
        kept = self.kept_of(result)
        return kept.job if isinstance(kept, RunWithJob) else None

    def add(self, result: Run, problem: Hashable = None, job: PictureJob | None = None) -> None:
        """Append a result; a run of the baseline changes the speed-ups of its problem.

        `problem` is what it shares with those that are for the same one, by default what they compare; `job`
        is the one that it did.
        """
        position = len(self._kept)
        self.beginInsertRows(QModelIndex(), position, position)
        self._kept_of[id(result)] = kept = RunWithJob(result, problem or comparable(result), job=job)
        self._kept.append(kept)
        self._results.insert(position, result)
        before, self._runs = self._runs, compared(self._results, self.baseline, self.chosen)
        self.endInsertRows()
        # Most runs change no other row: all that follows both signals reads 200 rows once, not twice.
        if before != self._runs[:position] + self._runs[position + 1 :]:
            self._say_compared()
        self.describe(result)

    def _tooltip(self, key: str, run: Compared) -> str:
        words, steps = super()._tooltip(key, run), run.result.steps_text
        return f"{words}<br>Steps: {escape(steps)}" if steps and key != SPEED_UP else words

    def explain(self, result: Run, explained: ExplainedTime) -> Run:
        """Return a result that knows the reason for its time, instead of the one that did not."""
        knowing = replace(result, explained=explained)
        at = next((at for at, known in enumerate(self._results) if known is result), None)
        if at is None:
            return knowing  # it was cleared meanwhile
        self._results[at] = knowing
        if (kept := self._kept_of.pop(id(result), None)) is not None:
            kept.result, self._kept_of[id(knowing)] = knowing, kept
        self._chosen = {key: knowing if run is result else run for key, run in self._chosen.items()}
        self._compare()
        return knowing

    def _show_kept(self) -> None:
        self._show_results([*self.results(), *self._recorded])

    def show_recorded(self, recorded: RecordedRuns) -> None:
        """Put recorded runs at the end, instead of those before."""
        if not recorded.runs and not self._recorded and recorded.note == self.recorded_note:
            return  # most edits: recorded runs are not shown
        first, described = len(self._kept), self.described
        if self._recorded:
            self.beginRemoveRows(QModelIndex(), first, len(self._results) - 1)
            del self._results[first:], self._runs[first:]
            self._recorded = ()
            self.endRemoveRows()
        if recorded.runs:
            self.beginInsertRows(QModelIndex(), first, first + len(recorded.runs) - 1)
            self._results += recorded.runs
            self._runs += [Compared(run, number) for number, run in enumerate(recorded.runs, first + 1)]
            self._recorded = tuple(recorded.runs)
            self.endInsertRows()
            self._compare()
        if described is not None and described.result.device == RECORDED:
            # That of the same kernel, if there is one.
            same = [run for run in recorded.runs if run.variant == described.result.variant]
            self.describe(*same) if same else self._describe_newest()
        self.recorded_note = recorded.note
        self.present_changed.emit()


_NO_FILTER = "Only convolutions were recorded."


class RecordedProblem(NamedTuple):
    """A preset, with border zero, that runs were recorded for; no picture where the present one will do."""

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
        self._workspace, self._state, self._results = workspace, state, results
        self._newest = Newest(link)
        self._requested: Hashable = None
        follow(self._follow, workspace.job_changed, state.recorded_changed, state.ready_changed)

    def _follow(self) -> None:
        state, job = self._state, self._workspace.filter_job()
        if not state.shows_recorded or job is None or self._workspace.is_chain:
            self._requested = None
            self._newest.forget()
            note = _NO_FILTER if state.shows_recorded and self._workspace.picture is not None else ""
            self._results.show_recorded(RecordedRuns(note=note))
        elif state.is_ready and comparable_of(job) != self._requested:
            self._requested = comparable_of(job)
            request = RecordedRequest(problem_of(job), job.mask)
            self._newest.ask(request, self._results.show_recorded, self._fail)

    def _fail(self, error: EngineError) -> None:
        # A host that was lost: its successor is asked again.
        self._requested = None
        self._results.show_recorded(RecordedRuns(note=str(error)))
