"""Settings and runs of a page that runs variants of a task, and the undo of runs. No widgets in here."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, NamedTuple, TypeVar

from PySide6.QtCore import Signal
from PySide6.QtGui import QUndoCommand, QUndoStack

from engine.results.problem import TaskProblem
from gui.runs.bars import Kept, Placed, Run
from gui.runs.model import RunsModel
from gui.typed_json import Reading, Table

# Kernels with one reason that are named.
_FEW = 2


# A frozen dataclass: the `problem` that a page computes, the `device` where, and what these follow from.
S = TypeVar("S", bound=Any)


class Shared(NamedTuple):
    """What runs share that are shown together."""

    problem: TaskProblem
    device: str  # key of the one that was chosen, such as "auto"


@dataclass(slots=True)
class TaskRun(Kept):
    """A run with what came with its result, and both as plain JSON values once a session has them."""

    problem: Shared
    whole: Any = None
    table: Table | None = None


class RunsState(RunsModel, Generic[S]):
    """Settings, and the runs of every problem on every device that was chosen.

    For the problem and device that are chosen now each variant has a row: its newest run, else why there is
    none. `baseline` and `first` are those of `RunsModel`.
    """

    settings_changed = Signal(object)  # the new settings
    rows_changed = Signal()  # rows, or what is known of them
    running_changed = Signal()
    entering = Signal(object)  # editors take what was typed; one that cannot appends why to this list

    def __init__(self, settings: S, baseline: str, first: Iterable[str]) -> None:
        super().__init__([type(settings.problem)], baseline, first)
        self.running = False
        self.undo_stack = QUndoStack(self)
        self.settings = settings
        """What is computed, and where."""
        # What is known of each variant before it has run.
        self._listed: tuple[Any, ...] = ()

    @property
    def task_runs(self) -> tuple[TaskRun, ...]:
        """The runs of all problems, the newest last."""
        return tuple(run for run in self._kept if isinstance(run, TaskRun))

    @property
    def runnable(self) -> tuple[Run, ...]:
        """The rows, as they were before they ran, of what can run here."""
        return tuple(row for row in map(self.row_of, self._listed) if not row.failure)

    @property
    def refusals(self) -> str:
        """Why kernels cannot run here, those with one reason together; empty for none."""
        by_reason: dict[str, dict[str, None]] = {}
        for row in map(self.row_of, self._listed):
            if row.failure:
                by_reason.setdefault(row.short_status, {})[row.variant] = None
        return "; ".join(
            f"{', '.join(names) if len(names) <= _FEW else f'{len(names)} kernels'} cannot run: {why}"
            for why, names in by_reason.items()
        )

    def row_of(self, listed: Any) -> Run:
        """Return the row of what has not run; by default that is listed."""
        row: Run = listed
        return row

    def result_of(self, run: Any) -> Any:
        """Return the result of a run, which may know more; by default a run is its result."""
        return run

    @property
    def clearable(self) -> tuple[Kept, ...]:
        return () if self.running else tuple(self._shown().values())

    @property
    def runs(self) -> dict[Hashable, Any]:
        """The runs of what is chosen now by their variants and blocks, the newest last."""
        return {key: run.whole for key, run in self._shown().items()}

    @property
    def last(self) -> Any:
        """The result of the newest run, also of an earlier problem; None where nothing has run."""
        return self._kept[-1].result if self._kept else None

    def change(self, **fields: object) -> None:
        """Change fields of the settings: `state.change(batch=1)`."""
        before, settings = self.settings, replace(self.settings, **fields)
        if settings == before:
            return
        self.settings = settings
        if (settings.problem, settings.device) != (before.problem, before.device):
            # Listed anew in a moment.
            self._listed = ()
            self._show_kept()
        self.settings_changed.emit(settings)

    def enter_typed(self) -> bool:
        """Enter what was typed, before a run. False where it was refused."""
        refusals: list[str] = []
        self.entering.emit(refusals)
        return not refusals

    def set_running(self, running: bool) -> None:
        """Say whether variants are being run: the settings stay as they are meanwhile."""
        if running != self.running:
            self.running = running
            self.running_changed.emit()

    def set_listed(self, listed: tuple[Any, ...]) -> None:
        if listed != self._listed:
            self._listed = listed
            self._show_kept()

    def add(self, run: Any) -> None:
        """Keep a run instead of an earlier one of its kind; it has a row while its problem is chosen."""
        result = self.result_of(run)
        new = TaskRun(result, Shared(result.problem, self.settings.device), whole=run)
        at = self._place_of(new)
        self._keep([*(kept for kept in self._kept if self._place_of(kept) != at), new])

    def put_back(self, runs: Iterable[Placed]) -> None:
        # One that was run again meanwhile is newer than the one that comes back.
        known = set(map(self._place_of, self._kept))
        super().put_back(placed for placed in runs if self._place_of(placed[1]) not in known)

    def _place_of(self, kept: Kept) -> Hashable:
        return kept.problem, kept.result.variant, kept.result.block

    def _shown(self) -> dict[Hashable, TaskRun]:
        shown = Shared(self.settings.problem, self.settings.device)
        return {(run.result.variant, run.result.block): run for run in self.task_runs if run.problem == shown}

    def _show_kept(self) -> None:
        runs, before = self._shown(), self._results
        rows = map(self.row_of, self._listed)
        results = [runs[key].result if (key := (row.variant, row.block)) in runs else row for row in rows]
        if [(row.variant, row.block) for row in before] == [(row.variant, row.block) for row in results]:
            # The selection and the position of the scroll bar stay.
            self._results = results
            self._compare()
        else:
            self._show_results(results)
            self.mark()
        self.rows_changed.emit()

    def own_part(self) -> Table:
        """Return what a session keeps beside the runs, as plain JSON values."""
        raise NotImplementedError

    def take_own_part(self, part: Table, reading: Reading) -> Callable[[], object] | None:
        """Show that, and note what cannot be used; return what is a step of undo, or None."""
        raise NotImplementedError

    def mark(self) -> None:
        """Select the rows that the settings name, if they name some."""
        self.select(self.is_marked)

    def is_marked(self, row: Any) -> bool:
        """Whether the settings name a row; by default they name none."""
        return False


class ExchangeRuns(QUndoCommand):
    """Some runs go, and others come, as those of a session; undone, each that went is in its place again."""

    def __init__(self, keeper: RunsModel, text: str, gone: Iterable[Kept], come: Iterable[Kept] = ()) -> None:
        super().__init__(text)
        self._keeper = keeper
        self._gone: Sequence[Placed] = tuple(enumerate(gone))
        self._come: Sequence[Placed] = tuple(enumerate(come))

    def redo(self) -> None:
        self._gone = self._keeper.take_out(run for _place, run in self._gone)
        self._keeper.put_back(self._come)

    def undo(self) -> None:
        self._come = self._keeper.take_out(run for _place, run in self._come)
        self._keeper.put_back(self._gone)
