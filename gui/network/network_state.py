"""The state of the page Network: the drawing and its answer, the chosen cell, a row per stage."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from PySide6.QtCore import QObject, Signal

from engine.device_info import AUTO
from engine.host.protocol import Availability
from engine.reason import Reason
from engine.results.columns import KERNEL, SPEED_UP
from engine.results.compare import compared
from engine.results.environment import Environment
from engine.tasks.network.messages import NetworkRun
from engine.tasks.network.problem import ForwardPass
from engine.tasks.network.results import Confusion, NetworkResult
from gui.network.drawing import Drawing
from gui.network.layers import (
    Answer,
    Cell,
    Facts,
    Floats,
    Origin,
    is_vector,
    origins,
    strongest_of,
)
from gui.widgets.runs_model import RunsModel

BASELINE = "network-serial"
FIRST_BATCH = 100
_FIRST_COLUMNS = ("variant", KERNEL, SPEED_UP, "proof")


@dataclass(frozen=True, slots=True)
class NetworkSettings:
    """The stage that Run runs, the batch and the device."""

    stage: str = BASELINE
    batch: int = FIRST_BATCH
    device: str = AUTO


class NetworkState(QObject):
    """Everything that the page shows."""

    settings_changed = Signal(object)  # the new NetworkSettings
    facts_changed = Signal()  # `facts` or `why_no_facts`
    answer_changed = Signal()  # `answer` or `why_no_answer`
    cell_changed = Signal()  # `cell`, `is_kept` or `input_map`
    confusion_changed = Signal()
    # `rows` or `runs` changed.
    rows_changed = Signal()
    running_changed = Signal()
    shown = Signal()  # the page is shown for the first time, or once more
    settling = Signal(object)  # editors take what was typed; one that cannot appends why to this list

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.drawing = Drawing(self)
        self.facts: Facts | None = None
        self.why_no_facts = ""
        # File of the weights; empty for the program's own.
        self.weights = ""
        self.answer: Answer | None = None
        self.why_no_answer = ""
        self.cell: Cell | None = None
        # Whether the cell stays while the mouse moves over others.
        self.is_kept = False
        # The input map whose window is shown; None: the one that adds the most.
        self.input_map: int | None = None
        self.confusion: Confusion | None = None
        self.running = False
        self.last: NetworkResult | None = None
        self._settings = NetworkSettings()
        self._checked: tuple[Availability, ...] = ()
        self._runs: dict[str, NetworkRun] = {}

    @property
    def settings(self) -> NetworkSettings:
        return self._settings

    @property
    def runs(self) -> dict[str, NetworkRun]:
        """The runs of this batch on this device, by the key of the stage."""
        return self._runs

    @property
    def rows(self) -> tuple[NetworkResult, ...]:
        """The result of each stage: measured where it has run, else why it has not."""
        return tuple(self._row(entry) for entry in self._checked)

    @property
    def runnable(self) -> tuple[str, ...]:
        """The keys of the stages that can run here."""
        return tuple(entry.variant for entry in self._checked if not entry.reason)

    def reason(self, stage: str) -> str:
        """Return why a stage cannot run here; empty if it can, or if that is not known yet."""
        return next((str(entry.reason or "") for entry in self._checked if entry.variant == stage), "")

    def change(self, **fields: object) -> None:
        """Change fields of the settings: `state.change(batch=1)`."""
        settings = replace(self._settings, **fields)  # type: ignore[arg-type]
        if settings == self._settings:
            return
        before, self._settings = self._settings, settings
        if (settings.batch, settings.device) != (before.batch, before.device):
            # Checked anew in a moment; what was measured is about another batch or device.
            self._checked, self._runs = (), {}
            self.rows_changed.emit()
        self.settings_changed.emit(settings)

    def settle(self) -> bool:
        """Enter what was typed, before a run. False where it was refused."""
        refusals: list[str] = []
        self.settling.emit(refusals)
        return not refusals

    def set_facts(self, facts: Facts, weights: str = "") -> None:
        """Store what the network is, with the weights of a file; what other ones gave is forgotten."""
        is_other = weights != self.weights
        self.facts, self.why_no_facts, self.weights = facts, "", weights
        if is_other:
            self.confusion, self._runs, self.last = None, {}, None
            self.confusion_changed.emit()
            self.rows_changed.emit()
        self.facts_changed.emit()

    def refuse_facts(self, why: str) -> None:
        """Store why the network is not known, such as a damaged file of weights."""
        if self.facts is None and why != self.why_no_facts:
            self.why_no_facts = why
            self.facts_changed.emit()

    def set_answer(self, answer: Answer | None, why_not: str = "") -> None:
        """Store what the network makes of the drawing, or why there is nothing."""
        if answer is not None or (self.answer, self.why_no_answer) != (None, why_not):
            self.answer, self.why_no_answer = answer, why_not
            if self.cell is None and answer is not None:
                # One to begin with: the largest value of the first layer.
                first = answer.values[0]
                at = np.unravel_index(int(first.argmax()), first.shape)
                self.cell = Cell(0, *(int(one) for one in at))
            self.answer_changed.emit()

    def point(self, cell: Cell | None, *, keep: bool = False) -> None:
        """Choose a cell; one that is kept stays until it is let go or another is kept."""
        if self.is_kept and not keep:
            return
        if (cell, keep) != (self.cell, self.is_kept):
            if (
                cell is None
                or self.cell is None
                or (cell.layer, cell.map) != (self.cell.layer, self.cell.map)
            ):
                self.input_map = None
            self.cell, self.is_kept = cell, keep
            self.cell_changed.emit()

    def release_cell(self) -> None:
        """Let the chosen cell follow the mouse again."""
        if self.is_kept:
            self.is_kept = False
            self.cell_changed.emit()

    def show_origin_map(self, number: int | None) -> None:
        """Show the window of another input map; None: of the one that adds the most."""
        if number != self.input_map:
            self.input_map = number
            self.cell_changed.emit()

    def all_origins(self) -> tuple[Origin, ...]:
        """Return where the chosen value comes from: an entry for each input map; none without a value."""
        if self.facts is None or self.answer is None or self.cell is None:
            return ()
        return origins(self.facts, self.answer.values, self.answer.drawing, self.cell)

    @property
    def shown_origin(self) -> Origin | None:
        """The part of `all_origins` that is shown in figures."""
        found = self.all_origins()
        if not found:
            return None
        chosen = next((one for one in found if one.map == self.input_map), None)
        return chosen or strongest_of(found)

    def value_of(self, cell: Cell) -> float:
        """Return the value of a cell, of which there is an answer."""
        assert self.answer is not None
        assert self.facts is not None
        values: Floats = self.answer.values[cell.layer]
        if is_vector(self.facts.layers[cell.layer]):
            return float(values[cell.column])
        return float(values[cell.map, cell.row, cell.column])

    def set_checked(self, checked: tuple[Availability, ...]) -> None:
        """Store which stages can run."""
        if checked != self._checked:
            self._checked = checked
            self.rows_changed.emit()

    def set_running(self, running: bool) -> None:
        """Say whether stages are being run: the settings stay as they are meanwhile."""
        if running != self.running:
            self.running = running
            self.running_changed.emit()

    def add(self, stage: str, run: NetworkRun) -> None:
        """Store the run of a stage; the table shows it if its batch is still chosen."""
        self.last = run.result
        if run.result.problem.batch == self._settings.batch:
            self._runs[stage] = run
            self.rows_changed.emit()

    def forget_runs(self) -> None:
        """Forget what was measured."""
        self._runs, self.last = {}, None
        self.rows_changed.emit()

    def fail(self, stage: str, reason: Reason) -> None:
        """Store why a stage's run came to nothing."""
        self.add(stage, NetworkRun(self._unrun(stage, reason, refused=False)))

    def set_confusion(self, confusion: Confusion) -> None:
        """Store how the held-out digits are classified."""
        self.confusion = confusion
        self.confusion_changed.emit()

    def _row(self, entry: Availability) -> NetworkResult:
        run = self._runs.get(entry.variant)
        return (
            run.result
            if run is not None
            else self._unrun(entry.variant, entry.reason, refused=bool(entry.reason))
        )

    def _unrun(self, stage: str, reason: Reason | None, *, refused: bool) -> NetworkResult:
        known = next((one for one in self.facts.stages if one.key == stage), None) if self.facts else None
        title, kind = (known.title, known.kind) if known else (stage, "")
        device = "cpu" if kind == "cpu" else self._settings.device
        problem = ForwardPass(self._settings.batch)
        machine = Environment("")
        return NetworkResult(stage, title, device, problem, None, machine, failure=reason, refused=refused)


class StagesModel(RunsModel):
    """The stages as a table, in the report's order."""

    def __init__(self, state: NetworkState, parent: QObject | None = None) -> None:
        super().__init__([ForwardPass], BASELINE, _FIRST_COLUMNS, parent)
        self._state = state
        state.rows_changed.connect(self._follow)
        self._follow()

    def _follow(self) -> None:
        before, self._results = self._results, list(self._state.rows)
        if _keys(before) == _keys(self._results):
            # The selection and the position of the scroll bar stay.
            self._compare()
            return
        self.beginResetModel()
        self._runs = compared(self._results, self.baseline, self.chosen)
        self.endResetModel()


def _keys(rows: Sequence[NetworkResult]) -> list[str]:
    return [row.variant for row in rows]
