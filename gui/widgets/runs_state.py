"""The state of a page that runs the variants of a task: settings, and a row for each. No widgets in here."""

from collections.abc import Hashable, Iterable
from dataclasses import replace
from typing import Any, Generic, Protocol, TypeVar

from PySide6.QtCore import QObject, Signal

from engine.results.compare import compared
from engine.results.problem import TaskProblem
from gui.widgets.runs_model import Run, RunsModel


class RunSettings(Protocol):
    """What a page computes and where: a frozen dataclass."""

    @property
    def problem(self) -> TaskProblem: ...

    @property
    def device(self) -> str: ...


S = TypeVar("S", bound=RunSettings)


class RunsState(QObject, Generic[S]):
    """Settings, and the runs of their problem on their device; another problem or device forgets them."""

    settings_changed = Signal(object)  # the new settings
    # `rows` or what has run changed.
    rows_changed = Signal()
    running_changed = Signal()
    shown = Signal()  # the page is shown for the first time, or once more
    settling = Signal(object)  # editors take what was typed; one that cannot appends why to this list

    def __init__(self, settings: S) -> None:
        super().__init__()
        self.running = False
        self.last: Run | None = None
        """The newest run, also of an earlier problem."""
        self._settings = settings
        # What is known of each variant before it has run.
        self._listed: tuple[Any, ...] = ()
        self._runs: dict[Any, Any] = {}

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

    @property
    def has_runs(self) -> bool:
        """Whether something has been run."""
        return bool(self._runs)

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
            # Listed anew in a moment; what was measured is about another problem or device.
            self._listed, self._runs = (), {}
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

    def forget_runs(self) -> None:
        """Forget what was measured."""
        self._runs, self.last = {}, None
        self.rows_changed.emit()

    def set_listed(self, listed: tuple[Any, ...]) -> None:
        """Store what is known of each variant before it has run."""
        if listed != self._listed:
            self._listed = listed
            self.rows_changed.emit()

    def _add(self, key: Hashable, result: Run, run: object) -> None:
        """Store a run; it has a row if its problem is still chosen."""
        self.last = result
        if result.problem == self._settings.problem:
            self._runs[key] = run
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
        return self._state.has_runs and not self._state.running

    def clear(self) -> None:
        self._state.forget_runs()

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
