"""The results of all operations, one row per run, failed ones too; and which one is selected."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any, NamedTuple

from PySide6.QtCore import QModelIndex, Signal

from engine.device_info import RECORDED
from engine.results.columns import KERNEL, SPEED_UP
from engine.results.compare import Compared, comparable, compared
from engine.results.measurement import ExplainedTime, Measurement
from engine.tasks.messages import RecordedRuns
from engine.work.filtering.problem import Problem
from engine.work.messages import PictureJob
from engine.work.operations.problem import OperationProblem
from engine.work.picture_problem import ChainProblem
from gui.explore.state import PictureSource, Step
from gui.runs.model import RUN_ROLE, RunsModel

# The order of a glance at a narrow window: who, how fast, is it right; what was done comes after. Layouts
# have a column only where they differ.
_FIRST = ("variant", KERNEL, SPEED_UP, "proof", "block", "layout", "picture", "mask", "operation", "chain")


@dataclass(eq=False, slots=True)
class Asked:
    """What a run was asked for: what it shares with those for the same problem, and the job that it did.

    A session keeps the step and the picture of the job; there is no job before that picture is here again.
    """

    problem: Hashable
    job: PictureJob | None = None
    step: Step | None = None
    source: PictureSource | None = None
    # What a person has said of it since.
    note: str = ""
    is_pinned: bool = False


class Row(NamedTuple):
    """A run with its place among the rows."""

    at: int
    result: Measurement[Any]
    asked: Asked


class ResultsModel(RunsModel):
    """The runs of the page Explore."""

    described_changed = Signal()  # `described` is another run, is compared with another one, or there is none
    selected_changed = Signal()  # `selected`
    said_changed = Signal()  # a run was pinned, or got a note

    def __init__(self, teaching: Callable[[], Sequence[str]] = tuple) -> None:
        super().__init__([Problem, OperationProblem, ChainProblem], "cpu-serial", _FIRST, teaching)
        # By the identity of the results.
        self._asked: dict[int, Asked] = {}
        # The last of the rows are recorded runs for the problem that is set now.
        self._recorded = 0
        self.recorded_note = ""
        """What recorded runs do not share with the problem that is set, or why there are none."""
        self.present: Hashable = None
        """What runs share that are for the problem that is set now; None before there is one."""
        self.modelReset.connect(self._describe_newest)
        self.selection.selectionChanged.connect(self.selected_changed)
        self.selection.currentRowChanged.connect(self.described_changed)
        for comparison in (self.dataChanged, self.present_changed):
            comparison.connect(self.described_changed)

    def follow(self, problem: Hashable) -> None:
        """Note which problem is set now; None leaves it as it was."""
        if problem not in (None, self.present):
            known = {asked.problem for asked in self._asked.values()}
            # Before there was a problem, no run was for an earlier one.
            touches = self.present is None or not {problem, self.present}.isdisjoint(known)
            self.present = problem
            if touches:
                self.present_changed.emit()

    def is_earlier(self, result: Measurement[Any]) -> bool:
        return result.device != RECORDED and self.present not in (None, self.problem_of(result))

    def results(self) -> tuple[Measurement[Any], ...]:
        """All results of this machine, oldest first."""
        return tuple(self._results[: self._made_here])

    @property
    def can_clear(self) -> bool:
        return self._made_here > 0

    @property
    def recorded(self) -> tuple[Compared, ...]:
        """The recorded runs for the problem that is set now."""
        return tuple(self._runs[self._made_here :])

    @property
    def _made_here(self) -> int:
        return len(self._results) - self._recorded

    @property
    def current(self) -> Compared | None:
        """The newest run for the problem that is set now; where there is none, the newest of all."""
        runs = self._runs[: self._made_here]
        own = next((run for run in reversed(runs) if not self.is_earlier(run.result)), None)
        return own or (runs[-1] if runs else None)

    @property
    def described(self) -> Compared | None:
        """The run that panels describe: the one selected last, or the newest."""
        current = self.selection.currentIndex()
        return current.data(RUN_ROLE) if current.isValid() else None

    def describe(self, *results: Measurement[Any]) -> None:
        """Select runs, in all views at once."""
        self.select(lambda run: any(run is one for one in results), alone=True)

    def _describe_newest(self) -> None:
        if self._made_here:
            self.describe(self._results[self._made_here - 1])
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

    def problem_of(self, result: Measurement[Any]) -> Hashable:
        """Return what a run shares with those that are for the same problem."""
        return self._asked[id(result)].problem

    def job_of(self, result: Measurement[Any]) -> PictureJob | None:
        """Return the job that a run did; None where it is not known, as of recorded runs."""
        asked = self._asked.get(id(result))
        return asked.job if asked else None

    def add(self, result: Measurement[Any], problem: Hashable = None, job: PictureJob | None = None) -> None:
        """Append a result; a run of the baseline changes the speed-ups of its problem.

        `problem` is what it shares with those that are for the same one, by default what they compare; `job`
        is the one that it did.
        """
        position = self._made_here
        self.beginInsertRows(QModelIndex(), position, position)
        self._asked[id(result)] = Asked(problem or comparable(result), job)
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

    def explain(self, result: Measurement[Any], explained: ExplainedTime) -> Measurement[Any]:
        """Return a result that knows the reason for its time, in the place of the one that did not."""
        knowing = replace(result, explained=explained)
        at = next((at for at, known in enumerate(self._results) if known is result), None)
        if at is None:
            return knowing  # it was cleared meanwhile
        self._results[at] = knowing
        if (asked := self._asked.pop(id(result), None)) is not None:
            self._asked[id(knowing)] = asked
        self._chosen = {key: knowing if run is result else run for key, run in self._chosen.items()}
        self._compare()
        return knowing

    def note_of(self, result: Measurement[Any]) -> str:
        """Return what a person has noted about a run."""
        asked = self._asked.get(id(result))
        return asked.note if asked else ""

    def is_pinned(self, result: Measurement[Any]) -> bool:
        """Whether a run stays on top of table and plot."""
        asked = self._asked.get(id(result))
        return asked is not None and asked.is_pinned

    def set_note(self, result: Measurement[Any], note: str) -> None:
        """Note something about a run; its row shows it."""
        self._mark(result, note=" ".join(note.split()))

    def pin(self, result: Measurement[Any], is_pinned: bool) -> None:
        """Keep a run on top, or no more."""
        self._mark(result, is_pinned=is_pinned)

    def _mark(self, result: Measurement[Any], **said: Any) -> None:
        # A recorded run comes and goes with the problem.
        if (asked := self._asked.get(id(result))) is not None:
            for name, value in said.items():
                setattr(asked, name, value)
            self._compare()
            self.said_changed.emit()

    def rows_made_here(self) -> tuple[Row, ...]:
        """All runs of this machine, oldest first."""
        here = enumerate(self.results())
        return tuple(Row(at, result, self._asked[id(result)]) for at, result in here)

    def clear(self) -> None:
        """Forget all results of this machine."""
        self.take_out(self.rows_made_here())

    def take_out(self, rows: Iterable[Row]) -> tuple[Row, ...]:
        """Forget runs; return them as they were last, some with the reason for their times."""
        wanted = {id(row.asked) for row in rows}
        gone = tuple(row for row in self.rows_made_here() if id(row.asked) in wanted)
        if not gone:
            return ()
        places = {row.at for row in gone}
        self.beginResetModel()
        self._results = [result for at, result in enumerate(self._results) if at not in places]
        for row in gone:
            del self._asked[id(row.result)]
        self._runs = compared(self._results, self.baseline, self.chosen)
        self.endResetModel()
        return gone

    def put_back(self, rows: Iterable[Row]) -> None:
        """Have these runs again, each in its place."""
        rows = tuple(rows)
        if not rows:
            return
        self.beginResetModel()
        for row in sorted(rows, key=lambda row: row.at):
            self._results.insert(min(row.at, self._made_here), row.result)
            self._asked[id(row.result)] = row.asked
        self._runs = compared(self._results, self.baseline, self.chosen)
        self.endResetModel()

    def show_recorded(self, recorded: RecordedRuns) -> None:
        """Put recorded runs at the end, in place of those before."""
        if not recorded.runs and not self._recorded and recorded.note == self.recorded_note:
            # Most edits: nobody looks at recorded runs.
            return
        first, described = self._made_here, self.described
        if self._recorded:
            self.beginRemoveRows(QModelIndex(), first, len(self._results) - 1)
            del self._results[first:], self._runs[first:]
            self._recorded = 0
            self.endRemoveRows()
        if recorded.runs:
            self.beginInsertRows(QModelIndex(), first, first + len(recorded.runs) - 1)
            self._results += recorded.runs
            self._runs += [Compared(run, number) for number, run in enumerate(recorded.runs, first + 1)]
            self._recorded = len(recorded.runs)
            self.endInsertRows()
            self._compare()
        if described is not None and described.result.device == RECORDED:
            # That of the same kernel, if there is one.
            same = [run for run in recorded.runs if run.variant == described.result.variant]
            self.describe(*same) if same else self._describe_newest()
        self.recorded_note = recorded.note
        self.present_changed.emit()
