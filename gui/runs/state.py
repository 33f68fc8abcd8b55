"""The state of a page that runs the variants of a task: settings, and a row for each. No widgets in here."""

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QUndoCommand, QUndoStack

from engine.results.compare import compared
from engine.results.problem import TaskProblem
from gui.runs.model import Run, RunsModel


class RunSettings(Protocol):
    """What a page computes and where: a frozen dataclass."""

    @property
    def problem(self) -> TaskProblem: ...

    @property
    def device(self) -> str: ...


S = TypeVar("S", bound=RunSettings)


class Shared(NamedTuple):
    """What runs share that are shown together."""

    problem: TaskProblem
    device: str  # key of the one that was chosen, such as "auto"
    weights: str = ""  # file of a network's weights; empty for the program's own


Runs = Mapping[tuple[Shared, Hashable], Any]
"""Runs by what they share with others and by their own key, the newest last."""


class _Exchange(QUndoCommand):
    """Some runs go, and others come; undone, those that went are back."""

    def __init__(self, state: "RunsState[Any]", text: str, gone: Runs, come: Runs) -> None:
        super().__init__(text)
        self._state, self._gone, self._come = state, gone, come

    def redo(self) -> None:
        self._state._exchange(self._gone, self._come)

    def undo(self) -> None:
        self._state._exchange(self._come, self._gone)


class RunsState(QObject, Generic[S]):
    """Settings, and the runs of every problem on every device that was chosen.

    Those of the problem and device that are chosen now are shown. Taking runs away is a step that can be
    undone.
    """

    settings_changed = Signal(object)  # the new settings
    # `rows` or what has run changed.
    rows_changed = Signal()
    running_changed = Signal()
    shown = Signal()  # the page is shown for the first time, or once more
    settling = Signal(object)  # editors take what was typed; one that cannot appends why to this list

    def __init__(self, settings: S) -> None:
        super().__init__()
        self.running = False
        self.undo_stack = QUndoStack(self)
        self._settings = settings
        # What is known of each variant before it has run.
        self._listed: tuple[Any, ...] = ()
        self._runs: dict[tuple[Shared, Hashable], Any] = {}

    @property
    def settings(self) -> S:
        """What is computed, and where."""
        return self._settings

    @property
    def rows(self) -> tuple[Run, ...]:
        """The result of each variant: measured where it has run, else why it has not."""
        raise NotImplementedError

    @property
    def runnable(self) -> tuple[Any, ...]:
        """What can run here, of what is listed."""
        raise NotImplementedError

    def key_of(self, result: Any) -> Hashable:
        """Return what tells a result from others that are shown with it."""
        raise NotImplementedError

    def result_of(self, run: Any) -> Any:
        """Return the result of a run, which may know more; by default a run is its result."""
        return run

    def shared_by(self, problem: TaskProblem) -> Shared:
        """Return what a run of a problem shares with others, made with the settings as they are."""
        return Shared(problem, self._settings.device)

    @property
    def all_runs(self) -> Runs:
        """The runs of all problems."""
        return self._runs

    @property
    def shown_runs(self) -> dict[Hashable, Any]:
        """The runs of what is chosen now, by their keys."""
        shown = self.shared_by(self._settings.problem)
        return {key: run for (shared, key), run in self._runs.items() if shared == shown}

    @property
    def last(self) -> Any:
        """The result of the newest run, also of an earlier problem; None where nothing has run."""
        return self.result_of(next(reversed(self._runs.values()))) if self._runs else None

    def legal(self, settings: S) -> S:
        """Return settings of which each follows the others; by default they are independent."""
        return settings

    def change(self, **fields: object) -> None:
        """Change fields of the settings: `state.change(batch=1)`."""
        before, settings = self._settings, self.legal(replace(self._settings, **fields))  # type: ignore[type-var]
        if settings == before:
            return
        self._settings = settings
        if (settings.problem, settings.device) != (before.problem, before.device):
            # Listed anew in a moment.
            self._listed = ()
            self.rows_changed.emit()
        self.settings_changed.emit(settings)

    def settle(self) -> bool:
        """Enter what was typed, before a run. False where it was refused."""
        refusals: list[str] = []
        self.settling.emit(refusals)
        return not refusals

    def set_running(self, running: bool) -> None:
        """Say whether variants are being run: the settings stay as they are meanwhile."""
        if running != self.running:
            self.running = running
            self.running_changed.emit()

    def clear_runs(self) -> None:
        """Forget the runs that are shown, as a step that can be undone."""
        shown = self.shared_by(self._settings.problem)
        gone = {at: run for at, run in self._runs.items() if at[0] == shown}
        if gone:
            text = f"Clear {len(gone)} result{'s' if len(gone) != 1 else ''}"
            self.undo_stack.push(_Exchange(self, text, gone, {}))

    def take_runs(self, runs: Runs, text: str) -> None:
        """Have these runs, as those of a session, in place of all others: a step that can be undone."""
        if runs or self._runs:
            self.undo_stack.push(_Exchange(self, text, dict(self._runs), runs))

    def set_listed(self, listed: tuple[Any, ...]) -> None:
        """Store what is known of each variant before it has run."""
        if listed != self._listed:
            self._listed = listed
            self.rows_changed.emit()

    def _add(self, run: Any) -> None:
        """Store a run in place of an earlier one of its kind; it has a row while its problem is chosen."""
        result = self.result_of(run)
        at = self.shared_by(result.problem), self.key_of(result)
        self._runs.pop(at, None)
        self._runs[at] = run
        self.rows_changed.emit()

    def _exchange(self, gone: Runs, come: Runs) -> None:
        # One that was run again meanwhile is newer than the one that comes back.
        left = {at: run for at, run in self._runs.items() if gone.get(at) is not run}
        self._runs = {at: run for at, run in come.items() if at not in left} | left
        self.rows_changed.emit()


class StateRuns(RunsModel):
    """The rows of a state as a table, in its order."""

    def __init__(self, state: RunsState[Any], baseline: str, first: Iterable[str]) -> None:
        super().__init__([type(state.settings.problem)], baseline, first)
        self._state = state
        state.rows_changed.connect(self._follow)
        self._follow()

    @property
    def can_clear(self) -> bool:
        return bool(self._state.shown_runs) and not self._state.running

    def clear(self) -> None:
        self._state.clear_runs()

    def _follow(self) -> None:
        before, self._results = self._results, list(self._state.rows)
        if [_key(row) for row in before] == [_key(row) for row in self._results]:
            # The selection and the position of the scroll bar stay.
            self._compare()
            return
        self.beginResetModel()
        self._runs = compared(self._results, self.baseline, self.chosen)
        self.endResetModel()


def _key(row: Run) -> Hashable:
    return row.variant, row.block
